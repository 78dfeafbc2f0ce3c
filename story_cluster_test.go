//go:build !noembed

package millrace_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace"
	"millrace/broker"
	"millrace/metadata"
)

// TestInternalTopicsGrowAcross: a cluster of which one process runs takes commits, and has them on three machines when there
// are three.
func TestInternalTopicsGrowAcross(t *testing.T) {
	c := shared(t, "offsets.topic.num.partitions=8")
	left := c.office() // so that what is seen of the others' deaths isn't lost with a process
	others := c.others(left)
	for _, name := range others {
		id := c.broker(name)
		c.crash(name)
		c.eventually("its death is noticed", fenced(id))
	}
	client := c.client(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(), kgo.AllowAutoTopicCreation(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err := client.ProduceSync(soon(t), &kgo.Record{Topic: "t", Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if fetches := client.PollFetches(soon(t)); fetches.Err() != nil || fetches.NumRecords() != 1 {
		t.Fatal(fetches.Err())
	}
	if err := client.CommitUncommittedOffsets(soon(t)); err != nil {
		t.Fatal(err)
	}
	if s := c.servers[left]; !inSync(s, metadata.ConsumerOffsetsTopic, 1) {
		t.Errorf("%+v", s.Image().Topic(metadata.ConsumerOffsetsTopic))
	}
	c.start(others...)
	c.eventually("the topic has grown", func(s *millrace.Server) bool { return inSync(s, metadata.ConsumerOffsetsTopic, 3) })
	c.crash(left)
	eventually(t, "the group's offset is there without the first process", func() bool {
		offset, err := committed(t, c.servers[others[0]], "g", "t")
		return err == nil && offset == 1
	})
	for _, p := range c.servers[others[0]].Image().Topic(metadata.ConsumerOffsetsTopic).Partitions {
		if p.LossGeneration != 0 {
			t.Errorf("a loss was declared: %+v", p)
		}
	}
}

// TestCoordinatorDies: the process that coordinates a group, and leads a third of what it reads, dies without a word. The group goes on,
// and has read all that was acknowledged.
func TestCoordinatorDies(t *testing.T) {
	c := shared(t)
	c.createTopic("a", "orders", 3)
	ctx, stop := context.WithCancel(soon(t))
	g := &group{seen: map[string]int{}}
	for range 2 {
		g.consume(ctx, c.client(kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("orders"),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(100*time.Millisecond)))
	}
	p := produce(ctx, c.client(kgo.RequiredAcks(kgo.AllISRAcks())), "orders")
	eventually(t, "the group reads", func() bool { return g.count() > 500 })
	offsets := c.servers["a"].Image().Topic(metadata.ConsumerOffsetsTopic)
	coordinator := offsets.Partitions[broker.CoordinatorPartition("readers", len(offsets.Partitions))].Leader
	for name := range c.servers {
		if c.broker(name) == coordinator {
			c.crash(name)
			break
		}
	}
	acked, read := p.count(), g.count()
	eventually(t, "the producer goes on", func() bool { return p.count() > acked+500 })
	eventually(t, "the group goes on", func() bool { return g.count() > read+500 })
	close(p.stop)
	<-p.ended
	eventually(t, "the group has read all that was acknowledged", func() bool { return len(g.missing(p.acked)) == 0 })
	stop()
	g.wg.Wait()
	if len(p.errs) > 0 {
		t.Errorf("%d records failed, the first: %v", len(p.errs), p.errs[0])
	}
}
