package metadata_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/metadata"
	"millrace/metadata/memory"
)

const ttl = 6 * time.Second

// line is a store at the end of a line that a test can cut: requests then fail after
// a second.
type line struct {
	metadata.Store
	mu  sync.Mutex
	cut bool
}

var errCut = errors.New("the line is cut")

func (l *line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
}

func (l *line) dead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

func (l *line) KeepAlive(ctx context.Context, id metadata.LeaseID) error {
	if l.dead() {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return errCut
	}
	return l.Store.KeepAlive(ctx, id)
}

func (l *line) Grant(ctx context.Context, ttl time.Duration) (metadata.LeaseID, error) {
	if l.dead() {
		return 0, errCut
	}
	return l.Store.Grant(ctx, ttl)
}

func (l *line) Revoke(ctx context.Context, id metadata.LeaseID) error {
	if l.dead() {
		return errCut
	}
	return l.Store.Revoke(ctx, id)
}

// journal writes down the terms that each candidate sees.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) of(name string) func(metadata.Term) {
	return func(t metadata.Term) {
		j.mu.Lock()
		defer j.mu.Unlock()
		switch {
		case t.Revision == 0 && name == "o": // it may see the next term at once
		case t.Revision == 0:
			j.lines = append(j.lines, name+":nobody")
		case t.Mine:
			j.lines = append(j.lines, name+":ME")
		default:
			j.lines = append(j.lines, name+":"+string(t.Leader))
		}
	}
}

func (j *journal) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	text := strings.Join(j.lines, " ")
	j.lines = nil
	return text
}

func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		defer store.Close()
		l := &line{Store: store}
		s, err := metadata.OpenSession(t.Context(), l, ttl)
		if err != nil {
			t.Fatal(err)
		}
		lost := func() bool {
			synctest.Wait()
			select {
			case <-s.Lost():
				return true
			default:
				return false
			}
		}
		time.Sleep(10 * ttl)
		if lost() || store.KeepAlive(t.Context(), s.Lease()) != nil {
			t.Fatal("the session was lost without a reason")
		}
		if silent := time.Since(s.Heard()); silent > ttl/2 {
			t.Errorf("the store wasn't heard for %v", silent)
		}
		l.set(true)
		time.Sleep(ttl / 2)
		l.set(false)
		time.Sleep(10 * ttl)
		if lost() {
			t.Fatal("the session was lost after half its time")
		}
		l.set(true)
		begun := time.Now()
		<-s.Lost()
		if took := time.Since(begun); took < ttl/2 || took >= ttl {
			t.Errorf("lost after %v", took)
		}
		l.set(false)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSessionOfARevokedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		s, err := metadata.OpenSession(t.Context(), store, ttl)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Revoke(t.Context(), s.Lease()); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		<-s.Lost()
		if took := time.Since(begun); took > ttl/2 {
			t.Errorf("lost after %v", took)
		}
		store.Close()
		if err := s.Close(t.Context()); !errors.Is(err, metadata.ErrClosed) {
			t.Error(err)
		}
	})
}

// story is candidates for one key, and an observer.
type story struct {
	*testing.T
	journal
	store      *memory.Store
	lines      map[string]*line
	candidates map[string]*metadata.Election
}

func (s *story) campaign(name string) {
	s.lines[name] = &line{Store: s.store}
	s.candidates[name] = metadata.Campaign(metadata.ElectionOptions{
		Store: s.lines[name], Key: "controller", Value: []byte(name), TTL: ttl, Changed: s.of(name),
	})
}

func (s *story) expect(what string, terms ...string) {
	s.Helper()
	synctest.Wait()
	if got := s.take(); !sameSet(got, strings.Join(terms, " ")) {
		s.Errorf("%s: %s, want %v", what, got, terms)
	}
}

// leader is who leads, and who else is a candidate.
func (s *story) leader() (name, other string) {
	s.Helper()
	synctest.Wait()
	for candidate, e := range s.candidates {
		switch {
		case !e.Term().Mine:
			other = candidate
		case name == "":
			name = candidate
		default:
			s.Errorf("%s and %s lead", name, candidate)
		}
	}
	if name == "" {
		s.Fatal("nobody leads")
	}
	return name, other
}

func (s *story) resign(name string) {
	s.Helper()
	if err := s.candidates[name].Resign(s.Context()); err != nil {
		s.Error(err)
	}
	delete(s.candidates, name)
}

func TestElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		defer store.Close()
		s := &story{T: t, store: store, lines: make(map[string]*line), candidates: make(map[string]*metadata.Election)}
		cancel := metadata.Observe(store, "controller", s.of("o"))
		s.campaign("a")
		s.expect("one candidate", "a:ME", "o:a")
		s.campaign("b")
		s.expect("a second", "b:a")
		s.campaign("c")
		s.expect("a third", "c:a")
		time.Sleep(10 * ttl)
		s.expect("nothing happens")

		// One of the others leads at once, and only he can write as the leader.
		first := s.candidates["a"].Term()
		s.resign("a")
		name, other := s.leader()
		got := s.take()
		for _, want := range []string{"a:nobody", name + ":ME", other + ":" + name, "o:" + name} {
			if !strings.Contains(got, want) {
				t.Errorf("after a resigned: %s, want %s", got, want)
			}
		}
		if err := write(store, first.Fence("controller")); !errors.Is(err, metadata.ErrConflict) {
			t.Errorf("a write in a term that is over: %v", err)
		}
		if err := write(store, s.candidates[name].Term().Fence("controller")); err != nil {
			t.Errorf("a write of the leader: %v", err)
		}

		// A leader that is cut off knows when it can't lead any more, before
		// another does.
		s.lines[name].set(true)
		time.Sleep(2 * ttl)
		synctest.Wait()
		got = s.take()
		stopped, began := strings.Index(got, name+":nobody"), strings.Index(got, other+":ME")
		if stopped < 0 || began < stopped || !strings.Contains(got, "o:"+other) || string(s.candidates[name].Term().Leader) != other {
			t.Errorf("after the leader, %s, was cut off: %s", name, got)
		}
		s.lines[name].set(false)
		time.Sleep(ttl)
		s.expect("it came back")

		// Somebody removes the key.
		store.Commit(metadata.Txn{Ops: []metadata.Op{{Kind: metadata.OpDelete, Key: "controller"}}}, func(int64, error) {})
		s.leader()
		cancel()
		s.resign("b")
		s.resign("c")
	})
}

func write(s metadata.Store, fence metadata.Compare) (err error) {
	s.Commit(metadata.Txn{Compares: []metadata.Compare{fence}, Ops: []metadata.Op{{Key: "x"}}}, func(_ int64, e error) { err = e })
	return err
}

func sameSet(a, b string) bool {
	count := make(map[string]int)
	for _, s := range strings.Fields(a) {
		count[s]++
	}
	for _, s := range strings.Fields(b) {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// TestElectionRaces has candidates come and go: no two lead in one term, and each
// term is told to its leader only once.
func TestElectionRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.Open(memory.Options{})
		defer store.Close()
		var mu sync.Mutex
		led := make(map[int64]string)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				name := fmt.Sprint(i)
				for range 20 {
					elected := make(chan struct{}, 1)
					e := metadata.Campaign(metadata.ElectionOptions{
						Store: store, Key: "k", Value: []byte(name), TTL: ttl,
						Changed: func(term metadata.Term) {
							if !term.Mine {
								return
							}
							mu.Lock()
							defer mu.Unlock()
							if who, ok := led[term.Revision]; ok {
								t.Errorf("term %d is %s's, and was told to %s", term.Revision, who, name)
							}
							led[term.Revision] = name
							elected <- struct{}{}
						},
					})
					<-elected
					if err := e.Resign(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if len(led) != 80 {
			t.Errorf("%d terms, want 80", len(led))
		}
	})
}
