package millrace_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace"
	"millrace/metadata"
)

// group is the members of a consumer group, and what they have read.
type group struct {
	mu   sync.Mutex
	seen map[string]int // guarded by mu: how often each value was read
	wg   sync.WaitGroup
}

// consume starts a member that reads until ctx ends.
func (g *group) consume(ctx context.Context, c *kgo.Client) {
	g.wg.Go(func() {
		for {
			fetches := c.PollFetches(ctx)
			if ctx.Err() != nil {
				return
			}
			g.mu.Lock()
			fetches.EachRecord(func(r *kgo.Record) { g.seen[string(r.Value)]++ })
			g.mu.Unlock()
		}
	})
}

func (g *group) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.seen)
}

// producing writes numbered records until it is told to stop, and keeps those that were acknowledged.
type producing struct {
	stop  chan struct{}
	ended chan struct{}

	mu    sync.Mutex
	acked []string // guarded by mu
	errs  []error  // guarded by mu
}

func produce(ctx context.Context, c *kgo.Client, topic string) *producing {
	p := &producing{stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		for i := 0; ; i++ {
			select {
			case <-p.stop:
				_ = c.Flush(ctx)
				return
			case <-time.After(200 * time.Microsecond):
			}
			value := fmt.Sprint(i)
			c.Produce(ctx, &kgo.Record{Topic: topic, Key: []byte(fmt.Sprint(i % 97)), Value: []byte(value)}, func(_ *kgo.Record, err error) {
				p.mu.Lock()
				defer p.mu.Unlock()
				if err != nil {
					p.errs = append(p.errs, err)
				} else {
					p.acked = append(p.acked, value)
				}
			})
		}
	}()
	return p
}

func (p *producing) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.acked)
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("it never came to pass: %s", what)
		}
	}
}

// inSync tells whether every partition of a topic has n replicas, all in sync.
func inSync(s *millrace.Server, topic string, n int) bool {
	image := s.Image()
	t := image.Topic(topic)
	return t != nil && !slices.ContainsFunc(t.Partitions, func(p metadata.Partition) bool {
		return len(p.Replicas) != n || len(image.LiveISR(&p)) != n || p.Reassigning()
	})
}

// nextInTurn is who follows the leader of a partition, round robin over its replicas.
func nextInTurn(p *metadata.Partition) int32 {
	return p.Replicas[(slices.Index(p.Replicas, p.Leader)+1)%len(p.Replicas)]
}

// TestStory: three brokers from the console, a replicated topic, a group that reads what a producer writes with acks=all;
// then a leader dies. The group goes on without loss, the next replica in turn leads, and a console that watches is told
// within a second.
func TestStory(t *testing.T) {
	s := open(t, 0, "control.listener=127.0.0.1:0")
	addr := openControl(t, s)
	admin, watcher := dial(t, addr), dial(t, addr)
	for range 3 {
		admin.do("CREATE_BROKER 127.0.0.1 0")
	}
	admin.do("CREATE_TOPIC orders 6 3 min.insync.replicas=2")
	watcher.say("WATCH 60")

	ctx, stop := context.WithCancel(soon(t))
	g := &group{seen: map[string]int{}}
	for range 2 {
		g.consume(ctx, client(t, s, kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("orders"),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(100*time.Millisecond), kgo.MetadataMinAge(50*time.Millisecond)))
	}
	p := produce(ctx, client(t, s, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.MetadataMinAge(50*time.Millisecond)), "orders")
	eventually(t, "the group reads", func() bool { return g.count() > 500 })
	if !inSync(s, metadata.ConsumerOffsetsTopic, 3) {
		t.Error("the offsets of groups have fewer than three replicas")
	}

	before := s.Image().Topic("orders").Partitions[0]
	heir := nextInTurn(&before)
	began := time.Now()
	if text := admin.do(fmt.Sprintf("KILL_BROKER %d", before.Leader)); !strings.Contains(text, "the only copies of 0 partitions") {
		t.Errorf("%s", text)
	}
	picture, at := watcher.watchUntil(fmt.Sprintf("orders-0: broker %d leads, epoch %d", heir, before.LeaderEpoch+1))
	if at.Sub(began) > time.Second {
		t.Errorf("the new leader was pushed after %v: %s", at.Sub(began), picture)
	}
	acked := p.count()
	eventually(t, "the producer goes on", func() bool { return p.count() > acked+500 })

	admin.do(fmt.Sprintf("START_BROKER %d", before.Leader))
	eventually(t, "the broker is back in sync", func() bool { return inSync(s, "orders", 3) })
	close(p.stop)
	<-p.ended
	eventually(t, "the group has read all that was acknowledged", func() bool { return len(g.missing(p.acked)) == 0 })
	stop()
	g.wg.Wait()
	if len(p.errs) > 0 {
		t.Errorf("%d records failed, the first: %v", len(p.errs), p.errs[0])
	}
	for _, part := range s.Image().Topic("orders").Partitions {
		if part.LossGeneration != 0 {
			t.Errorf("a loss was declared: %+v", part)
		}
	}
}

// missing are those of the values that nobody has read.
func (g *group) missing(values []string) (list []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range values {
		if g.seen[v] == 0 {
			list = append(list, v)
		}
	}
	return list
}

// TestInternalTopicsGrow: the offsets that a lone broker's groups have committed are on three brokers as soon as there are
// three, and survive the first one.
func TestInternalTopicsGrow(t *testing.T) {
	s := open(t, 1, "offsets.topic.num.partitions=5")
	c := client(t, s, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err := c.ProduceSync(soon(t), &kgo.Record{Topic: "t", Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if fetches := c.PollFetches(soon(t)); fetches.Err() != nil || fetches.NumRecords() != 1 {
		t.Fatal(fetches.Err())
	}
	if err := c.CommitUncommittedOffsets(soon(t)); err != nil {
		t.Fatal(err)
	}
	if !inSync(s, metadata.ConsumerOffsetsTopic, 1) {
		t.Fatalf("%+v", s.Image().Topic(metadata.ConsumerOffsetsTopic))
	}
	for range 2 {
		if _, err := s.CreateBroker("127.0.0.1", 0); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the topic has grown", func() bool { return inSync(s, metadata.ConsumerOffsetsTopic, 3) })
	topic := s.Image().Topic(metadata.ConsumerOffsetsTopic)
	preferred := map[int32]int{}
	for i := range topic.Partitions {
		preferred[topic.Partitions[i].Replicas[0]]++
		if topic.Partitions[i].MinISR() != 2 || topic.Partitions[i].LossGeneration != 0 {
			t.Errorf("%+v", topic.Partitions[i])
		}
	}
	if len(preferred) != 3 {
		t.Errorf("preferred leaders: %v", preferred)
	}
	if err := s.KillBroker(1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the group's offset is there without the first broker", func() bool {
		offset, err := committed(t, s, "g", "t")
		return err == nil && offset == 1
	})
}

// committed is the offset of a group in partition 0 of a topic.
func committed(t testing.TB, s *millrace.Server, group, topic string) (int64, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(soon(t), 2*time.Second)
	defer cancel()
	c, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(s.Bootstrap(), ",")...))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	offsets, err := kadm.NewClient(c).FetchOffsets(ctx, group)
	if err != nil {
		return -1, err
	}
	o, ok := offsets.Lookup(topic, 0)
	if !ok {
		return -1, fmt.Errorf("no offset is committed")
	}
	return o.At, o.Err
}

// TestLastBrokerCoordinates: groups go on when all brokers but one are removed.
func TestLastBrokerCoordinates(t *testing.T) {
	s := open(t, 3, "offsets.topic.num.partitions=3")
	admin := kadm.NewClient(client(t, s, kgo.MetadataMinAge(50*time.Millisecond)))
	commit := func(at int64) error {
		ctx, cancel := context.WithTimeout(soon(t), 2*time.Second)
		defer cancel()
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: "t", At: at, LeaderEpoch: -1})
		responses, err := admin.CommitOffsets(ctx, "g", offsets)
		if err == nil {
			err = responses.Error()
		}
		return err
	}
	if _, err := admin.CreateTopic(soon(t), 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	if err := commit(1); err != nil || !inSync(s, metadata.ConsumerOffsetsTopic, 3) || partition(s, metadata.ConsumerOffsetsTopic, 0).MinISR() != 2 {
		t.Fatalf("%v, %+v", err, s.Image().Topic(metadata.ConsumerOffsetsTopic))
	}
	for id := range int32(2) {
		if err := s.RemoveBroker(id + 1); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a commit is taken", func() bool { return commit(2) == nil })
	if at, err := committed(t, s, "g", "t"); err != nil || at != 2 {
		t.Errorf("committed is %d, %v", at, err)
	}
}
