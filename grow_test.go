//go:build !noembed

package millrace_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace"
	"millrace/metadata"
)

// TestInternalTopicsGrowAcross: a cluster of which one process runs takes commits, and has them on three machines when there
// are three.
func TestInternalTopicsGrowAcross(t *testing.T) {
	c := shared(t, "offsets.topic.num.partitions=8")
	for _, name := range []string{"b", "c"} {
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
	a := c.servers["a"]
	if !inSync(a, metadata.ConsumerOffsetsTopic, 1) {
		t.Errorf("%+v", a.Image().Topic(metadata.ConsumerOffsetsTopic))
	}
	c.start("b", "c")
	c.eventually("the topic has grown", func(s *millrace.Server) bool { return inSync(s, metadata.ConsumerOffsetsTopic, 3) })
	c.crash("a")
	eventually(t, "the group's offset is there without the first process", func() bool {
		offset, err := committed(t, c.servers["b"], "g", "t")
		return err == nil && offset == 1
	})
	for _, p := range c.servers["b"].Image().Topic(metadata.ConsumerOffsetsTopic).Partitions {
		if p.LossGeneration != 0 {
			t.Errorf("a loss was declared: %+v", p)
		}
	}
}
