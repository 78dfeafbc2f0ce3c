package jobs

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
)

func TestGate(t *testing.T) {
	g := NewGate(100)
	called := 0
	var w Waiter
	w.Init(func() { called++ })

	if g.Add(60) || !g.Add(40) || !g.Add(30) {
		t.Error("full at 100 and not before")
	}
	if g.InFlight() != 130 || g.Room() != 0 {
		t.Errorf("in flight %d, room %d", g.InFlight(), g.Room())
	}
	for range 2 { // the second time it waits already
		if !g.Wait(&w) {
			t.Error("there is no room, but Wait didn't wait")
		}
	}
	g.Done(79)
	if called != 0 {
		t.Error("called above half")
	}
	g.Done(1)
	if called != 1 {
		t.Errorf("called %d times at half", called)
	}
	g.Done(10)
	if called != 1 || g.Room() != 60 {
		t.Errorf("called %d times, room %d", called, g.Room())
	}
	if g.Wait(&w) {
		t.Error("waits though there is room")
	}
	if g.Add(20) || !g.Wait(&w) || !g.Cancel(&w) || g.Cancel(&w) {
		t.Error("a waiter can be cancelled once")
	}
	g.Done(60)
	if called != 1 {
		t.Error("a cancelled waiter was called")
	}
}

// TestGateRounds has waiters that come back at once: each round calls each of them once.
func TestGateRounds(t *testing.T) {
	g := NewGate(10)
	calls := make([]int, 3)
	waiters := make([]Waiter, 3)
	for i := range waiters {
		waiters[i].Init(func() {
			calls[i]++
			g.Add(10)
			g.Wait(&waiters[i])
		})
	}
	g.Add(10)
	for i := range waiters {
		g.Wait(&waiters[i])
	}
	for round := 1; round <= 3; round++ {
		g.Done(g.InFlight())
		for i, n := range calls {
			if n != round {
				t.Errorf("round %d: waiter %d was called %d times", round, i, n)
			}
		}
	}
}

func TestGateMisuse(t *testing.T) {
	g := NewGate(10)
	mustPanic(t, "no limit", "limit of 0", func() { NewGate(0) })
	mustPanic(t, "add less than nothing", "Add(-1)", func() { g.Add(-1) })
	mustPanic(t, "more done than added", "leaves -1", func() { g.Done(1) })
	mustPanic(t, "wait before init", "before Init", func() { g.Wait(&Waiter{}) })
}

// TestNoLostWakeUp has sources and sinks race at a small gate. A lost wake-up leaves
// everyone waiting, which the bubble reports as a deadlock.
func TestNoLostWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sources, each = 4, 5000
		g := NewGate(64)
		work := make(chan int64, sources*each)
		var wg sync.WaitGroup
		for s := range uint64(sources) {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(s, 0))
				resumed := make(chan struct{}, 1)
				var w Waiter
				w.Init(func() { resumed <- struct{}{} })
				for range each {
					n := rnd.Int64N(40)
					full := g.Add(n)
					work <- n
					if full && g.Wait(&w) {
						<-resumed
					}
				}
			})
		}
		for range 2 {
			wg.Go(func() {
				for range sources * each / 2 {
					g.Done(<-work)
				}
			})
		}
		wg.Wait()
		if g.InFlight() != 0 {
			t.Errorf("%d bytes are left in flight", g.InFlight())
		}
	})
}

func TestGateDoesNotAllocate(t *testing.T) {
	g := NewGate(100)
	var w Waiter
	w.Init(func() {})
	if n := testing.AllocsPerRun(1000, func() {
		if g.Add(100) {
			g.Wait(&w)
		}
		g.Done(100)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
