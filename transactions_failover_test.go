//go:build !noembed

package millrace_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/broker"
	"millrace/metadata"
)

// transactor runs transactions of two records each, one after the other, and knows what became of them.
type transactor struct {
	client  func() *kgo.Client
	topic   string
	current *kgo.Client
	n       int
	outcome map[string]bool // committed or aborted; what isn't here may be either
}

// run runs one transaction, whatever happens meanwhile.
func (t *transactor) run(ctx context.Context) {
	if t.current == nil {
		t.current = t.client()
	}
	c, value, commit := t.current, fmt.Sprintf("%05d", t.n), t.n%3 != 2
	t.n++
	err := c.BeginTransaction()
	if err == nil {
		if err = c.ProduceSync(ctx, &kgo.Record{Topic: t.topic, Partition: 0, Value: []byte(value + "a")},
			&kgo.Record{Topic: t.topic, Partition: 1, Value: []byte(value + "b")}).FirstErr(); err != nil {
			commit = false
		}
		if err = c.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err == nil {
			t.outcome[value] = commit
			return
		}
	}
	c.Close()
	t.current = nil
}

// check compares what there is for readers of committed records with what is known.
func (t *transactor) check(tb testing.TB, values []string) {
	tb.Helper()
	seen := map[string]int{}
	for _, v := range values {
		if seen[v]++; seen[v] > 1 {
			tb.Errorf("%s comes twice", v)
		}
	}
	committed := 0
	for i := range t.n {
		v := fmt.Sprintf("%05d", i)
		a, b := seen[v+"a"], seen[v+"b"]
		if a != b {
			tb.Errorf("half of transaction %s is there", v)
		}
		if outcome, known := t.outcome[v]; known && outcome != (a == 1) {
			tb.Errorf("transaction %s: commit %v, and there are %d", v, outcome, a)
		}
		committed += a
	}
	tb.Logf("%d transactions, %d committed, %d of an outcome that nobody was told", t.n, committed, t.n-len(t.outcome))
}

// coordinatorOf is the broker that coordinates a transactional id.
func coordinatorOf(img *metadata.Image, id string) int32 {
	t := img.Topic(metadata.TransactionStateTopic)
	return t.Partitions[broker.CoordinatorPartition(id, len(t.Partitions))].Leader
}

// readAll reads what there is of a topic for readers of committed records, to its end.
func readAll(t testing.TB, c *kgo.Client) (values []string) {
	t.Helper()
	end := []byte("end")
	ctx := soon(t)
	ends := map[int32]bool{}
	for len(ends) < 2 {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("%d values: %v", len(values), err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if slices.Equal(r.Value, end) {
				ends[r.Partition] = true
				return
			}
			values = append(values, string(r.Value))
		})
	}
	return values
}

// TestTransactionCoordinatorDies: the broker that coordinates a transactional id dies, RAM and all, again and again, as do
// leaders of the partitions. Transactions are whole, and what was promised is kept.
func TestTransactionCoordinatorDies(t *testing.T) {
	s := open(t, 3, "min.insync.replicas=2")
	createTopic(t, s, "t", 2, 3)
	id := "p"
	run := &transactor{topic: "t", outcome: map[string]bool{}, client: func() *kgo.Client {
		return client(t, s, kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.TransactionTimeout(5*time.Second), kgo.MetadataMinAge(50*time.Millisecond))
	}}
	ctx, stop := context.WithTimeout(context.Background(), 90*time.Second)
	defer stop()
	run.run(ctx)
	for range 3 {
		for range 5 {
			run.run(ctx)
		}
		victim := coordinatorOf(s.Image(), id)
		killed := make(chan error, 1)
		go func() { killed <- s.KillBroker(victim) }()
		for range 5 {
			run.run(ctx)
		}
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
		restart(t, s, victim)
		eventually(t, "all replicas are in sync", func() bool {
			return inSync(s, "t", 3) && inSync(s, metadata.TransactionStateTopic, 3)
		})
	}
	finish(t, run, func(o ...kgo.Opt) *kgo.Client { return client(t, s, o...) })
}

// finish marks the ends of both partitions and compares what is there before.
func finish(t testing.TB, run *transactor, client func(...kgo.Opt) *kgo.Client) {
	t.Helper()
	if run.current != nil {
		run.current.Close()
	}
	for range 2 { // what is left open is aborted by the next of that id
		run.current = nil
		run.run(soon(t))
	}
	end := client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for p := range int32(2) {
		if err := end.ProduceSync(soon(t), &kgo.Record{Topic: run.topic, Partition: p, Value: []byte("end")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	run.check(t, readAll(t, client(kgo.ConsumeTopics(run.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))))
}

// TestTransactionsAcrossProcesses: coordinators and leaders are in different processes, and the coordinator's dies.
func TestTransactionsAcrossProcesses(t *testing.T) {
	c := shared(t, "min.insync.replicas=2", "transaction.state.log.num.partitions=8")
	c.createTopic("a", "t", 3)
	run := &transactor{topic: "t", outcome: map[string]bool{}, client: func() *kgo.Client {
		return c.client(kgo.TransactionalID("p"), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionTimeout(5*time.Second))
	}}
	ctx, stop := context.WithTimeout(context.Background(), 90*time.Second)
	defer stop()
	for range 10 {
		run.run(ctx)
	}
	if len(run.outcome) < 9 {
		t.Errorf("%d of 10 transactions ended as they should", len(run.outcome))
	}
	victim := coordinatorOf(c.servers["a"].Image(), "p")
	for _, name := range slices.Sorted(maps.Keys(c.servers)) {
		if c.broker(name) == victim {
			c.crash(name)
		}
	}
	for range 10 {
		run.run(ctx)
	}
	finish(t, run, c.client)
}
