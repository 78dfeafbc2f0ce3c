package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"millrace/metadata"
)

// patience ends a test that would wait for ever.
const patience = 20 * time.Second

// Run holds the stores that open returns to the interface. Each test has one
// of its own. open registers the store's end with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) metadata.Store) {
	tests := []struct {
		name string
		run  func(t *testing.T, s *fixture)
	}{
		{"Range", testRange},
		{"RangeIsInByteOrder", testRangeOrder},
		{"CommitTable", testCommitTable},
		{"CommitIsAtomic", testAtomic},
		{"CommitWithoutEffect", testWithoutEffect},
		{"CommitRaces", testCommitRaces},
		{"DeletePrefix", testDeletePrefix},
		{"TxnMax", testTxnMax},
		{"WatchFromThePast", testWatchPast},
		{"WatchFromTheFuture", testWatchFuture},
		{"WatchIsWholeAndInOrder", testWatchOrder},
		{"WatchReachesAnsweredRevisions", testWatchReaches},
		{"WatchMayCommit", testWatchMayCommit},
		{"WatchCancel", testWatchCancel},
		{"ListThenWatch", testListThenWatch},
		{"LeaseRevoke", testLeaseRevoke},
		{"LeaseUnknown", testLeaseUnknown},
		{"LeaseIsReplacedByPut", testLeaseReplaced},
		{"LeaseExpiry", testLeaseExpiry},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, &fixture{T: t, Store: open(t)})
		})
	}
}

// fixture is a store with the waiting done.
type fixture struct {
	*testing.T
	metadata.Store
}

func (f *fixture) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f.Cleanup(cancel)
	return ctx
}

type answer struct {
	revision int64
	err      error
}

func (f *fixture) commit(t metadata.Txn) (int64, error) {
	f.Helper()
	c := make(chan answer, 1)
	f.Commit(t, func(revision int64, err error) { c <- answer{revision, err} })
	select {
	case a := <-c:
		return a.revision, a.err
	case <-time.After(patience):
		f.Fatal("Commit wasn't answered")
		return 0, nil
	}
}

// must commits ops, and returns the revision.
func (f *fixture) must(ops ...metadata.Op) int64 {
	f.Helper()
	revision, err := f.commit(metadata.Txn{Ops: ops})
	if err != nil {
		f.Fatalf("Commit(%v) = %v", ops, err)
	}
	return revision
}

func (f *fixture) list(prefix string) ([]metadata.KeyValue, int64) {
	f.Helper()
	kvs, revision, err := f.Range(f.ctx(), prefix)
	if err != nil {
		f.Fatalf("Range(%q) = %v", prefix, err)
	}
	return kvs, revision
}

// content is the store as text, without revisions.
func (f *fixture) content() []string {
	f.Helper()
	kvs, _ := f.list("")
	var lines []string
	for _, kv := range kvs {
		lines = append(lines, kv.Key+"="+string(kv.Value))
	}
	return lines
}

func (f *fixture) wantContent(want ...string) {
	f.Helper()
	if got := f.content(); !slices.Equal(got, want) {
		f.Errorf("the store holds %q, want %q", got, want)
	}
}

func put(key, value string) metadata.Op { return metadata.Op{Key: key, Value: []byte(value)} }

func del(key string) metadata.Op { return metadata.Op{Kind: metadata.OpDelete, Key: key} }

func delPrefix(prefix string) metadata.Op {
	return metadata.Op{Kind: metadata.OpDeletePrefix, Key: prefix}
}

// recorder keeps what a watch delivered.
type recorder struct {
	t      *testing.T
	cancel func()

	mu      sync.Mutex
	news    chan struct{} // closed and replaced when there is something new
	batches []metadata.Batch
	err     error
}

func (f *fixture) watch(from int64) *recorder {
	r := &recorder{t: f.T, news: make(chan struct{})}
	r.cancel = f.Watch(from, r.deliver)
	f.Cleanup(r.cancel)
	return r
}

func (r *recorder) deliver(b metadata.Batch, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil:
		r.t.Errorf("the watch delivered %v, %v after it ended with %v", b, err, r.err)
	case err != nil:
		r.err = err
	default:
		r.batches = append(r.batches, b)
	}
	close(r.news)
	r.news = make(chan struct{})
}

// until waits until ok holds of what was delivered.
func (r *recorder) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		r.mu.Lock()
		held, news := ok(), r.news
		r.mu.Unlock()
		if held {
			return
		}
		select {
		case <-news:
		case <-deadline:
			r.t.Fatalf("waited in vain for %s; the watch delivered %v, %v", what, r.batches, r.err)
		}
	}
}

// reach waits until the watch has come to revision, and returns all events.
func (r *recorder) reach(revision int64) []metadata.Event {
	r.t.Helper()
	r.until("a revision", func() bool {
		return len(r.batches) > 0 && r.batches[len(r.batches)-1].Revision >= revision
	})
	return r.events()
}

func (r *recorder) events() (events []metadata.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.batches {
		events = append(events, b.Events...)
	}
	return events
}
