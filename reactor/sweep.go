package reactor

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
	"go.uber.org/zap"
)

// sweep looks at all connections from time to time. That is dearer than a queue sorted
// by deadline, 20 ns a connection, but an event then needs neither a clock nor a list.
func (r *Reactor) sweep() {
	defer close(r.sweepDone)
	ticker := time.NewTicker(r.o.SweepInterval)
	defer ticker.Stop()
	busy := make([]atomic.Bool, len(r.loops))
	for quiet := 0; ; {
		select {
		case <-r.sweepStop:
			return
		case <-ticker.C:
		}
		// A while after the last connection the loops have given everything back.
		if quiet++; r.conns.Load() > 0 {
			quiet = 0
		} else if quiet > 2*arenaSweepsMax {
			continue
		}
		for i, l := range r.loops {
			if !busy[i].CompareAndSwap(false, true) {
				continue // the loop is behind; once is enough
			}
			l.do(gnet.RunnableFunc(func(context.Context) error {
				busy[i].Store(false)
				l.enter()
				l.sweep()
				l.leave()
				return nil
			}))
		}
	}
}

func (l *loop) sweep() {
	l.clock = l.r.now()
	l.each((*Conn).sweep)
	l.resume(&l.starved)
	l.arena.sweep()
}

// sweep closes the connection if one of its times is over, and otherwise moves out
// what keeps more memory than it is worth.
func (c *Conn) sweep() {
	o, interval := &c.listener.o, int64(c.loop.r.o.SweepInterval)
	// The clock may be late by an interval; better late than early.
	now := c.loop.clock - interval
	quiet, age := now-c.active, now-c.openedAt
	over := func(d time.Duration, t int64) bool { return d > 0 && t > int64(d) }
	switch {
	case c.lingering && c.lingered():
		c.doom("")
	case c.out != nil && over(o.IdleTimeout, quiet):
		c.doom("it doesn't read its answers", zap.Int64("unsent_bytes", c.out.bytes))
	case c.paused && endUnseen(c.fd):
		// gnet doesn't look at a paused socket; tell it what it would have seen.
		c.sawEnd = true
		_ = c.loop.events.Close(c.gc)
		return
	case !c.sentAny && !c.paused && over(o.FirstRequestTimeout, age):
		c.doom("it never sent a request", zap.Duration("for", time.Duration(age)))
	case c.noMemory && over(o.HalfRequestTimeout, quiet):
		// Or connections that hold halves would wait for each other for ever.
		c.doom("there was no memory for its request", zap.Duration("for", time.Duration(quiet)))
	case c.part.begun() && !c.paused && over(o.HalfRequestTimeout, quiet):
		c.doom("it stopped in the middle of a request", zap.Int("received_bytes", len(c.part.frame)),
			zap.Int("of_bytes", c.part.size))
	case c.idle() && over(o.IdleTimeout, quiet):
		c.listener.log.Debug("closing idle connection", zap.Stringer("client", c.remote))
		c.doom("")
	}
	if c.doomed {
		c.kill()
		return
	}
	if now > c.halfSince {
		c.moveOut()
	}
}

// moveOut takes what has waited for a while out of slabs that it shares with others,
// so that ten thousand halves of a frame can't hold ten thousand slabs.
func (c *Conn) moveOut() {
	a := &c.loop.arena
	if p := &c.part; wasteful(p.frame, p.slab) {
		if b, s, err := a.own(min(p.size, max(4*len(p.frame), 4<<10))); err == nil {
			b = b[:copy(b, p.frame)]
			p.slab.Release()
			p.frame, p.slab = b, s
		}
	}
	if wasteful(c.rest, c.restSlab) {
		b, s := a.aside(len(c.rest))
		copy(b, c.rest)
		c.dropRest()
		c.rest, c.restSlab = b, s
	}
	if r := c.waiting; r != nil && wasteful(r.frame, r.slab) {
		if b, s, err := a.own(len(r.frame)); err == nil {
			copy(b, r.frame)
			r.slab.Release()
			r.frame, r.slab = b, s
		}
	}
}

// end is what the connection ended with, as far as lingering is concerned.
func (c *Conn) end(err error) error {
	if c.sawEnd {
		return io.EOF
	}
	return err
}
