package storetest

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"millrace/metadata"
)

// text is an event without its revision.
func text(events []metadata.Event) (lines []string) {
	for _, ev := range events {
		line := ev.Key + "=" + string(ev.Value)
		if ev.Deleted {
			line = ev.Key + " deleted"
		}
		lines = append(lines, line)
	}
	return lines
}

func wantEvents(t *testing.T, got []metadata.Event, want ...string) {
	t.Helper()
	if g := text(got); fmt.Sprint(g) != fmt.Sprint(want) {
		t.Errorf("events %q, want %q", g, want)
	}
}

func testWatchPast(t *testing.T, s *fixture) {
	s.must(put("k", "1"))
	from := s.must(put("k", "2"))
	s.must(del("k"))
	last := s.must(put("k", "3"))
	wantEvents(t, s.watch(from).reach(last), "k=2", "k deleted", "k=3")
	wantEvents(t, s.watch(last).reach(last), "k=3")
}

func testWatchFuture(t *testing.T, s *fixture) {
	now := s.must(put("k", "1"))
	w := s.watch(now + 1)
	later := s.watch(now + 2)
	s.must(put("k", "2"))
	last := s.must(put("k", "3"))
	wantEvents(t, w.reach(last), "k=2", "k=3")
	for _, ev := range later.reach(last) {
		if ev.Revision < now+2 {
			t.Errorf("event %+v, watched from %d", ev, now+2)
		}
	}
}

// testWatchOrder has writers write pairs: each watcher sees each pair once, in one
// batch, in the order of revisions.
func testWatchOrder(t *testing.T, s *fixture) {
	const writers, pairs = 4, 50
	start := s.must(put("start", ""))
	w := s.watch(start + 1)
	var wg sync.WaitGroup
	var highest atomic.Int64
	for id := range writers {
		wg.Go(func() {
			for i := range pairs {
				v := strconv.Itoa(i)
				key := strconv.Itoa(id)
				revision, err := s.commit(metadata.Txn{Ops: []metadata.Op{put("l/"+key, v), put("r/"+key, v)}})
				if err != nil {
					t.Error(err)
				}
				for h := highest.Load(); h < revision && !highest.CompareAndSwap(h, revision); h = highest.Load() {
				}
			}
		})
	}
	wg.Wait()
	if n := len(w.reach(highest.Load())); n != 2*writers*pairs {
		t.Errorf("%d events, want %d", n, 2*writers*pairs)
	}
	checkPairs(t, w.batches)
}

func checkPairs(t *testing.T, batches []metadata.Batch) {
	t.Helper()
	last := int64(0)
	next := make(map[string]int)
	for _, b := range batches {
		perRevision := make(map[int64]int)
		for _, ev := range b.Events {
			if ev.Revision < last || ev.Revision > b.Revision {
				t.Fatalf("event %+v after revision %d, in a batch up to %d", ev, last, b.Revision)
			}
			last = ev.Revision
			perRevision[ev.Revision]++
			if string(ev.Value) != strconv.Itoa(next[ev.Key]) {
				t.Fatalf("event %+v, want value %d", ev, next[ev.Key])
			}
			next[ev.Key]++
		}
		for revision, n := range perRevision {
			if n != 2 {
				t.Fatalf("%d events of revision %d in one batch, want 2", n, revision)
			}
		}
		last = b.Revision + 1
	}
}

// testWatchReaches takes every revision that Commit may answer with: of a change,
// of a conflict, of nothing to do.
func testWatchReaches(_ *testing.T, s *fixture) {
	from := s.must(put("k", "1"))
	w := s.watch(from)
	w.reach(from)
	conflict, err := s.commit(metadata.Txn{Compares: []metadata.Compare{{Key: "k"}}, Ops: []metadata.Op{put("k", "2")}})
	if err == nil {
		s.Fatal("no conflict")
	}
	w.reach(conflict)
	w.reach(s.must(del("nope")))
	w.reach(s.must())
	w.reach(s.must(put("k", "3")))
}

// testWatchMayCommit answers each event with a commit from within the watch.
func testWatchMayCommit(t *testing.T, s *fixture) {
	const depth = 50
	from := s.must(put("n", "0"))
	done := make(chan struct{})
	cancel := s.Watch(from, func(b metadata.Batch, err error) {
		for _, ev := range b.Events {
			n, _ := strconv.Atoi(string(ev.Value))
			if n == depth {
				close(done)
				return
			}
			s.Commit(metadata.Txn{Ops: []metadata.Op{put("n", strconv.Itoa(n+1))}}, func(_ int64, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
	})
	defer cancel()
	select {
	case <-done:
	case <-s.ctx().Done():
		t.Fatal("the chain of commits broke off")
	}
	s.wantContent("n=" + strconv.Itoa(depth))
}

func testWatchCancel(t *testing.T, s *fixture) {
	from := s.must(put("k", "1"))
	var cancelled, late atomic.Bool
	first := make(chan struct{})
	var once sync.Once
	cancel := s.Watch(from, func(metadata.Batch, error) {
		if cancelled.Load() {
			late.Store(true)
		}
		once.Do(func() { close(first) })
	})
	<-first
	cancel()
	cancel() // a second time does nothing
	cancelled.Store(true)
	other := s.watch(from)
	other.reach(s.must(put("k", "2")))
	if late.Load() {
		t.Error("a delivery after cancel")
	}
}

// testListThenWatch is what a node does that joins: list, then watch from the next
// revision. Nothing is missed and nothing comes twice.
func testListThenWatch(t *testing.T, s *fixture) {
	const writes = 100
	written := make(chan int64, 1)
	go func() {
		var last int64
		for i := range writes {
			last, _ = s.commit(metadata.Txn{Ops: []metadata.Op{put("k/"+strconv.Itoa(i), "v")}})
		}
		written <- last
	}()
	kvs, revision := s.list("k/")
	w := s.watch(revision + 1)
	seen := make(map[string]int)
	for _, kv := range kvs {
		seen[kv.Key]++
	}
	if last := <-written; last > revision {
		for _, ev := range w.reach(last) {
			seen[ev.Key]++
		}
	}
	for i := range writes {
		if key := "k/" + strconv.Itoa(i); seen[key] != 1 {
			t.Errorf("%s was seen %d times", key, seen[key])
		}
	}
}
