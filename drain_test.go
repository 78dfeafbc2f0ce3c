package millrace_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace"
)

// stream produces record after record until it is stopped, and counts. Not one may fail.
type stream struct {
	testing.TB
	client *kgo.Client
	topic  string
	sent   atomic.Int64
	stop   context.CancelFunc
	ended  chan struct{}
}

func startStream(t testing.TB, client *kgo.Client, topic string) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{TB: t, client: client, topic: topic, stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		for ctx.Err() == nil {
			n := s.sent.Load()
			r := &kgo.Record{Topic: topic, Partition: int32(n % 3), Value: fmt.Appendf(nil, "%d", n)}
			if err := client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
				t.Error(err)
				return
			}
			s.sent.Add(1)
		}
	}()
	t.Cleanup(func() { s.end() })
	return s
}

// more waits until n further records were acknowledged.
func (s *stream) more(n int64) {
	s.Helper()
	ctx := soon(s)
	for until := s.sent.Load() + n; s.sent.Load() < until; {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			s.Fatal("nothing is produced any more")
		}
	}
}

func (s *stream) end() int64 {
	s.stop()
	<-s.ended
	return s.sent.Load()
}

// check reads everything: each record is there once, and those of a partition are in order.
func (s *stream) check() {
	s.Helper()
	sent := s.end()
	consumer, err := kgo.NewClient(append(s.client.Opts(), kgo.ConsumeTopics(s.topic), kgo.FetchMaxWait(100*time.Millisecond))...)
	if err != nil {
		s.Fatal(err)
	}
	defer consumer.Close()
	last := map[int32]int64{0: -3, 1: -2, 2: -1}
	read := int64(0)
	for ctx := soon(s); read < sent; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			s.Fatalf("%d of %d records: %v", read, sent, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			var n int64
			fmt.Sscan(string(r.Value), &n)
			if n != last[r.Partition]+3 {
				s.Errorf("partition %d has %d after %d", r.Partition, n, last[r.Partition])
			}
			last[r.Partition] = n
			read++
		})
	}
}

// manual is a client that says itself which partition a record goes to, and never gives up.
func manual(t testing.TB, seeds []string) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(20*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func drain(t testing.TB, s *millrace.Server, id int32, leave bool) error {
	t.Helper()
	done := make(chan error, 1)
	s.DrainBroker(id, leave, func(err error) { done <- err })
	return <-done
}

// TestDrain: a broker leaves, and every record that was acknowledged is at the others, whether it had replicas or not.
func TestDrain(t *testing.T) {
	for _, factor := range []int16{1, 3} {
		t.Run(fmt.Sprint("replicas=", factor), func(t *testing.T) {
			s := open(t, 3)
			client := manual(t, strings.Split(s.Bootstrap(), ","))
			if _, err := kadm.NewClient(client).CreateTopic(soon(t), 3, factor, map[string]*string{"min.insync.replicas": kadm.StringPtr("2")}, "t"); err != nil {
				t.Fatal(err)
			}
			load := startStream(t, client, "t")
			load.more(30)
			if err := drain(t, s, 2, true); err != nil {
				t.Fatal(err)
			}
			load.more(30)
			if lost := s.OnlyCopies(2); len(lost) > 0 {
				t.Errorf("%v are still nowhere else", lost)
			}
			if b := s.Image().Broker(2); !b.Fenced || !b.Draining {
				t.Errorf("broker 2 is %+v", b)
			}
			if err := s.KillBroker(2); err != nil {
				t.Fatal(err)
			}
			load.more(30)
			load.check()
		})
	}
}

// TestDrainStuck: the last broker can't leave, says why, and may stay.
func TestDrainStuck(t *testing.T) {
	s := open(t, 1, "millrace.drain.timeout.ms=100")
	if _, err := kadm.NewClient(client(t, s)).CreateTopic(soon(t), 3, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	err := drain(t, s, 1, true)
	if stuck, ok := err.(*millrace.StuckError); !ok || len(stuck.State.Stuck) != 3 || stuck.State.Leading != 3 {
		t.Errorf("DrainBroker = %v", err)
	}
	t.Log(err)
	done := make(chan error, 1)
	s.CancelDrain(1, func(err error) { done <- err })
	if err := <-done; err != nil || s.Image().Broker(1).Draining {
		t.Errorf("CancelDrain = %v", err)
	}
	if lost := s.OnlyCopies(1); len(lost) != 3 {
		t.Errorf("only copies: %v", lost)
	}
}
