package central

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"millrace/metadata"
	"millrace/metadata/memory"
)

const ttl = 6 * time.Second

// guarded is a store with two servers that stand for election, and three brokers with leases. All times are the test's:
// the leases are ended by hand.
type guarded struct {
	*testing.T
	store  *remote
	one    *Server
	two    *Server
	leases map[int32]metadata.LeaseID
	lease  metadata.LeaseID // of the controller
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{T: t, store: newRemote(t, memory.Options{TxnMax: 16}), leases: make(map[int32]metadata.LeaseID)}
	for _, s := range []**Server{&g.one, &g.two} {
		var err error
		if *s, err = Open(Options{Store: g.store, Election: true, Name: "a", LeaseTTL: ttl}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*s).Close)
	}
	for port := range int32(3) {
		spec := at(-1, port+1)
		spec.Lease = g.grant()
		b, err := register(g.one, spec)
		if err != nil {
			t.Fatal(err)
		}
		g.leases[b.ID] = spec.Lease
	}
	if r := create(g.one, metadata.TopicSpec{Name: "t", Partitions: 60, ReplicationFactor: 3}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	return g
}

func (g *guarded) grant() metadata.LeaseID {
	g.Helper()
	id, err := g.store.Grant(g.Context(), time.Hour)
	if err != nil {
		g.Fatal(err)
	}
	return id
}

func (g *guarded) end(lease metadata.LeaseID) {
	g.Helper()
	if err := g.store.Revoke(g.Context(), lease); err != nil {
		g.Fatal(err)
	}
}

func (g *guarded) campaign(s *Server, want bool) {
	g.Helper()
	synctest.Wait() // who hasn't heard that the office is free can't win it
	lease := g.grant()
	won := await(func(done func(bool)) {
		s.Campaign(lease, func(won bool, err error) {
			if err != nil {
				g.Error(err)
			}
			done(won)
		})
	})
	if won != want || s.InOffice() != want {
		g.Fatalf("Campaign = %v, want %v", won, want)
	}
	if won {
		g.lease = lease
	}
}

// fenced waits until all is quiet, and returns the brokers that are fenced.
func (g *guarded) fenced() (ids []int32) {
	synctest.Wait()
	catchUp(g.one, g.two.Image().Revision())
	for _, b := range g.one.Image().Brokers() {
		if b.Fenced {
			ids = append(ids, b.ID)
		}
	}
	for i, p := range g.one.Image().Topic("t").Partitions {
		for _, id := range ids {
			if p.InISR(id) != 0 || p.Leader == id {
				g.Fatalf("broker %d is fenced, and partition %d is %+v", id, i, p)
			}
		}
	}
	return ids
}

func (g *guarded) want(ids ...int32) {
	g.Helper()
	got := g.fenced()
	if len(got) != len(ids) || len(got) > 0 && got[0] != ids[0] {
		g.Fatalf("fenced are %v, want %v", got, ids)
	}
}

func ms(seconds int64) int64 { return 1000 * seconds }

// TestElection: one server is in office; what only the controller may do is refused on any other.
func TestElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t)
		if g.one.InOffice() || g.two.InOffice() {
			t.Error("somebody is in office before the election")
		}
		if err := fence(g.one, member(g.one, 1)); !errors.Is(err, metadata.ErrNotController) {
			t.Errorf("FenceBrokers = %v", err)
		}
		g.campaign(g.one, true)
		g.campaign(g.two, false)
		g.campaign(g.one, true)
		for what, f := range map[string]func(done func(error)){
			"FenceBrokers":   func(done func(error)) { g.two.FenceBrokers(nil, done) },
			"UnfenceBroker":  func(done func(error)) { g.two.UnfenceBroker(member(g.two, 1), done) },
			"Settle":         g.two.Settle,
			"BalanceLeaders": func(done func(error)) { g.two.BalanceLeaders(0, func(_ int, err error) { done(err) }) },
		} {
			if err := await(f); !errors.Is(err, metadata.ErrNotController) {
				t.Errorf("%s = %v", what, err)
			}
		}
		if err := await(g.two.Resign); err != nil || !g.one.InOffice() {
			t.Error("a server resigned for another", err)
		}
		if err := await(g.one.Resign); err != nil || g.one.InOffice() {
			t.Error(err)
		}
		g.campaign(g.two, true)
		depose := func(token uint64) {
			if err := await(func(done func(error)) { g.one.Depose(token, done) }); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		if depose(g.one.token); !g.two.InOffice() {
			t.Error("deposed although another's token was named")
		}
		if depose(g.two.token); g.two.InOffice() {
			t.Error("in office after it was deposed")
		}
		g.campaign(g.two, true)
		g.end(g.lease)
		synctest.Wait()
		if g.two.InOffice() {
			t.Error("in office without a lease")
		}
		g.campaign(g.one, true)
		synctest.Wait()
		if c := g.two.Image().Controller(); c.Name != "a" || c.Token != g.one.token {
			t.Errorf("the controller is %+v", c)
		}
	})
}

// TestDeposed: what a controller has planned doesn't happen any more when another is in office.
func TestDeposed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t)
		g.campaign(g.one, true)
		g.end(g.leases[2])
		synctest.Wait()
		g.store.hold()
		result := make(chan error, 1)
		g.one.FenceBrokers([]metadata.Member{member(g.one, 2)}, func(err error) { result <- err })
		g.store.step() // the fence itself, and some partitions
		g.store.awaitHeld()
		g.end(g.lease)
		g.store.release()
		if err := <-result; !errors.Is(err, metadata.ErrNotController) {
			t.Errorf("FenceBrokers = %v", err)
		}
		synctest.Wait()
		left := 0
		for _, p := range g.one.Image().Topic("t").Partitions {
			if p.InISR(2) != 0 {
				left++
			}
		}
		if !g.one.Image().Broker(2).Fenced || left == 0 {
			t.Errorf("%d partitions are left to be done", left)
		}
		// The next one finishes it.
		g.campaign(g.two, true)
		g.two.Tick(ms(1))
		g.want(2)
	})
}

// TestVigil: a broker is fenced when its lease has ended, but not in the first TTL in which the store is heard, and unfenced
// when it is heard of again.
func TestVigil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t)
		g.campaign(g.one, true)
		tick := func(at int64) {
			for _, s := range []*Server{g.one, g.two} {
				s.HeardStore(ms(at))
				s.Tick(ms(at))
			}
		}
		tick(100)
		g.end(g.leases[2])
		tick(103)
		g.want()
		tick(105)
		g.want()
		tick(106)
		g.want(2)
		two := member(g.one, 2)
		announce := func(m metadata.Member) error {
			lease := g.grant()
			return await(func(done func(error)) { g.two.Announce(m, lease, done) })
		}
		if err := announce(two); err != nil {
			t.Fatal(err)
		}
		g.want()
		if err := announce(metadata.Member{Broker: 2, Incarnation: 1}); !errors.Is(err, metadata.ErrStaleBrokerEpoch) {
			t.Errorf("a life that is over announces itself: %v", err)
		}
		// The grace is over: silence counts at once, without a tick.
		tick(108)
		g.end(g.leases[3])
		g.want(3)
		// Another controller that has heard the store all the time needs no grace of its own. Brokers that are fenced stay so.
		g.end(g.lease)
		g.campaign(g.two, true)
		tick(109)
		g.want(3)
		g.end(g.leases[1])
		g.want(1, 3)
	})
}

// TestStoreOutage: leases that ended while the store didn't answer say nothing.
func TestStoreOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t)
		g.campaign(g.one, true)
		for at := int64(0); at <= 9; at += 3 {
			g.one.HeardStore(ms(at))
			g.one.Tick(ms(at))
		}
		g.one.Tick(ms(14))
		g.end(g.leases[1])
		g.want()
		g.one.HeardStore(ms(20))
		g.one.Tick(ms(20))
		g.want()
		g.one.HeardStore(ms(23))
		g.one.HeardStore(ms(26))
		g.want()
		g.one.Tick(ms(26))
		g.want(1)
	})
}

// TestSessionRefused: who was seen dead is fenced without waiting for anything, by the controller.
func TestSessionRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t)
		g.campaign(g.one, true)
		three := member(g.one, 3)
		g.two.SessionRefused(three, ms(1)) // which isn't the controller
		g.want()
		g.one.SessionRefused(three, ms(1))
		g.want(3)
		g.one.Tick(ms(2)) // its lease goes on
		g.want(3)
		g.one.SessionUp(three)
		g.want()
		g.one.SessionRefused(metadata.Member{Broker: 3, Incarnation: 1}, ms(3))
		g.want()
		// What was seen before counts when its turn comes.
		g.end(g.lease)
		g.campaign(g.two, true)
		g.two.Tick(ms(4))
		g.want(3)
		g.two.SessionUp(three)
		g.want()
	})
}

// TestActAgain: what the controller couldn't do because the store failed it does at a later tick.
func TestActAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t)
		g.campaign(g.one, true)
		g.store.failCommits(errors.New("no route to the store"))
		g.one.SessionRefused(member(g.one, 1), ms(1))
		g.want()
		g.store.failCommits(nil)
		g.one.Tick(ms(2))
		g.want(1)
	})
}

// TestAlone: a server that shares its store with nobody is the controller.
func TestAlone(t *testing.T) {
	s := replicated(t, stores["at once"](t))
	if !s.InOffice() {
		t.Error("nobody else is in office")
	}
	s.SessionRefused(member(s, 1), 1)
	_ = await(func(done func(error)) { s.Settle(done) }) // comes after what was decided
	if b := s.Image().Broker(1); !b.Fenced {
		t.Errorf("%+v", b)
	}
	s.Tick(1_000_000) // without leases nothing follows from silence
	if leads, inSync := counts(t, s); inSync != 120 || leads[2] != 30 {
		t.Errorf("leaders are %v, and %d in sync", leads, inSync)
	}
}
