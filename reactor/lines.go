package reactor

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"millrace/protocol"
	"millrace/slab"
)

// cutLine takes a line, or what is there of it, off b and returns its length. Console
// lines are few and short, so they are copied without further thought.
func (c *Conn) cutLine(b []byte, _ *slab.Slab) int {
	p, end := &c.part, bytes.IndexByte(b, '\n')
	whole := end >= 0
	if !whole {
		end = len(b)
	}
	used := min(end+1, len(b))
	if c.skippingLine {
		c.skippingLine = !whole
		return used
	}
	limit := c.listener.o.FrameBytesMax
	room := limit + 1 - len(p.frame) // 1 for CR
	if bytes.IndexByte(b[:min(end, room)], 0) >= 0 {
		c.doomGarbage(describeLine(append(p.frame, b[:end]...)), b)
		return used
	}
	if end > room {
		p.frame, c.skippingLine = nil, !whole
		c.badLine(fmt.Sprintf("a line is at most %d bytes long", limit))
		return used
	}
	if !whole {
		if len(p.frame) == 0 {
			c.halfSince = c.loop.clock
		}
		p.frame = append(p.frame, b...)
		return used
	}
	line := b[:end]
	if len(p.frame) > 0 {
		line = append(p.frame, line...)
		p.frame = nil
	}
	c.line(bytes.TrimSuffix(line, []byte("\r")))
	return used
}

// line delivers a complete line if it is one.
func (c *Conn) line(line []byte) {
	switch {
	case !c.sentAny && httpRequestLine(line):
		c.doomGarbage(describeLine(line), line)
	case len(line) > c.listener.o.FrameBytesMax:
		c.badLine(fmt.Sprintf("a line is at most %d bytes long", c.listener.o.FrameBytesMax))
	case !utf8.Valid(line):
		c.badLine("a line must be UTF-8")
	default:
		c.deliver(line, nil, false)
	}
}

// badLine answers a line that never becomes a request, in its turn.
func (c *Conn) badLine(reason string) {
	r := c.loop.request(c)
	c.sentAny = true
	c.turns++
	r.overlaps = true // nothing has to wait for it
	r.reply = protocol.NewReply()
	r.reply.Buf.B = append(r.reply.Buf.B, c.listener.o.BadLine(reason)...)
	r.outcome = replied
	r.state.Store(stateAnswered)
	c.append(r)
	c.collect()
}
