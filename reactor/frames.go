package reactor

import (
	"encoding/binary"

	"millrace/slab"
)

const (
	sizeBytes = 4
	// headBytes is what must be there before a frame gets memory: its size, and the
	// API key and version, by which most of what isn't Kafka is seen.
	headBytes = sizeBytes + 4
	// frameBytesMin is the shortest request: key, version, correlation id.
	frameBytesMin = 8
)

// partial is where a connection stands inside a frame or a line.
type partial struct {
	head  [headBytes]byte // the first bytes of a frame that has no place yet
	nhead int

	frame []byte // what was received of the frame, without its size; capacity: the place it has now
	size  int    // of the whole frame; 0: not in a frame, or in a line, which is in frame
	slab  *slab.Slab
}

// begun says that more bytes must come before something is complete.
func (p *partial) begun() bool { return p.size > 0 || p.nhead > 0 || len(p.frame) > 0 }

func (p *partial) drop() {
	if p.slab != nil {
		p.slab.Release()
	}
	*p = partial{}
}

// receive takes bytes that lie in memory which is used again after the event.
func (c *Conn) receive(b []byte) {
	if len(c.rest) == 0 {
		b = c.cut(b, nil)
	}
	if len(b) > 0 {
		c.hold(b, nil)
	}
}

// cut takes requests off b for as long as the connection may start them and returns
// the bytes that it may not touch yet. A nil s says that b must be copied; otherwise b
// lies in s, and the caller holds a reference meanwhile.
func (c *Conn) cut(b []byte, s *slab.Slab) (rest []byte) {
	step := c.cutFrame
	if c.listener.o.Framing == Lines {
		step = c.cutLine
	}
	for len(b) > 0 && !c.blocked() {
		b = b[step(b, s):]
	}
	return b
}

// cutFrame takes the next piece of a frame off b and returns its length. 0 only if the
// connection is blocked now.
func (c *Conn) cutFrame(b []byte, s *slab.Slab) int {
	p := &c.part
	switch {
	case p.size > 0:
		return c.fill(b)
	case p.nhead > 0 || len(b) < headBytes:
		n := copy(p.head[p.nhead:], b)
		p.nhead += n
		if c.checkHead(p.head[:p.nhead]) && p.nhead == headBytes &&
			c.begin(frameSize(p.head[:]), p.head[sizeBytes:], nil) {
			p.nhead = 0
		}
		return n
	case !c.checkHead(b[:headBytes]):
		return len(b)
	}
	size := frameSize(b)
	if whole := sizeBytes + size; whole <= len(b) {
		c.deliver(b[sizeBytes:whole], s, false)
		return whole
	}
	if !c.begin(size, b[sizeBytes:], s) {
		return 0
	}
	return len(b)
}

func frameSize(b []byte) int { return int(int32(binary.BigEndian.Uint32(b))) }

// checkHead looks at the first bytes of a frame. If they can't be one, it dooms the
// connection. This stands before every allocation.
func (c *Conn) checkHead(head []byte) bool {
	if len(head) < sizeBytes {
		return true
	}
	what := garbage(head, c.listener.o.FrameBytesMax)
	if what != "" {
		c.doomGarbage(what, head)
	}
	return what == ""
}

// begin gives a frame of which have is there its place. False: there is no memory now.
func (c *Conn) begin(size int, have []byte, s *slab.Slab) bool {
	p, a := &c.part, &c.loop.arena
	var b []byte
	var err error
	if size <= sharedBytesMax {
		var ok bool
		if b, ok = a.extend(have, s, size); ok {
			p.slab = s
		} else if b, p.slab, err = a.reserve(size); err == nil {
			b = b[:copy(b, have)]
		}
	} else {
		// A connection that has sent a large frame before is believed again.
		n := min(size, max(growBytesMin, 4*len(have), min(c.provenBytes, provenBytesMax)))
		if b, p.slab, err = a.own(n); err == nil {
			b = b[:copy(b, have)]
		}
	}
	if err != nil {
		c.starve()
		return false
	}
	p.frame, p.size, c.halfSince = b, size, c.loop.clock
	return true
}

// grow gives the frame more room if it has none left but needs it. False: there is no
// memory now.
func (c *Conn) grow() bool {
	p := &c.part
	if len(p.frame) < cap(p.frame) {
		return true
	}
	b, s, err := c.loop.arena.own(min(p.size, 4*cap(p.frame)))
	if err != nil {
		c.starve()
		return false
	}
	n := copy(b, p.frame)
	p.slab.Release()
	p.frame, p.slab = b[:n], s
	return true
}

// fill copies what belongs to the frame at hand off b.
func (c *Conn) fill(b []byte) int {
	if !c.grow() {
		return 0
	}
	p := &c.part
	n := copy(p.frame[len(p.frame):cap(p.frame)], b)
	c.filled(n)
	return n
}

// filled notes n more bytes of the frame at hand.
func (c *Conn) filled(n int) {
	p := &c.part
	p.frame = p.frame[:len(p.frame)+n]
	if len(p.frame) < p.size {
		return
	}
	frame, s := p.frame, p.slab
	c.provenBytes = max(c.provenBytes, p.size)
	*p = partial{}
	c.deliver(frame, s, true)
}

// deliver makes a request of a complete frame. If the reference on s is handed over,
// it is the request's or is released. The connection must not be blocked.
func (c *Conn) deliver(frame []byte, s *slab.Slab, handed bool) {
	r := c.loop.request(c)
	c.sentAny = true
	c.turns++
	r.overlaps = c.listener.o.Handler.Overlaps(c.session, frame)
	r.place(frame, s, &c.loop.arena)
	if handed && r.slab != s {
		s.Release()
	} else if !handed && r.slab == s && s != nil {
		s.Retain()
	}
	if c.mayStart(r) {
		c.start(r)
	} else {
		c.waiting = r
	}
}

// place gives the frame the memory in which it is valid until it is answered. What
// doesn't overlap may be parked for long, and so goes where it keeps no one else's
// memory. Without memory it stays in s, or as the last resort goes to the heap: a
// request of which we have all bytes is never refused.
func (r *Request) place(frame []byte, s *slab.Slab, a *arena) {
	copied := copyBytesMax
	if !r.overlaps {
		copied = ownBytesMax
	}
	if len(frame) > copied {
		if s != nil && (r.overlaps || !wasteful(frame, s)) {
			r.frame, r.slab = frame, s
			return
		}
		get := a.own
		if r.overlaps {
			get = a.keep
		}
		if b, own, err := get(len(frame)); err == nil {
			copy(b, frame)
			r.frame, r.slab = b, own
			return
		}
		if s != nil {
			r.frame, r.slab = frame, s
			return
		}
	}
	r.own = append(r.own[:0], frame...)
	r.frame = r.own
}

// hold keeps bytes that were read but may not be cut yet. In place if they lie in s.
// They are few: the socket is paused when the event ends.
func (c *Conn) hold(b []byte, s *slab.Slab) {
	if c.doomed {
		return
	}
	n := len(c.rest) + len(b)
	switch {
	case n > heldBytesMax:
		c.doom("it goes on sending while its requests wait, and this system can't stop it")
		return
	case len(c.rest) == 0 && s != nil:
		s.Retain()
		c.rest, c.restSlab = b, s
		return
	}
	mem, own := c.loop.arena.aside(n)
	copy(mem[copy(mem, c.rest):], b)
	c.dropRest()
	c.rest, c.restSlab = mem, own
}

// aside returns memory for n bytes that wait: a slab, or the heap if they are few or
// the pool is used up.
func (a *arena) aside(n int) ([]byte, *slab.Slab) {
	if n > ownBytesMax {
		if b, s, err := a.own(n); err == nil {
			return b, s
		}
	}
	return make([]byte, n), nil
}

func (c *Conn) dropRest() {
	if c.restSlab != nil {
		c.restSlab.Release()
	}
	c.rest, c.restSlab = nil, nil
}
