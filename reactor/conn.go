package reactor

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"sync/atomic"

	"millrace/slab"

	"github.com/panjf2000/gnet/v2"
	"go.uber.org/zap"
)

// Handler is what a listener does with requests. All methods run on the connection's
// loop: they must not block, and what they do holds up other connections. A panic in
// them ends the process.
type Handler interface {
	// Open begins a connection and gives what the other methods get back.
	Open(c *Conn) (session any)

	// Overlaps is asked once for each frame, as soon as it is complete: may it start
	// while earlier requests that overlap aren't answered (Produce)? Everything else
	// starts when all before it is answered, one after the other, as on Apache Kafka.
	// It is asked even if the frame then has to wait, so a request that goes on until
	// the next line comes in (WATCH) learns of that line here. The frame is valid
	// during the call only.
	//
	// Requests that overlap may keep their frame in memory that many share; they
	// should be answered soon. The frames of others are moved out and may wait.
	Overlaps(session any, frame []byte) bool

	// Serve starts a request. It must lead to exactly one call of Reply, Drop or Fail,
	// now or later, also when the connection is closed meanwhile.
	Serve(r *Request)

	// Close ends a connection, once. What is still parked for it should be dropped
	// here: nobody will see the answers.
	Close(session any)
}

// Conn is one connection. Its methods are safe from any goroutine.
type Conn struct {
	id       uint64
	listener *Listener
	local    netip.AddrPort
	remote   netip.AddrPort

	// Any goroutine.
	queued     atomic.Bool // in the loop's ready list, or about to be
	nextReady  *Conn       // owned by whoever set queued, then by the loop
	closeAsked atomic.Pointer[string]
	hasRoom    atomic.Bool  // the socket can take more
	backlog    atomic.Int64 // bytes in the outbox, for Push

	// The rest is the loop's.
	loop       *loop
	gc         gnet.Conn // nil once gnet has closed it
	fd         int       // -1 when closed
	session    any
	prev, next *Conn // of the loop's list

	part     partial    // the frame that is being received
	rest     []byte     // bytes that were read and may not be cut yet
	restSlab *slab.Slab // holds rest by one reference; nil: plain memory

	first, last *Request // started and not answered, in order
	waiting     *Request // complete, may not start yet
	requests    int      // from first to last
	turns       int      // frames that were cut in this event

	out       *outbox // nil: nothing to send
	accounted int64   // part of the reactor's outbound that is ours

	opening      bool // between accept and opened
	closed       bool
	doomed       bool // to be closed as soon as this event's answers are sent
	sentAny      bool // a frame has come in
	paused       bool // gnet's poller doesn't look at the socket
	armed        bool // waiting for room in the socket
	enlisted     bool // in one of the loop's lists of waiting connections
	noMemory     bool // the slab pool refused
	lingering    bool // the peer has sent its last byte; gnet is out of it
	inputDone    bool // and we have read it
	sawEnd       bool // the sweep saw it before gnet
	halfSince    int64
	active       int64 // loop's clock when bytes moved last
	openedAt     int64
	lingerSince  int64
	provenBytes  int // largest frame that was received whole
	skippingLine bool
}

// ID returns a number that no other connection of the reactor has or had.
func (c *Conn) ID() uint64 { return c.id }

// LocalAddr returns the address that the client reached us by.
func (c *Conn) LocalAddr() netip.AddrPort { return c.local }

// RemoteAddr returns the client's address.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.remote }

// Close closes the connection soon. Answers that were given before it, and wait for no
// other, go out as far as the socket takes them at once. A reason makes one log line,
// an empty one makes none. Only the first call counts.
func (c *Conn) Close(reason string) {
	if c.closeAsked.CompareAndSwap(nil, &reason) {
		c.notify()
	}
}

// notify puts the connection into its loop's list: something about it has changed.
func (c *Conn) notify() {
	if !c.queued.Load() && c.queued.CompareAndSwap(false, true) {
		c.loop.post(c)
	}
}

// opened begins the connection on its loop.
func (c *Conn) opened(gc gnet.Conn) gnet.Action {
	l := c.listener.r.loopOf(gc.EventLoop())
	l.enter()
	defer l.leave()
	l.clock = l.r.now() // while no one is connected nobody sweeps
	c.loop, c.gc, c.fd, c.opening = l, gc, gc.Fd(), false
	c.openedAt, c.active = l.clock, l.clock
	l.adopt(c)
	l.r.conns.Add(1)
	c.session = c.listener.o.Handler.Open(c)
	return gnet.None
}

// traffic takes what gnet has read. Next(-1) leaves nothing behind, so gnet's own
// buffer, which grows without bound, stays empty.
func (c *Conn) traffic(gc gnet.Conn) {
	l := c.loop
	l.enter()
	chunk, _ := gc.Next(-1)
	c.active = l.clock
	c.turns = 0
	c.receive(chunk)
	if len(chunk) == readBufferBytes {
		c.pull(pullBytesMax)
	}
	c.settle()
	l.leave()
}

// gone is called before gnet closes the descriptor, so it can still be saved.
func (c *Conn) gone(err error) {
	l := c.loop
	l.enter()
	c.gc = nil
	if !c.linger(c.end(err)) {
		c.finish()
	}
	l.leave()
}

// doom notes that the connection shall be closed, and why if that is worth a line.
func (c *Conn) doom(reason string, fields ...zap.Field) {
	if c.doomed || c.closed {
		return
	}
	c.doomed = true
	if reason != "" {
		c.listener.log.Warn("closing connection: "+reason, append(fields,
			zap.Stringer("client", c.remote), zap.Uint64("connection", c.id))...)
	}
}

// doomGarbage is doom for bytes that are not what the listener is for.
func (c *Conn) doomGarbage(what string, head []byte) {
	head = head[:min(len(head), 16)]
	c.doom("not "+c.listener.o.Framing.language(), zap.String("looks_like", what),
		zap.String("first_bytes", hex.EncodeToString(head)), zap.String("as_text", printable(head)))
}

// printable shows bytes as text, with a dot for what isn't.
func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, string(b))
}

// kill closes the connection now.
func (c *Conn) kill() {
	switch {
	case c.closed:
	case c.gc != nil:
		c.doomed = true // or gone would let it linger
		_ = c.loop.events.Close(c.gc)
	default:
		c.finish()
	}
}

// finish ends the connection: everything it holds goes back, except what a handler
// still works on. If gnet is out of it already, the descriptor is ours to close.
func (c *Conn) finish() {
	l, fd := c.loop, c.fd
	c.closed, c.doomed = true, true
	l.r.writable.forget(c)
	c.fd = -1
	if c.lingering {
		closeFD(fd)
	}
	l.forget(c)
	for r := c.first; r != nil; {
		next := r.next
		r.abandon(l)
		r = next
	}
	if c.waiting != nil {
		c.waiting.free()
		l.recycle(c.waiting)
	}
	c.first, c.last, c.waiting = nil, nil, nil
	c.part.drop()
	c.dropRest()
	if c.out != nil {
		c.out.drop()
		l.putOutbox(c.out)
		c.out = nil
	}
	c.account()
	l.r.conns.Add(-1)
	c.listener.o.Handler.Close(c.session)
	c.listener.release(c.remote.Addr())
}
