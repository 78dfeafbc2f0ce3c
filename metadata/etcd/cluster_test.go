//go:build !noembed

package etcd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"millrace/metadata"
	"millrace/metadata/storetest"
)

// cluster is three members in this process.
type cluster struct {
	*testing.T
	addrs   map[string]string
	dirs    map[string]string // "": temporary
	tls     *TLSFiles
	members map[string]*Embedded
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{T: t, addrs: make(map[string]string), dirs: make(map[string]string), members: make(map[string]*Embedded)}
	for i, addr := range freePorts(t, 3) {
		c.addrs[string(rune('a'+i))] = addr
	}
	t.Cleanup(func() {
		began := time.Now()
		var wg sync.WaitGroup
		for _, e := range c.members {
			wg.Go(e.Close)
		}
		wg.Wait()
		t.Logf("all were closed after %v", time.Since(began))
	})
	return c
}

func (c *cluster) options(name string) EmbeddedOptions {
	o := EmbeddedOptions{Name: name, Cluster: c.addrs, DataDir: c.dirs[name], TLS: c.tls,
		Log: zaptest.NewLogger(c.T, zaptest.Level(zap.InfoLevel)).Named(name)}
	if c.tls != nil {
		o.ClientListen = "127.0.0.1:0"
	}
	return o
}

// start starts members at once, and returns when all are ready.
func (c *cluster) start(names ...string) {
	c.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, name := range names {
		ctx := within(c.T)
		wg.Go(func() {
			e, err := StartEmbedded(ctx, c.options(name))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				c.Error(err)
				return
			}
			c.members[name] = e
		})
	}
	wg.Wait()
	if c.Failed() {
		c.FailNow()
	}
}

// kill cuts a member off, and stops it. A process that dies says nothing to
// anyone either.
func (c *cluster) kill(name string) {
	e := c.members[name]
	delete(c.members, name)
	e.cancel()
	e.front.close()
	e.closing.Do(e.tearDown)
}

func (c *cluster) leader() string {
	for {
		for name, e := range c.members {
			if e.Leading() {
				return name
			}
		}
		time.Sleep(time.Millisecond)
	}
}

func (c *cluster) others(name string) (names []string) {
	for _, other := range slices.Sorted(maps.Keys(c.members)) {
		if other != name {
			names = append(names, other)
		}
	}
	return names
}

// endpoints are the members', the named ones first.
func (c *cluster) endpoints(names ...string) (endpoints []string) {
	for _, name := range names {
		endpoints = append(endpoints, c.members[name].Endpoints()...)
	}
	return endpoints
}

func commitOn(t *testing.T, s metadata.Store, txn metadata.Txn) (int64, error) {
	t.Helper()
	type answer struct {
		revision int64
		err      error
	}
	c := make(chan answer, 1)
	s.Commit(txn, func(revision int64, err error) { c <- answer{revision, err} })
	select {
	case a := <-c:
		return a.revision, a.err
	case <-time.After(patience):
		t.Fatal("a commit wasn't answered")
		return 0, nil
	}
}

func put(key, value string) metadata.Op { return metadata.Op{Key: key, Value: []byte(value)} }

func TestStoreOnThreeMembers(t *testing.T) {
	c := newCluster(t)
	c.start("a", "b", "c")
	for name, e := range c.members {
		t.Logf("%s was ready after %v", name, e.ReadyAfter())
	}
	storetest.Run(t, each(c.endpoints("a", "b", "c")))
}

// counter raises a number in a store, each step once and only after the one before.
type counter struct {
	t       *testing.T
	s       metadata.Store
	n       int
	seen    int64
	longest time.Duration
}

func (c *counter) step() {
	began := time.Now()
	revision, err := commitOn(c.t, c.s, metadata.Txn{
		Compares: []metadata.Compare{{Key: "n", Revision: c.seen}}, Ops: []metadata.Op{put("n", strconv.Itoa(c.n+1))},
	})
	if err != nil {
		c.t.Fatalf("step %d: %v", c.n+1, err)
	}
	c.n, c.seen = c.n+1, revision
	c.longest = max(c.longest, time.Since(began))
}

// watched checks that a watch delivers the values 1, 2, 3 … of n.
type watched struct {
	t    *testing.T
	last atomic.Int64
	err  atomic.Pointer[error]
}

func (w *watched) deliver(b metadata.Batch, err error) {
	if err != nil {
		w.err.Store(&err)
		return
	}
	for _, ev := range b.Events {
		if want := strconv.FormatInt(w.last.Load()+1, 10); string(ev.Value) != want {
			w.t.Errorf("event %+v, want value %s", ev, want)
		}
		w.last.Add(1)
	}
}

func (w *watched) reach(n int) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); w.last.Load() < int64(n); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("the watch is at %d, want %d", w.last.Load(), n)
		}
	}
}

// TestFailover kills the leader of etcd while a node that has another member
// commits: every commit is carried out once, and none fails.
func TestFailover(t *testing.T) {
	c := newCluster(t)
	c.start("a", "b", "c")
	lead := c.leader()
	rest := c.others(lead)
	s := open(t, Options{Endpoints: c.endpoints(rest[0])})
	watching := open(t, Options{Endpoints: c.endpoints(lead, rest[1])})
	w := &watched{t: t}
	defer watching.Watch(1, w.deliver)()
	n := &counter{t: t, s: s}
	for range 20 {
		n.step()
	}
	w.reach(20)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		c.kill(lead)
	}()
	for begun := time.Now(); time.Since(begun) < 2*time.Second; {
		n.step()
	}
	<-killed
	w.reach(n.n)
	t.Logf("%d commits, the longest took %v", n.n, n.longest)

	// The one that died comes back without its data, under load.
	c.start(lead)
	t.Logf("%s was ready again after %v", lead, c.members[lead].ReadyAfter())
	for range 20 {
		n.step()
	}
	w.reach(n.n)
}

// TestElectionOnEtcd kills the node that leads, etcd and all: another one leads when
// the lease is over.
func TestElectionOnEtcd(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	c := newCluster(t)
	c.start("a", "b", "c")
	led := make(chan string, 10)
	elections := make(map[string]*metadata.Election)
	for name := range c.members {
		elections[name] = metadata.Campaign(metadata.ElectionOptions{
			Store: open(t, Options{Endpoints: c.endpoints(name)}), Key: "controller", Value: []byte(name), TTL: ttl,
			Changed: func(term metadata.Term) {
				if term.Mine {
					led <- name
				}
			},
		})
	}
	first := <-led
	began := time.Now()
	c.kill(first)
	second := <-led
	for second == first { // on a busy machine a lease may be lost before
		second = <-led
	}
	t.Logf("%s led %v after %s was killed", second, time.Since(began), first)
	for name, e := range elections {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if err := e.Resign(ctx); err != nil && name != first {
			t.Error(err)
		}
		cancel()
	}
}

// TestRollingRestart has one member after the other come back without its data.
// In the end nobody is left of the first three, and everything is still there.
func TestRollingRestart(t *testing.T) {
	c := newCluster(t)
	c.start("a", "b", "c")
	revision := int64(0)
	for i, name := range []string{"a", "b", "c"} {
		s := open(t, Options{Endpoints: c.endpoints(name)})
		var err error
		if revision, err = commitOn(t, s, metadata.Txn{Ops: []metadata.Op{put("k"+strconv.Itoa(i), name)}}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		c.members[name].Close()
		delete(c.members, name)
		c.start(name)
		t.Logf("%s was ready after %v", name, c.members[name].ReadyAfter())
	}
	s := open(t, Options{Endpoints: c.endpoints("a")})
	kvs, at, err := s.Range(t.Context(), "")
	if err != nil || len(kvs) != 3 || at < revision {
		t.Errorf("Range = %v at %d, %v", kvs, at, err)
	}
}

// TestMajorityLost: two of three members lose their data. They don't make a new
// cluster beside the third, and say what to do.
func TestMajorityLost(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start("a", "b", "c")
	c.kill("b")
	c.kill("c")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for _, name := range []string{"b", "c"} {
		wg.Go(func() {
			e, err := StartEmbedded(ctx, c.options(name))
			if err == nil {
				e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), adviceForm) || !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "can't take us in") {
				t.Errorf("StartEmbedded(%s) = %v", name, err)
			}
		})
	}
	wg.Wait()

	// What it says: stop the third, start all.
	c.kill("a")
	c.start("a", "b", "c")
}
