//go:build !noembed

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3"

	"millrace/metadata"
)

// step makes one attempt of a commit by hand, on a store whose committer isn't
// running.
func (c *committer) step(t *testing.T, txn metadata.Txn, again bool) (*clientv3.TxnResponse, verdict) {
	t.Helper()
	resp, err := c.attempt(t.Context(), patience, txn, again)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Succeeded {
		c.revision = resp.Header.GetRevision()
		return resp, verdict{carriedOut: true, revision: c.revision}
	}
	return resp, c.judge(resp, again)
}

// raw is a client for what a store doesn't do.
func raw(s *Store) *clientv3.Client { return s.endpoints[0].client }

// TestAttempts takes the paths of a commit that a network leads to only by chance.
func TestAttempts(t *testing.T) {
	s := open(t, Options{Endpoints: single(t).Endpoints()})
	c := &s.commits
	begin := func() {
		c.seq++
		if err := c.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	absent := metadata.Txn{Compares: []metadata.Compare{{Key: "k"}}, Ops: []metadata.Op{put("k", "v")}}
	remove := metadata.Txn{Ops: []metadata.Op{{Kind: metadata.OpDelete, Key: "k"}}}

	// The first attempt is carried out, and nobody hears of it.
	begin()
	first, err := c.attempt(t.Context(), patience, absent, false)
	if err != nil || !first.Succeeded {
		t.Fatal(first, err)
	}
	if _, v := c.step(t, absent, true); !v.carriedOut || v.revision != first.Header.GetRevision() {
		t.Errorf("the second attempt says %+v, the first %v", v, first)
	}
	// It conflicts, while an earlier attempt is on its way: that fails later, also
	// when its compares hold again.
	begin()
	before := c.revision
	if _, v := c.step(t, absent, true); v.carriedOut || !errors.Is(v.err, metadata.ErrConflict) {
		t.Errorf("a conflict is %+v", v)
	}
	begin()
	if _, v := c.step(t, remove, false); !v.carriedOut {
		t.Errorf("removing is %+v", v)
	}
	late, now := c.revision, c.revision
	c.revision = before
	if resp, _ := c.step(t, absent, false); resp.Succeeded {
		t.Error("an attempt that came too late was carried out")
	}
	if c.revision != late {
		t.Errorf("the marker is at %d, want %d", c.revision, late)
	}
	// A commit whose outcome nobody knew is carried out between reading the marker
	// and the next commit.
	c.revision = now
	begin()
	if _, v := c.step(t, remove, false); !v.carriedOut {
		t.Error("not carried out")
	}
	c.revision = now
	begin()
	if _, v := c.step(t, absent, false); v.carriedOut || v.err != nil {
		t.Errorf("after another commit of this store: %+v, want nothing done", v)
	}
	if _, v := c.step(t, absent, false); !v.carriedOut {
		t.Errorf("and then again: %+v", v)
	}
	// The marker is taken away.
	begin()
	if _, err := raw(s).Delete(t.Context(), c.marker); err != nil {
		t.Fatal(err)
	}
	if _, v := c.step(t, remove, true); !errors.Is(v.err, errVanished) || c.known {
		t.Errorf("without the marker: %+v", v)
	}
}

// TestSettle: an attempt was refused, and the ones before it weren't answered.
func TestSettle(t *testing.T) {
	s := open(t, Options{Endpoints: single(t).Endpoints()})
	c := &s.commits
	txn := metadata.Txn{Ops: []metadata.Op{put("k", "v")}}
	for _, carriedOut := range []bool{true, false} {
		c.seq++
		if err := c.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if carriedOut {
			if resp, err := c.attempt(t.Context(), patience, txn, false); err != nil || !resp.Succeeded {
				t.Fatal(resp, err)
			}
		}
		if v := c.settle(t.Context()); v.carriedOut != carriedOut || v.err != nil {
			t.Errorf("settle = %+v, want %v", v, carriedOut)
		}
	}
	if _, err := commitOn(t, s, txn); err != nil {
		t.Error(err)
	}
}

// TestMarkerIsLost: the marker or its lease is taken away between commits.
func TestMarkerIsLost(t *testing.T) {
	s := open(t, Options{Endpoints: single(t).Endpoints()})
	txn := metadata.Txn{Ops: []metadata.Op{put("k", "v")}}
	for i := range 5 {
		if _, err := commitOn(t, s, txn); err != nil {
			t.Fatal(err)
		}
		var err error
		switch i {
		case 0:
			_, err = raw(s).Delete(t.Context(), s.commits.marker)
		case 1:
			_, err = raw(s).Revoke(t.Context(), s.commits.lease)
		case 2:
			s.commits.granted = time.Now().Add(-markerTTL)
		case 3:
			txn.Ops[0].Lease = 1 << 40
		}
		if err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			if _, err := commitOn(t, s, txn); !errors.Is(err, metadata.ErrLeaseNotFound) {
				t.Errorf("Commit = %v", err)
			}
			txn.Ops[0].Lease = 0
		}
	}
	// Close leaves nothing behind.
	s.Close()
	other := open(t, Options{Endpoints: s.options.Endpoints})
	resp, err := raw(other).Get(t.Context(), other.options.Prefix+"commits/", clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) != 0 {
		t.Errorf("left: %v, %v", resp.Kvs, err)
	}
}

func TestRefusals(t *testing.T) {
	s := open(t, Options{Endpoints: single(t).Endpoints(), TxnMax: 4})
	if _, err := commitOn(t, s, metadata.Txn{Ops: []metadata.Op{put("a", ""), put("b", ""), put("c", "")}}); err == nil {
		t.Error("three ops in a transaction, the most is two: no error")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, ranged := s.Range(over, "")
	_, granted := s.Grant(over, time.Hour)
	for i, err := range []error{ranged, granted, s.KeepAlive(over, 1), s.Revoke(over, 1)} {
		if !errors.Is(err, context.Canceled) && !strings.Contains(fmt.Sprint(err), "context canceled") {
			t.Errorf("call %d = %v, want context.Canceled", i, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("one key put twice in a transaction: no panic")
		}
	}()
	_, _ = commitOn(t, s, metadata.Txn{Ops: []metadata.Op{put("a", ""), put("a", "")}})
}

func TestClosed(t *testing.T) {
	s := open(t, Options{Endpoints: single(t).Endpoints()})
	ended := make(chan error, 1)
	cancel := s.Watch(1, func(_ metadata.Batch, err error) {
		if err != nil {
			ended <- err
		}
	})
	lease, err := s.Grant(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	// What is on its way is answered, and carried out if there is time.
	const n = 20
	answers := make(chan error, n)
	for i := range n {
		s.Commit(metadata.Txn{Ops: []metadata.Op{put(strconv.Itoa(i), "")}}, func(_ int64, err error) { answers <- err })
	}
	var closing sync.WaitGroup
	for range 2 {
		closing.Go(s.Close)
	}
	for range n {
		if err := <-answers; err != nil && !errors.Is(err, metadata.ErrClosed) {
			t.Errorf("a commit before Close: %v", err)
		}
	}
	closing.Wait()
	if err := <-ended; !errors.Is(err, metadata.ErrClosed) {
		t.Errorf("the watch ended with %v", err)
	}
	cancel()
	s.Watch(1, func(_ metadata.Batch, err error) { ended <- err })()
	_, granted := s.Grant(t.Context(), time.Hour)
	_, _, ranged := s.Range(t.Context(), "")
	_, committed := commitOn(t, s, metadata.Txn{Ops: []metadata.Op{put("k", "v")}})
	for i, err := range []error{<-ended, granted, ranged, committed, s.KeepAlive(t.Context(), lease), s.Revoke(t.Context(), lease)} {
		if !errors.Is(err, metadata.ErrClosed) {
			t.Errorf("call %d = %v, want ErrClosed", i, err)
		}
	}
}

// TestPages lists more keys than fit into a page while the first and the last are
// changed together and etcd is compacted: each listing is of one revision.
func TestPages(t *testing.T) {
	const keys = 2*pageKeys + 500
	s := open(t, Options{Endpoints: single(t).Endpoints()})
	key := func(i int) string { return fmt.Sprintf("k/%05d", i) }
	for i := 0; i < keys; {
		var txn metadata.Txn
		for ; i < keys && len(txn.Ops) < s.TxnMax(); i++ {
			txn.Ops = append(txn.Ops, put(key(i), "0"))
		}
		if _, err := commitOn(t, s, txn); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			v := strconv.Itoa(i)
			revision, err := commitOn(t, s, metadata.Txn{Ops: []metadata.Op{put(key(0), v), put(key(keys-1), v)}})
			if err == nil && i%50 == 0 {
				_, err = raw(s).Compact(t.Context(), revision)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	for range 5 {
		kvs, revision, err := s.Range(t.Context(), "k/")
		if err != nil || len(kvs) != keys {
			t.Fatalf("%d keys, want %d: %v", len(kvs), keys, err)
		}
		for i, kv := range kvs {
			if kv.Key != key(i) || kv.Revision > revision {
				t.Fatalf("key %d is %s of revision %d, listed at %d", i, kv.Key, kv.Revision, revision)
			}
		}
		if first, last := kvs[0], kvs[keys-1]; string(first.Value) != string(last.Value) {
			t.Errorf("the first page is of revision %d, the last one of %d", first.Revision, last.Revision)
		}
	}
	close(stop)
	writer.Wait()
}

// TestLargestAgain: the largest transaction that is allowed can be sent a second time, too, when it carries another inside.
func TestLargestAgain(t *testing.T) {
	s := open(t, Options{Endpoints: single(t).Endpoints()})
	c := &s.commits
	c.seq++
	if err := c.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var txn metadata.Txn
	for i := range s.TxnMax() {
		key := strconv.Itoa(i)
		txn.Compares = append(txn.Compares, metadata.Compare{Key: key})
		txn.Ops = append(txn.Ops, put(key, "v"))
	}
	if resp, err := c.attempt(t.Context(), patience, txn, false); err != nil || !resp.Succeeded {
		t.Fatal(resp, err)
	}
	if _, v := c.step(t, txn, true); !v.carriedOut { // nobody had heard of the first
		t.Errorf("the answer is %+v", v)
	}
}
