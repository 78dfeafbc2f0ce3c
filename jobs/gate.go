package jobs

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Gate counts bytes in flight against a limit. It doesn't block anyone: a source of
// work that finds it full stops reading and leaves a Waiter, which is called when the
// count has fallen to half of the limit. Half, because a source that is stopped and
// started for each request costs more than the requests.
//
// The limit is not hard: a source learns that the gate is full when it has added what
// it read. Sources that read no more than Room keep the excess small.
type Gate struct {
	limit    int64
	inFlight atomic.Int64
	waiting  atomic.Int32 // waiters in the list; lets Done go without the lock

	mu    sync.Mutex
	list  Waiter // ring through prev and next, the head is not a waiter itself
	round uint64 // how often the gate was opened
}

// Waiter is a source that waits at a gate.
type Waiter struct {
	prev, next *Waiter // guarded by the gate's mu; nil: not waiting
	round      uint64  // of the gate, when it began to wait
	resume     func()
}

// Init sets what is called when the source may go on. It is called on the goroutine of
// whoever made room, and must not block.
func (w *Waiter) Init(resume func()) { w.resume = resume }

// NewGate returns an open gate. The limit must be positive.
func NewGate(limitBytes int64) *Gate {
	if limitBytes <= 0 {
		panic(fmt.Sprintf("jobs: gate with a limit of %d bytes", limitBytes))
	}
	g := &Gate{limit: limitBytes}
	g.list.prev, g.list.next = &g.list, &g.list
	return g
}

// Add counts n more bytes in flight and tells whether the gate is full now.
func (g *Gate) Add(n int64) (full bool) {
	if n < 0 {
		panic(fmt.Sprintf("jobs: gate: Add(%d)", n))
	}
	return g.inFlight.Add(n) >= g.limit
}

// Done takes back n bytes that were added. If that leaves half of the limit or less,
// it calls the waiters, each once.
func (g *Gate) Done(n int64) {
	left := g.inFlight.Add(-n)
	if n < 0 || left < 0 {
		panic(fmt.Sprintf("jobs: gate: Done(%d) leaves %d bytes in flight", n, left))
	}
	// Wait does the two steps the other way round; see there.
	if left <= g.limit/2 && g.waiting.Load() > 0 {
		g.open()
	}
}

// open calls all waiters that stand in the list now, but not those who come back while
// it does. Taking the list away first would be simpler, but then its head would have to
// be on the heap, as Cancel may come to any waiter that was not called yet.
func (g *Gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.round++
	now := g.round
	for w := g.list.next; w != &g.list && w.round < now; w = g.list.next {
		g.drop(w)
		g.mu.Unlock()
		w.resume()
		g.mu.Lock()
	}
}

// Wait puts w into the list. True: w will be called once. False: there is room
// already, w isn't in the list and the source goes on. A waiter that waits already
// stays where it is.
func (g *Gate) Wait(w *Waiter) bool {
	if w.resume == nil {
		panic("jobs: gate: Wait before Init")
	}
	g.mu.Lock()
	if w.next == nil {
		w.prev, w.next, w.round = g.list.prev, &g.list, g.round
		w.prev.next, g.list.prev = w, w
		g.waiting.Add(1)
	}
	g.mu.Unlock()
	// We stand in the list and look at the level; Done lowers the level and looks at
	// the list. Whichever is later sees the other.
	if g.inFlight.Load() > g.limit/2 {
		return true
	}
	return !g.Cancel(w)
}

// Cancel takes w out of the list. True: it was there and will not be called. False: it
// was called, is being called, or never waited.
func (g *Gate) Cancel(w *Waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.next == nil {
		return false
	}
	g.drop(w)
	return true
}

func (g *Gate) drop(w *Waiter) {
	w.prev.next, w.next.prev = w.next, w.prev
	w.prev, w.next = nil, nil
	g.waiting.Add(-1)
}

// InFlight returns the bytes in flight.
func (g *Gate) InFlight() int64 { return g.inFlight.Load() }

// Room returns how many bytes are left below the limit, 0 if none.
func (g *Gate) Room() int64 { return max(0, g.limit-g.inFlight.Load()) }
