package millrace_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"millrace"
)

// transact runs one transaction of records with these values.
func transact(t testing.TB, c *kgo.Client, topic string, commit kgo.TransactionEndTry, values ...string) {
	t.Helper()
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Topic: topic, Key: []byte(v), Value: []byte(v)})
	}
	if err := c.ProduceSync(soon(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := c.EndTransaction(soon(t), commit); err != nil {
		t.Fatal(err)
	}
}

// read reads n values of a topic from its start.
func read(t testing.TB, s *millrace.Server, topic string, n int, level kgo.IsolationLevel) (values []string) {
	t.Helper()
	c := client(t, s, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(level))
	ctx := soon(t)
	for len(values) < n {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("%d of %d values of %s: %v", len(values), n, topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	slices.Sort(values)
	return values
}

func createTopic(t testing.TB, s *millrace.Server, topic string, partitions int32, replicas int16) {
	t.Helper()
	if r, err := kadm.NewClient(client(t, s)).CreateTopic(soon(t), partitions, replicas, nil, topic); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
}

// Who reads committed records sees what was committed, and nothing else; several transactions of one producer, over several
// partitions.
func TestTransactions(t *testing.T) { runTransactions(t) }

// So does a client of before KIP-890, whose transactions have one epoch and which adds their partitions itself.
func TestTransactionsOfOldClients(t *testing.T) {
	runTransactions(t, kgo.MaxVersions(kversion.V3_5_0()))
}

func runTransactions(t *testing.T, opts ...kgo.Opt) {
	s := open(t, 2)
	createTopic(t, s, "t", 3, 1)
	p := client(t, s, append(opts, kgo.TransactionalID("p"))...)
	var want []string
	for i := range 20 {
		a, b := fmt.Sprintf("%02da", i), fmt.Sprintf("%02db", i)
		commit := kgo.TransactionEndTry(i%3 != 1)
		transact(t, p, "t", commit, a, b)
		if commit {
			want = append(want, a, b)
		}
	}
	if got := read(t, s, "t", len(want), kgo.ReadCommitted()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := read(t, s, "t", 40, kgo.ReadUncommitted()); len(got) != 40 {
		t.Errorf("uncommitted: %d", len(got))
	}
}

// The last stable offset stands before an open transaction, also for what others write behind it.
func TestLastStableOffset(t *testing.T) {
	s := open(t, 1)
	createTopic(t, s, "t", 1, 1)
	p, other := client(t, s, kgo.TransactionalID("p")), client(t, s)
	transact(t, p, "t", kgo.TryCommit, "one")
	if err := p.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := p.ProduceSync(soon(t), &kgo.Record{Topic: "t", Value: []byte("two")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := other.ProduceSync(soon(t), &kgo.Record{Topic: "t", Value: []byte("three")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(other)
	ends := func() (high, stable int64) {
		h, err := admin.ListEndOffsets(soon(t), "t")
		st, err2 := admin.ListCommittedOffsets(soon(t), "t")
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		return h["t"][0].Offset, st["t"][0].Offset
	}
	if high, stable := ends(); high != 4 || stable != 2 {
		t.Errorf("open: high watermark %d, last stable offset %d", high, stable)
	}
	if err := p.EndTransaction(soon(t), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, "t", 3, kgo.ReadCommitted()); !slices.Equal(got, []string{"one", "three", "two"}) {
		t.Errorf("got %q", got)
	}
	if high, stable := ends(); high != 5 || stable != 5 {
		t.Errorf("ended: high watermark %d, last stable offset %d", high, stable)
	}
}

// A second producer of the same transactional id fences the first, and what that had open is aborted.
func TestProducerFenced(t *testing.T) {
	s := open(t, 1)
	createTopic(t, s, "t", 1, 1)
	first, second := client(t, s, kgo.TransactionalID("p")), client(t, s, kgo.TransactionalID("p"))
	if err := first.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := first.ProduceSync(soon(t), &kgo.Record{Topic: "t", Value: []byte("lost")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	transact(t, second, "t", kgo.TryCommit, "kept")
	err := first.ProduceSync(soon(t), &kgo.Record{Topic: "t", Value: []byte("late")}).FirstErr()
	if err == nil {
		err = first.EndTransaction(soon(t), kgo.TryCommit)
	}
	if !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
		t.Errorf("the first producer: %v", err)
	}
	if got := read(t, s, "t", 1, kgo.ReadCommitted()); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("got %q", got)
	}
}

// A transaction whose producer is silent is aborted when its time is over; readers go on.
func TestTransactionTimesOut(t *testing.T) {
	s := open(t, 1)
	createTopic(t, s, "t", 1, 1)
	p := client(t, s, kgo.TransactionalID("p"), kgo.TransactionTimeout(300*time.Millisecond))
	if err := p.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := p.ProduceSync(soon(t), &kgo.Record{Topic: "t", Value: []byte("lost")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := client(t, s).ProduceSync(soon(t), &kgo.Record{Topic: "t", Value: []byte("kept")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, "t", 1, kgo.ReadCommitted()); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("got %q", got)
	}
	if err := p.EndTransaction(soon(t), kgo.TryCommit); err == nil {
		t.Error("a transaction that was aborted is committed")
	}
}

// Offsets and records commit together: what comes out is what went in, once each, although members come and go and every
// third transaction is aborted.
func TestGroupTransactSession(t *testing.T) { runSessions(t) }

func TestGroupTransactSessionOfOldClients(t *testing.T) {
	runSessions(t, kgo.MaxVersions(kversion.V3_5_0()))
}

func runSessions(t *testing.T, opts ...kgo.Opt) {
	s := open(t, 2)
	createTopic(t, s, "in", 4, 1)
	createTopic(t, s, "out", 4, 1)
	const records = 300
	var want []string
	in := client(t, s)
	for i := range records {
		v := fmt.Sprintf("%04d", i)
		want = append(want, v)
		if err := in.ProduceSync(soon(t), &kgo.Record{Topic: "in", Key: []byte(v), Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(soon(t))
	ended := make(chan error, 2)
	for i := range 2 {
		session, err := kgo.NewGroupTransactSession(append(opts, kgo.SeedBrokers(strings.Split(s.Bootstrap(), ",")...),
			kgo.TransactionalID(strconv.Itoa(i)), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("in"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxBytes(2000))...)
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- transform(ctx, session) }()
	}
	got := read(t, s, "out", records, kgo.ReadCommitted())
	stop()
	for range 2 {
		if err := <-ended; err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d records came out, of %d", len(slices.Compact(got)), len(want))
	}
}

// transform copies from one topic to another, until ctx ends.
func transform(ctx context.Context, s *kgo.GroupTransactSession) error {
	defer s.Close()
	for round := 0; ctx.Err() == nil; round++ {
		fetches := s.PollRecords(ctx, 20)
		if fetches.Err0() != nil {
			return fetches.Err0()
		}
		if err := s.Begin(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			s.Produce(ctx, &kgo.Record{Topic: "out", Key: r.Key, Value: r.Value}, nil)
		})
		if err := s.Client().Flush(ctx); err != nil {
			return err
		}
		if _, err := s.End(ctx, round%3 != 1); err != nil {
			return err
		}
	}
	return nil
}
