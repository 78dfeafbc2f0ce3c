//go:build !noembed

package etcd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/metadata"
)

// TestEveryCommitOnce cuts the connection again and again while commits without
// any compare go through it: each is carried out once, in order, and answered with
// the revision at which it was; the watch, cut as well, sees each once.
func TestEveryCommitOnce(t *testing.T) {
	const commits = 200
	e := single(t)
	p := newProxy(t, e.Endpoints()[0])
	s := open(t, Options{Endpoints: []string{p.endpoint()}})
	w := &watched{t: t}
	defer s.Watch(1, w.deliver)()

	stop := make(chan struct{})
	var cutter sync.WaitGroup
	cutter.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond):
				p.cut()
			}
		}
	})
	var revisions []int64
	for i := range commits {
		revision, err := commitOn(t, s, metadata.Txn{Ops: []metadata.Op{put("n", strconv.Itoa(i+1))}})
		if err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
		revisions = append(revisions, revision)
	}
	close(stop)
	cutter.Wait()
	w.reach(commits)
	if !slices.IsSorted(revisions) {
		t.Errorf("the revisions aren't in order: %v", revisions)
	}
	direct := open(t, Options{Endpoints: e.Endpoints()})
	var seen []int64
	reached := make(chan struct{})
	defer direct.Watch(1, func(b metadata.Batch, _ error) {
		for _, ev := range b.Events {
			seen = append(seen, ev.Revision)
		}
		if len(seen) == commits {
			close(reached)
		}
	})()
	select {
	case <-reached:
	case <-time.After(patience):
		t.Fatal("the store doesn't hold as many changes as were committed")
	}
	if !slices.Equal(seen, revisions) {
		t.Errorf("etcd has changes at %v, the commits were answered with %v", seen, revisions)
	}
}

// TestConflictOnce is the same for commits that conflict: what was answered with
// ErrConflict is not carried out later.
func TestConflictOnce(t *testing.T) {
	e := single(t)
	p := newProxy(t, e.Endpoints()[0])
	s := open(t, Options{Endpoints: []string{p.endpoint()}})
	direct := open(t, Options{Endpoints: e.Endpoints()})
	_, err := commitOn(t, direct, metadata.Txn{Ops: []metadata.Op{put("k", "first")}})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		p.freeze()
		answered := make(chan error, 1)
		s.Commit(metadata.Txn{Compares: []metadata.Compare{{Key: "k"}}, Ops: []metadata.Op{put("k", "second")}},
			func(_ int64, err error) { answered <- err })
		time.Sleep(attemptTimeout / 10) // anything between nothing and all of it may have left
		p.cut()
		p.thaw()
		if err := <-answered; !errors.Is(err, metadata.ErrConflict) {
			t.Fatalf("Commit = %v", err)
		}
		// Now the compare would hold; whatever is still on its way must fail.
		for _, ops := range [][]metadata.Op{{{Kind: metadata.OpDelete, Key: "k"}}, {put("other", "")}} {
			if _, err := commitOn(t, direct, metadata.Txn{Ops: ops}); err != nil {
				t.Fatal(err)
			}
		}
		if kvs, _, err := direct.Range(t.Context(), "k"); err != nil || len(kvs) != 0 {
			t.Fatalf("Range = %v, %v", kvs, err)
		}
		if _, err := commitOn(t, direct, metadata.Txn{Ops: []metadata.Op{put("k", "first")}}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFrozenEndpoint has one of two endpoints take connections and bytes, and
// answer nothing: commits, listings, leases and the watch go on by the other.
func TestFrozenEndpoint(t *testing.T) {
	t.Parallel()
	e := single(t)
	frozen, good := newProxy(t, e.Endpoints()[0]), newProxy(t, e.Endpoints()[0])
	s := open(t, Options{Endpoints: []string{frozen.endpoint(), good.endpoint()}})
	w := &watched{t: t}
	defer s.Watch(1, w.deliver)()
	n := &counter{t: t, s: s}
	for range 10 {
		n.step()
	}
	w.reach(10)
	lease, err := s.Grant(t.Context(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	frozen.freeze()
	stop := make(chan struct{})
	var keeper sync.WaitGroup
	keeper.Go(func() {
		for {
			if err := s.KeepAlive(t.Context(), lease); err != nil {
				t.Errorf("KeepAlive = %v", err)
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
		}
	})
	defer keeper.Wait()
	defer close(stop)
	for range 2 {
		n.step()
		if _, _, err := s.Range(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the longest commit took %v", n.longest)
	w.reach(n.n)
}

// TestPartitionedLease: a node that etcd doesn't hear loses its lease, and is told so
// when it comes back; one that is heard keeps it.
func TestPartitionedLease(t *testing.T) {
	t.Parallel()
	e := single(t)
	p := newProxy(t, e.Endpoints()[0])
	away := open(t, Options{Endpoints: []string{p.endpoint()}})
	here := open(t, Options{Endpoints: e.Endpoints()})
	const ttl = 4 * time.Second
	var leases [2]metadata.LeaseID
	for i, s := range []*Store{away, here} {
		var err error
		if leases[i], err = s.Grant(t.Context(), ttl); err != nil {
			t.Fatal(err)
		}
		op := metadata.Op{Key: fmt.Sprint(i), Lease: leases[i]}
		if _, err := commitOn(t, s, metadata.Txn{Ops: []metadata.Op{op}}); err != nil {
			t.Fatal(err)
		}
	}
	p.freeze()
	gone := make(chan struct{})
	defer here.Watch(1, func(b metadata.Batch, _ error) {
		for _, ev := range b.Events {
			if ev.Deleted && ev.Key == "0" {
				close(gone)
			}
		}
	})()
	for waiting := true; waiting; {
		if err := here.KeepAlive(t.Context(), leases[1]); err != nil {
			t.Fatal(err)
		}
		select {
		case <-gone:
			waiting = false
		case <-time.After(ttl / 16):
		}
	}
	p.thaw()
	if err := away.KeepAlive(t.Context(), leases[0]); !errors.Is(err, metadata.ErrLeaseNotFound) {
		t.Errorf("KeepAlive of the lease that ran out = %v", err)
	}
	kvs, _, err := here.Range(t.Context(), "")
	if err != nil || len(kvs) != 1 || kvs[0].Key != "1" {
		t.Errorf("Range = %v, %v", kvs, err)
	}
}

// TestCompacted: who watches from where etcd has forgotten is told, also when that
// happens while he is cut off; listing again goes on from there.
func TestCompacted(t *testing.T) {
	e := single(t)
	p := newProxy(t, e.Endpoints()[0])
	s := open(t, Options{Endpoints: []string{p.endpoint()}})
	direct := open(t, Options{Endpoints: e.Endpoints()})
	ended := make(chan error, 2)
	caughtUp := make(chan struct{})
	first, err := commitOn(t, direct, metadata.Txn{Ops: []metadata.Op{put("k", "0")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Watch(first, func(b metadata.Batch, err error) {
		if err != nil {
			ended <- err
		} else if b.Revision == first {
			close(caughtUp)
		}
	})()
	<-caughtUp
	p.freeze()
	last := first
	for i := range 10 {
		if last, err = commitOn(t, direct, metadata.Txn{Ops: []metadata.Op{put("k", strconv.Itoa(i))}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := raw(direct).Compact(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	p.cut()
	p.thaw()
	if err := <-ended; !errors.Is(err, metadata.ErrCompacted) {
		t.Errorf("the watch ended with %v", err)
	}
	defer direct.Watch(1, func(_ metadata.Batch, err error) { ended <- err })()
	if err := <-ended; !errors.Is(err, metadata.ErrCompacted) {
		t.Errorf("the watch from 1 ended with %v", err)
	}
	kvs, revision, err := s.Range(t.Context(), "")
	if err != nil || len(kvs) != 1 || revision < last {
		t.Fatalf("Range = %v at %d, %v", kvs, revision, err)
	}
	again := make(chan struct{})
	defer s.Watch(revision+1, func(b metadata.Batch, err error) {
		if err != nil || len(b.Events) != 1 {
			t.Errorf("the watch delivered %v, %v", b, err)
		}
		close(again)
	})()
	if _, err := commitOn(t, direct, metadata.Txn{Ops: []metadata.Op{put("k", "new")}}); err != nil {
		t.Fatal(err)
	}
	<-again
}

// TestReplaced: an etcd that was made anew has none of the old revisions; whoever
// watches is told to list again.
func TestReplaced(t *testing.T) {
	e := single(t)
	p := newProxy(t, e.Endpoints()[0])
	s := open(t, Options{Endpoints: []string{p.endpoint()}})
	last := int64(0)
	for range 10 {
		var err error
		if last, err = commitOn(t, s, metadata.Txn{Ops: []metadata.Op{put("k", "old")}}); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 2)
	for range 2 {
		defer s.Watch(last+1, func(_ metadata.Batch, err error) {
			if err != nil {
				ended <- err
			}
		})()
	}
	another := single(t)
	p.mu.Lock()
	p.target = strings.TrimPrefix(another.Endpoints()[0], "unix://")
	p.mu.Unlock()
	p.cut()
	for range 2 {
		if err := <-ended; !errors.Is(err, metadata.ErrCompacted) {
			t.Errorf("a watch ended with %v", err)
		}
	}
	kvs, revision, err := s.Range(t.Context(), "")
	if err != nil || len(kvs) != 0 || revision >= last {
		t.Errorf("Range = %v at %d, %v", kvs, revision, err)
	}
	if _, err := commitOn(t, s, metadata.Txn{Ops: []metadata.Op{put("k", "new")}}); err != nil {
		t.Error(err)
	}
}
