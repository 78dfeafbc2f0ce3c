package reactor

import (
	"errors"

	"golang.org/x/sys/unix"
)

const (
	// pullBytesMax is about the most that one event reads from one connection. Less
	// costs more per byte (floor of 1 MiB requests), more keeps the others waiting.
	pullBytesMax = 4 << 20
	// pullRoomMin is the least that is offered to the kernel behind the frame at hand.
	pullRoomMin = 64 << 10
	// heldBytesMax bounds what one connection has read and may not cut. It is reached
	// only where the poller can't pause.
	heldBytesMax = 4 << 20
)

// pull reads from the socket until it is empty, the budget is used or the connection
// may not start more. Each byte goes straight to its place: the rest of the frame at
// hand first, then whatever follows at the loop's cursor. gnet's read stands before
// it, so it costs nothing while little comes in.
func (c *Conn) pull(budget int) {
	for budget > 0 && len(c.rest) == 0 && !c.blocked() {
		// Reading past the gate and stopping afterwards would let each connection put
		// a whole budget on top of the limit.
		allowed := min(budget, max(int(min(c.loop.r.gate.Room(), pullBytesMax)), pullRoomMin))
		n, more := c.pullOnce(allowed)
		if !more {
			return
		}
		budget -= n
	}
}

// pullOnce does one readv. More says that there may be more to read.
func (c *Conn) pullOnce(allowed int) (n int, more bool) {
	l, p := c.loop, &c.part
	var missing, room []byte
	if p.size > 0 {
		if !c.grow() {
			return 0, false
		}
		missing = p.frame[len(p.frame):cap(p.frame)]
	}
	held := 0
	if p.size == 0 || cap(p.frame) == p.size {
		var err error
		switch room, err = l.arena.room(pullRoomMin); {
		case err == nil:
			if p.size == 0 && c.listener.o.Framing == Frames {
				held = copy(room, p.head[:p.nhead])
			}
			room = room[:min(len(room), held+allowed)]
		case len(missing) == 0:
			c.starve()
			return 0, false
		}
	}
	want := len(missing) + len(room) - held
	n, err := l.scratch.readv(c.fd, missing, room[held:])
	switch {
	case errors.Is(err, unix.EINTR):
		return 0, true
	case errors.Is(err, unix.EAGAIN):
		c.inputDone = c.lingering // can't be; but who lingers has no one to wake it
		return 0, false
	case err != nil:
		c.doom("")
		return 0, false
	case n == 0:
		// gnet sees the end too and closes; if it is out of it already, this is for us.
		c.inputDone = c.lingering
		return 0, false
	}
	c.active = l.clock
	c.pulled(n, held, len(missing), room)
	return n, n == want || c.lingering
}

// pulled shares n bytes out that were read: to the frame at hand, which lacked missing
// bytes, and behind the held bytes of a head at the start of room.
func (c *Conn) pulled(n, held, missing int, room []byte) {
	a, first := &c.loop.arena, min(n, missing)
	if n -= first; n == 0 {
		c.filled(first)
		return
	}
	// The bytes are taken before anything can happen that takes some itself.
	s := a.cur
	s.Retain()
	a.off += held + n
	if first > 0 {
		c.filled(first)
	}
	c.part.nhead = 0
	if rest := c.cut(room[:held+n], s); len(rest) > 0 {
		c.hold(rest, s)
	}
	s.Release()
}
