package reactor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"millrace/jobs"

	"github.com/panjf2000/gnet/v2"
)

const (
	// drainRounds is how often an event looks at its list of ready connections before
	// the sockets get their turn: completions may come in for ever.
	drainRounds = 4
	// spareRequestsMax bounds the requests that a loop keeps for the next ones.
	spareRequestsMax = 1024
	spareOutboxesMax = 64
)

// loop is one event loop and what its connections share. Fields are the loop's own
// unless they say otherwise.
type loop struct {
	r      *Reactor
	events gnet.EventLoop
	pauser pauser
	arena  arena

	// ready is a stack of connections that have something to do, linked by nextReady;
	// any goroutine pushes. awake says that the loop will look at it: whoever pushes
	// while it is false sets it and wakes the loop.
	ready atomic.Pointer[Conn]
	awake atomic.Bool
	depth int // of nested events: closing a connection is an event within one

	stopMu  sync.RWMutex // held for reading while the loop is being woken
	stopped bool         // guarded by stopMu: gnet's descriptors may be gone

	conns    *Conn // all connections, linked by prev and next
	clock    int64 // coarse: nanoseconds since the reactor began, as of the last sweep
	spare    *Request
	spares   int
	outboxes []*outbox
	scratch  ioScratch

	// The gate is full: nothing starts, and shut holds those that wanted to.
	gated    bool
	shut     []*Conn
	waiter   jobs.Waiter
	gateOpen atomic.Bool // set by the waiter on any goroutine
	reopened bool        // seen by the loop, which has yet to let those in shut go on

	starved []*Conn // wait for memory; looked at by each sweep
}

func newLoop(r *Reactor, events gnet.EventLoop) *loop {
	l := &loop{r: r, events: events, arena: arena{pool: r.o.Slabs}, clock: r.now()}
	l.waiter.Init(func() {
		l.gateOpen.Store(true)
		l.poke()
	})
	return l
}

func (r *Reactor) now() int64 { return int64(time.Since(r.begun)) }

// Run is a wake-up; gnet calls it on the loop.
func (l *loop) Run(context.Context) error {
	l.enter()
	l.leave()
	return nil
}

// enter begins an event: from here on nobody needs to wake the loop.
func (l *loop) enter() {
	if l.depth++; l.depth == 1 {
		l.awake.Store(true)
	}
}

// leave ends an event with what has become ready meanwhile, on this goroutine or on
// others. The order matters: first awake is cleared, then the list is looked at once
// more; post does the two steps the other way round. So whoever comes later sees the
// other, and no wake-up is lost.
func (l *loop) leave() {
	if l.depth > 1 {
		l.depth--
		return
	}
	for round := 0; ; round++ {
		if round == drainRounds {
			l.wake() // awake stays set, so that nobody else does
			break
		}
		l.drain()
		l.awake.Store(false)
		if !l.pending() || !l.awake.CompareAndSwap(false, true) {
			break
		}
	}
	l.depth--
}

func (l *loop) pending() bool {
	return l.ready.Load() != nil || l.gateOpen.Load() || l.reopened
}

// post links a connection into the list. The caller has set c.queued.
func (l *loop) post(c *Conn) {
	for {
		head := l.ready.Load()
		c.nextReady = head
		if l.ready.CompareAndSwap(head, c) {
			break
		}
	}
	l.poke()
}

// poke wakes the loop unless it is awake.
func (l *loop) poke() {
	if !l.awake.Load() && l.awake.CompareAndSwap(false, true) {
		l.wake()
	}
}

// wake makes Run happen. After stop it does nothing: gnet closes its wake-up
// descriptor before it refuses to write to it, and the number may be someone else's.
func (l *loop) wake() { l.do(l) }

func (l *loop) do(task gnet.Runnable) bool {
	l.stopMu.RLock()
	defer l.stopMu.RUnlock()
	return !l.stopped && l.events.Execute(context.Background(), task) == nil
}

// call runs f on the loop as an event and returns when it is done. False: the loop is
// stopped. Not to be called on the loop.
func (l *loop) call(f func()) bool {
	done := make(chan struct{})
	ok := l.do(gnet.RunnableFunc(func(context.Context) error {
		l.enter()
		f()
		l.leave()
		close(done)
		return nil
	}))
	if ok {
		<-done
	}
	return ok
}

// stop makes sure that nobody touches gnet's descriptors from now on.
func (l *loop) stop() {
	l.stopMu.Lock()
	l.stopped = true
	l.stopMu.Unlock()
}

// drain lets all connections go on that have become ready. They come off the stack in
// reverse order; the first to be ready shall be the first.
func (l *loop) drain() {
	if l.isGated(); l.reopened {
		l.reopened = false
		l.resume(&l.shut)
	}
	var first *Conn
	for c := l.ready.Swap(nil); c != nil; {
		c.nextReady, first, c = first, c, c.nextReady
	}
	for c := first; c != nil; {
		next := c.nextReady
		c.nextReady = nil
		// First the flag, then the look: whoever makes something ready from here on
		// posts the connection again.
		c.queued.Store(false)
		c.turn()
		c = next
	}
}

// resume lets connections go on that waited for something all of them share. Those
// that have to wait again come into the list anew.
func (l *loop) resume(list *[]*Conn) {
	waiting := *list
	*list = nil
	for i, c := range waiting {
		waiting[i] = nil
		c.enlisted = false
		c.turn()
	}
	if len(*list) == 0 {
		*list = waiting[:0]
	}
}

// enlist puts a connection into a list that resume works off.
func (l *loop) enlist(list *[]*Conn, c *Conn) {
	if !c.enlisted {
		c.enlisted = true
		*list = append(*list, c)
	}
}

// adopt and forget keep the list of connections.
func (l *loop) adopt(c *Conn) {
	if c.next = l.conns; c.next != nil {
		c.next.prev = c
	}
	l.conns = c
}

func (l *loop) forget(c *Conn) {
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.conns = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
}

// each calls f for each connection; f may close the one it is called with.
func (l *loop) each(f func(*Conn)) {
	for c := l.conns; c != nil; {
		next := c.next
		f(c)
		c = next
	}
}

// request takes a spare request or makes one.
func (l *loop) request(c *Conn) *Request {
	r := l.spare
	if r == nil {
		r = new(Request)
	} else {
		l.spare, r.next = r.next, nil
		l.spares--
	}
	r.conn = c
	r.state.Store(stateOpen)
	return r
}

// recycle takes back a request that is answered and whose answer is on its way.
func (l *loop) recycle(r *Request) {
	r.reset()
	if l.spares < spareRequestsMax {
		r.next, l.spare = l.spare, r
		l.spares++
	}
}

func (l *loop) outbox() *outbox {
	if n := len(l.outboxes); n > 0 {
		o := l.outboxes[n-1]
		l.outboxes = l.outboxes[:n-1]
		return o
	}
	return new(outbox)
}

func (l *loop) putOutbox(o *outbox) {
	if len(l.outboxes) < spareOutboxesMax {
		l.outboxes = append(l.outboxes, o)
	}
}
