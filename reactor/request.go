package reactor

import (
	"sync"
	"sync/atomic"

	"millrace/protocol"
	"millrace/slab"
)

// States of a request. The one who moves it on from open decides who cleans up.
const (
	stateFree      uint32 = iota // spare
	stateOpen                    // waiting, or with the handler
	stateAnswered                // the outcome is set; the loop takes it in its turn
	stateAbandoned               // the connection is gone; the handler's answer cleans up
)

type outcome uint8

const (
	replied outcome = iota
	dropped
	failed
)

// ownBytesMax is how much of a frame a request copies into memory of its own, which
// is kept for the next one. Frames below it hold no slab: that is cheaper than two
// atomic operations, and a small request that waits can't hold a large slab.
const (
	ownBytesMax  = 4 << 10
	copyBytesMax = 1 << 10 // the same for requests that overlap, which may stay in the slab
)

// Request is one frame and the slot in which its answer waits for its turn. It is
// valid until it is answered; then the reactor uses it again.
type Request struct {
	conn  *Conn
	next  *Request // in the connection's order, or in the list of spares
	frame []byte
	slab  *slab.Slab // frame lies in it, one reference; nil: in own
	own   []byte
	gated int64 // bytes that were added to the gate

	overlaps bool
	outcome  outcome
	reply    protocol.Reply
	reason   string
	state    atomic.Uint32

	hasParts  atomic.Bool
	mu        sync.Mutex
	parts     []protocol.Reply // pushed, not yet in the outbox; guarded by mu
	partBytes int64            // guarded by mu
}

// Frame returns the request's bytes: a Kafka frame without its size, or a line without
// its end. They may be read until the request is answered. Longer, if they lie in
// Slab and the caller retains it.
func (r *Request) Frame() []byte { return r.frame }

// Slab returns the slab that the frame lies in, or nil if it lies in the request
// itself, as small ones do. Who wants to keep a part of the frame calls Retain on it
// before the request is answered.
func (r *Request) Slab() *slab.Slab { return r.slab }

// Session returns what Handler.Open gave for the connection.
func (r *Request) Session() any { return r.conn.session }

// Conn returns the request's connection.
func (r *Request) Conn() *Conn { return r.conn }

// Reply answers the request. It takes over p, also if the connection is closed, and
// may be called from any goroutine. Neither p nor r may be used after it.
func (r *Request) Reply(p protocol.Reply) {
	r.reply = p
	r.answer(replied)
}

// Drop ends the request without an answer (acks=0). From any goroutine.
func (r *Request) Drop() { r.answer(dropped) }

// Fail closes the connection when the answers to the requests before this one have
// been given, with one log line that tells the reason. From any goroutine.
func (r *Request) Fail(reason string) {
	r.reason = reason
	r.answer(failed)
}

func (r *Request) answer(o outcome) {
	c := r.conn // once it is answered the loop may use r for something else
	r.outcome = o
	if r.state.CompareAndSwap(stateOpen, stateAnswered) {
		c.notify()
		return
	}
	if !r.state.CompareAndSwap(stateAbandoned, stateFree) {
		panic("reactor: a request was answered twice")
	}
	r.reply.Release()
	c.listener.r.gate.Done(r.gated)
	r.free()
}

// Push sends part of an answer that goes on; Reply or Drop ends it. It keeps the order
// of answers, takes over p and may be called from any goroutine, but not after the
// request is answered. False: p was not taken, as the connection is closed or its
// client doesn't read and more than ConnOutboundBytesMax wait for it.
func (r *Request) Push(p protocol.Reply) bool {
	c, n := r.conn, int64(p.Len())
	r.mu.Lock()
	waits := c.backlog.Load() + r.partBytes
	if r.state.Load() != stateOpen || waits > 0 && waits+n > c.listener.r.o.ConnOutboundBytesMax {
		r.mu.Unlock()
		p.Release()
		return false
	}
	r.parts = append(r.parts, p)
	r.partBytes += n
	r.hasParts.Store(true)
	r.mu.Unlock()
	c.notify()
	return true
}

// takeParts moves the pushed parts to the outbox, or releases them if there is none.
func (r *Request) takeParts(o *outbox) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hasParts.Store(false)
	for i := range r.parts {
		if o != nil {
			o.add(r.parts[i])
		} else {
			r.parts[i].Release()
		}
		r.parts[i] = protocol.Reply{}
	}
	r.parts, r.partBytes = r.parts[:0], 0
}

// abandon leaves the request to its handler, or cleans up if that has answered.
func (r *Request) abandon(l *loop) {
	if r.state.CompareAndSwap(stateOpen, stateAbandoned) {
		// Push looks at the state under the lock, so nothing comes after this.
		r.takeParts(nil)
		return
	}
	r.takeParts(nil)
	r.reply.Release()
	l.r.gate.Done(r.gated)
	r.free()
	l.recycle(r)
}

// free gives the frame back.
func (r *Request) free() {
	if poison {
		scribble(r.own[:cap(r.own)])
	}
	if r.slab != nil {
		r.slab.Release()
		r.slab = nil
	}
	r.frame = nil
}

// reset makes the request a spare one.
func (r *Request) reset() {
	r.state.Store(stateFree)
	r.conn, r.next, r.reply, r.reason, r.gated = nil, nil, protocol.Reply{}, "", 0
	r.overlaps = false
	if r.own = r.own[:0]; cap(r.own) > ownBytesMax {
		r.own = nil
	}
	if cap(r.parts) > 16 {
		r.parts = nil
	}
}
