package reactor

import (
	"millrace/protocol"
)

// cutsPerTurn bounds the requests that one connection starts in one event: a megabyte
// of the shortest frames is 87,000 of them.
const cutsPerTurn = 1024

// requestBytes is added to each frame in flight, or short frames in great numbers would
// take far more memory than the gate knows of.
const requestBytes = 256

// settle ends what an event has done to a connection: answers are taken in order, held
// bytes are looked at again, one write sends what is there, and reading is stopped or
// goes on.
func (c *Conn) settle() {
	if c.closed {
		return
	}
	c.collect()
	stop := c.goOn()
	if reason := c.closeAsked.Load(); reason != nil {
		c.doom(*reason)
	}
	c.flush()
	if c.doomed || c.lingering && c.inputDone && c.idle() {
		c.kill()
		return
	}
	c.account()
	c.steer(stop)
}

// turn is an event that has no bytes: an answer, room in the socket or in memory.
func (c *Conn) turn() {
	if c.closed {
		return
	}
	c.turns = 0
	c.noMemory = false
	if c.hasRoom.Swap(false) {
		c.armed = false
		if c.lingering && socketError(c.fd) != nil {
			c.doom("") // reset by the peer, and gnet isn't there to see it
		}
	}
	c.settle()
}

// goOn starts what may start now. It reports whether the connection is blocked.
func (c *Conn) goOn() bool {
	for !c.blocked() {
		switch {
		case len(c.rest) > 0:
			c.cutRest()
		case c.lingering && !c.inputDone:
			c.pull(pullBytesMax)
		default:
			return false
		}
	}
	return true
}

func (c *Conn) cutRest() {
	rest, s := c.rest, c.restSlab
	c.rest, c.restSlab = nil, nil
	rest = c.cut(rest, s)
	switch {
	case len(rest) > 0:
		c.rest, c.restSlab = rest, s
	case s != nil:
		s.Release()
	}
}

// blocked says that the connection may not start requests now, nor read more of them.
// Each reason has someone who lets it go on: the gate's waiter, the sweep, the next
// round, an answer, room in the socket.
func (c *Conn) blocked() bool {
	for {
		switch {
		case c.doomed || c.closeAsked.Load() != nil:
			return true
		case c.loop.isGated():
			c.loop.enlist(&c.loop.shut, c)
			return true
		case c.noMemory:
			return true
		case c.turns >= cutsPerTurn:
			c.notify()
			return true
		case c.requests >= c.listener.o.RequestsMax || c.choked():
			return true
		case c.waiting == nil:
			return false
		case !c.mayStart(c.waiting):
			return true
		}
		r := c.waiting
		c.waiting = nil
		c.start(r)
	}
}

// choked says that the client doesn't read its answers.
func (c *Conn) choked() bool {
	if c.out == nil {
		return false
	}
	if !c.overfull() {
		return false
	}
	c.flush()
	return c.doomed || c.out != nil && c.overfull()
}

// overfull says that the outbox holds more than it may, or something while all of them
// together hold more than they may. What this event has added counts already.
func (c *Conn) overfull() bool {
	n, o := c.out.bytes, &c.loop.r.o
	return n >= o.ConnOutboundBytesMax || n > 0 && c.loop.r.outbound.Load()-c.accounted+n >= o.OutboundBytesMax
}

// mayStart says whether a request may start while those before it are unanswered.
// What doesn't overlap starts alone, so looking at the first one is enough.
func (c *Conn) mayStart(r *Request) bool {
	return c.first == nil || r.overlaps && c.first.overlaps
}

// start hands a request to the handler.
func (c *Conn) start(r *Request) {
	l := c.loop
	c.append(r)
	r.gated = int64(len(r.frame)) + requestBytes
	full := l.r.gate.Add(r.gated)
	c.listener.o.Handler.Serve(r)
	c.collect()
	if full {
		l.gated = l.r.gate.Wait(&l.waiter)
	}
}

func (c *Conn) append(r *Request) {
	if c.last == nil {
		c.first = r
	} else {
		c.last.next = r
	}
	c.last = r
	c.requests++
}

// isGated says that the reactor has too many bytes in flight.
func (l *loop) isGated() bool {
	if l.gateOpen.Load() && l.gateOpen.Swap(false) {
		l.gated, l.reopened = false, true
	}
	return l.gated
}

// starve stops the connection until there is memory.
func (c *Conn) starve() {
	c.noMemory = true
	c.loop.enlist(&c.loop.starved, c)
}

// collect moves the answers whose turn it is into the outbox.
func (c *Conn) collect() {
	for r := c.first; r != nil && !c.doomed; r = c.first {
		// The state is looked at before the parts, as no part comes after the answer.
		answered := r.state.Load() == stateAnswered
		if r.hasParts.Load() {
			r.takeParts(c.box())
		}
		if !answered {
			return
		}
		if c.first = r.next; c.first == nil {
			c.last = nil
		}
		c.requests--
		c.take(r)
	}
}

// take ends a request whose turn it is.
func (c *Conn) take(r *Request) {
	switch r.outcome {
	case replied:
		c.box().add(r.reply)
		r.reply = protocol.Reply{}
	case failed:
		c.doom(r.reason)
	}
	c.loop.r.gate.Done(r.gated)
	r.free()
	c.loop.recycle(r)
}

func (c *Conn) box() *outbox {
	if c.out == nil {
		c.out = c.loop.outbox()
	}
	return c.out
}

// idle says that nothing is left to be done for what has come in.
func (c *Conn) idle() bool {
	return c.first == nil && c.waiting == nil && len(c.rest) == 0 && c.out == nil
}

// steer stops or resumes reading.
func (c *Conn) steer(stop bool) {
	if stop == c.paused || c.gc == nil || !c.loop.r.canPause {
		return
	}
	var err error
	if stop {
		err = c.loop.pauser.pause(c.fd)
	} else {
		err = c.loop.pauser.resume(c.fd)
		c.active = c.loop.clock // it wasn't the client who was quiet
	}
	if err != nil {
		c.doom("its reading can't be steered: " + err.Error())
		c.kill()
		return
	}
	c.paused = stop
}

// flush sends as much of the outbox as the socket takes.
func (c *Conn) flush() {
	if c.out == nil || c.armed {
		return
	}
	sent, full, err := c.out.send(c.fd, &c.loop.scratch)
	if sent > 0 {
		c.active = c.loop.clock
	}
	switch {
	case err != nil:
		c.doom("") // the client is gone
	case c.out.bytes == 0:
		c.loop.putOutbox(c.out)
		c.out = nil
	case !full:
		c.notify() // the others first
	default:
		if err := c.loop.r.writable.await(c, true); err != nil {
			c.doom("no way to wait for room in its socket: " + err.Error())
			return
		}
		c.armed = true
	}
}

// account tells the reactor how much of ours the socket hasn't taken.
func (c *Conn) account() {
	n := int64(0)
	if c.out != nil {
		n = c.out.bytes
	}
	if n != c.accounted {
		c.loop.r.outbound.Add(n - c.accounted)
		c.backlog.Store(n)
		c.accounted = n
	}
}
