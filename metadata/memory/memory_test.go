package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"millrace/metadata"
)

func commit(s *Store, ops ...metadata.Op) (revision int64, err error) {
	s.Commit(metadata.Txn{Ops: ops}, func(r int64, e error) { revision, err = r, e })
	return revision, err
}

func put(key, value string) metadata.Op { return metadata.Op{Key: key, Value: []byte(value)} }

// record collects what a watch delivers. The store delivers on the committer's
// goroutine, so a test with one needs no waiting.
type record struct {
	batches []metadata.Batch
	err     error
}

func (r *record) deliver(b metadata.Batch, err error) {
	if err != nil {
		r.err = err
		return
	}
	r.batches = append(r.batches, b)
}

func TestWatchIsServedBeforeCommitAnswers(t *testing.T) {
	s := Open(Options{})
	defer s.Close()
	var r record
	defer s.Watch(1, r.deliver)()
	s.Commit(metadata.Txn{Ops: []metadata.Op{put("k", "v")}}, func(revision int64, err error) {
		if err != nil || revision != 1 || len(r.batches) != 1 || r.batches[0].Revision != 1 {
			t.Errorf("Commit = %d, %v with %v delivered", revision, err, r.batches)
		}
	})
}

// TestCompaction: the history keeps what fits, and who asks for more is told.
func TestCompaction(t *testing.T) {
	value := strings.Repeat("x", 1000)
	s := Open(Options{HistoryBytesMax: 10 * (1000 + 1 + eventBytes)})
	defer s.Close()
	for range 25 {
		if _, err := commit(s, put("k", value)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		from    int64
		batches int
		events  int
		err     error
	}{
		{0, 0, 0, metadata.ErrCompacted},
		{1, 0, 0, metadata.ErrCompacted},
		{15, 0, 0, metadata.ErrCompacted},
		{16, 1, 10, nil},
		{25, 1, 1, nil},
		{26, 0, 0, nil},
		{100, 0, 0, nil},
	}
	for _, test := range tests {
		var r record
		cancel := s.Watch(test.from, r.deliver)
		events := 0
		for _, b := range r.batches {
			events += len(b.Events)
		}
		if len(r.batches) != test.batches || events != test.events || !errors.Is(r.err, test.err) {
			t.Errorf("Watch(%d) delivered %d batches with %d events, error %v; want %d, %d, %v",
				test.from, len(r.batches), events, r.err, test.batches, test.events, test.err)
		}
		cancel()
	}
	if n := len(s.watchers); n != 0 {
		t.Errorf("%d watchers are left", n)
	}
}

// TestHistoryKeepsTheNewest even if it alone is over the limit: whoever watches
// from there must get it.
func TestHistoryKeepsTheNewest(t *testing.T) {
	s := Open(Options{HistoryBytesMax: 1})
	defer s.Close()
	var r record
	defer s.Watch(1, r.deliver)()
	for range 3 {
		if _, err := commit(s, put("k", strings.Repeat("x", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.batches) != 3 || r.err != nil || len(s.history) != 1 {
		t.Errorf("%d batches, error %v, %d revisions kept; want 3, none, 1", len(r.batches), r.err, len(s.history))
	}
}

// TestSlowWatcher is cut off when it falls behind, and doesn't hold up others.
func TestSlowWatcher(t *testing.T) {
	s := Open(Options{HistoryBytesMax: 5 * (eventBytes + 2)})
	defer s.Close()
	entered, leave, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	defer s.Watch(1, func(_ metadata.Batch, err error) {
		if err != nil {
			ended <- err
			return
		}
		once.Do(func() {
			close(entered)
			<-leave
		})
	})()
	var r record
	defer s.Watch(1, r.deliver)()
	go commit(s, put("k", "0"))
	<-entered
	for range 10 { // the slow one is being served: these don't wait for it
		if _, err := commit(s, put("k", "1")); err != nil {
			t.Fatal(err)
		}
	}
	close(leave)
	if err := <-ended; !errors.Is(err, metadata.ErrCompacted) {
		t.Errorf("the slow watcher ended with %v, want ErrCompacted", err)
	}
	if n := len(r.batches); n == 0 || r.batches[n-1].Revision != 11 {
		t.Errorf("the quick watcher got %v", r.batches)
	}
}

func TestClosed(t *testing.T) {
	s := Open(Options{})
	var r record
	cancel := s.Watch(1, r.deliver)
	lease, err := s.Grant(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if !errors.Is(r.err, metadata.ErrClosed) {
		t.Errorf("the watch ended with %v", r.err)
	}
	cancel()
	var late record
	s.Watch(1, late.deliver)()
	_, granted := s.Grant(t.Context(), time.Hour)
	_, _, ranged := s.Range(t.Context(), "")
	_, committed := commit(s, put("k", "v"))
	for i, err := range []error{late.err, granted, ranged, committed, s.KeepAlive(t.Context(), lease), s.Revoke(t.Context(), lease)} {
		if !errors.Is(err, metadata.ErrClosed) {
			t.Errorf("call %d = %v, want ErrClosed", i, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := Open(Options{TxnMax: 2})
	defer s.Close()
	if _, err := commit(s, put("a", ""), put("b", ""), put("c", "")); err == nil {
		t.Error("three ops in a transaction, the most is two: no error")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, ranged := s.Range(over, "")
	_, granted := s.Grant(over, time.Hour)
	for i, err := range []error{ranged, granted, s.KeepAlive(over, 1), s.Revoke(over, 1)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d = %v, want context.Canceled", i, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("one key put twice in a transaction: no panic")
		}
	}()
	_, _ = commit(s, put("a", "1"), put("a", "2"))
}

// TestLeaseClock: a lease lasts exactly its time, and KeepAlive starts it again.
func TestLeaseClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 6 * time.Second
		s := Open(Options{})
		defer s.Close()
		id, err := s.Grant(t.Context(), ttl)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := commit(s, metadata.Op{Key: "k", Lease: id}); err != nil {
			t.Fatal(err)
		}
		var deleted atomic.Int32 // the timer's goroutine writes it
		defer s.Watch(2, func(b metadata.Batch, _ error) { deleted.Add(int32(len(b.Events))) })()
		for range 3 {
			time.Sleep(ttl - 1)
			synctest.Wait()
			if err := s.KeepAlive(t.Context(), id); err != nil || deleted.Load() != 0 {
				t.Fatalf("KeepAlive = %v, %d keys deleted", err, deleted.Load())
			}
		}
		time.Sleep(ttl - 1)
		synctest.Wait()
		if deleted.Load() != 0 {
			t.Fatal("the lease was over too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if deleted.Load() != 1 {
			t.Fatal("the lease wasn't over in time")
		}
	})
}

// TestTreeForgetsDirectories: what is deleted leaves nothing behind.
func TestTreeForgetsDirectories(t *testing.T) {
	s := Open(Options{})
	defer s.Close()
	for i := range 100 {
		if _, err := commit(s, put(fmt.Sprintf("a/%d/b/%d", i, i), "")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := commit(s, metadata.Op{Kind: metadata.OpDeletePrefix, Key: "a/"}); err != nil {
		t.Fatal(err)
	}
	if len(s.keys.dirs) != 0 || len(s.keys.items) != 0 {
		t.Errorf("%d directories are left", len(s.keys.dirs))
	}
}

// BenchmarkPut shows what one more key costs when there are many.
func BenchmarkPut(b *testing.B) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := Open(Options{})
			defer s.Close()
			for i := range n {
				s.keys.put(fmt.Sprintf("topics/%d", i), item{revision: 1})
			}
			keys := make([]string, 1024)
			for i := range keys {
				keys[i] = fmt.Sprintf("topics/new-%d", i)
			}
			b.ResetTimer()
			for i := range b.N {
				if _, err := commit(s, put(keys[i%len(keys)], "v")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
