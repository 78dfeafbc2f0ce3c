package link

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"net"
	"time"

	"go.uber.org/zap"

	"millrace/protocol"
	"millrace/protocol/kafka"
)

// conn is one connection of a Link. Answers come in the order of the requests, so one goroutine reads them all.
type conn struct {
	link    *Link
	nc      net.Conn
	unwatch func() bool // the link's Close closes nc no more

	// Guarded by the link's mutex.
	sent     []expected // requests whose answers are to come
	patience time.Duration
	broken   bool
}

// expected is an answer that is to come.
type expected struct {
	kind     kind
	id       int32 // the correlation id
	sizeMax  int
	snapshot *snapshotAsk
}

type kind uint8

const (
	kindFetch    kind = iota // the link's fetch
	kindSnapshot             // snapshot
	kindHurry                // nobody reads it
)

const (
	// What an answer may be larger than the records that were asked for: the rest of it, and a first batch that is over the
	// limit. More is no answer of a broker's. Neither is memory that is made before the bytes are there.
	answerBytesMore  = 64 << 20
	snapshotBytesMax = 256 << 20
	hurryBytesMax    = 64 << 10

	readBytes = 4 << 10 // read at once: many an answer is smaller
)

// send writes requests whose answers are expected. Whatever becomes of them, the expected are completed.
func (c *conn) send(frames []byte, expect []expected, patience time.Duration) {
	l := c.link
	l.mu.Lock()
	broken := c.broken
	if !broken {
		c.sent = append(c.sent, expect...)
		c.patience = max(patience, requestTimeout)
		c.await()
	}
	l.mu.Unlock()
	if broken {
		l.failed(expect, net.ErrClosed)
		return
	}
	c.nc.SetWriteDeadline(time.Now().Add(requestTimeout))
	if _, err := c.nc.Write(frames); err != nil {
		c.fail(err)
	}
}

// await says how long the connection may be silent.
func (c *conn) await() {
	var until time.Time
	if len(c.sent) > 0 {
		until = time.Now().Add(c.patience)
	}
	c.nc.SetReadDeadline(until)
}

// fail ends the connection and whatever waits for its answers.
func (c *conn) fail(err error) {
	l := c.link
	l.mu.Lock()
	sent := c.sent
	c.sent, c.broken = nil, true
	if l.conn == c {
		l.conn = nil
	}
	l.mu.Unlock()
	c.unwatch()
	c.nc.Close()
	l.o.Log.Debug("connection to a broker ended", zap.Stringer("address", c.nc.RemoteAddr()), zap.Error(err))
	l.failed(sent, err)
}

// read is the goroutine that takes the answers in.
func (c *conn) read() {
	in := bufio.NewReaderSize(c.nc, readBytes)
	progress := func() { c.progress(in) }
	for {
		if err := c.take(in, progress); err != nil {
			c.fail(err)
			return
		}
	}
}

// progress allows the peer as much time again for the next piece of a large answer.
func (c *conn) progress(in *bufio.Reader) {
	if in.Buffered() == 0 {
		c.nc.SetReadDeadline(time.Now().Add(requestTimeout))
	}
}

// take takes one answer in.
func (c *conn) take(in *bufio.Reader, progress func()) error {
	head, err := in.Peek(4 + 4)
	if err != nil {
		return err
	}
	size, id := int(binary.BigEndian.Uint32(head)), int32(binary.BigEndian.Uint32(head[4:]))
	e, ok := c.first()
	switch {
	case !ok || e.id != id || size < 4:
		return errUnasked
	case size > e.sizeMax:
		return errAnswerLarge
	}
	in.Discard(4)
	if e.kind == kindHurry {
		_, err := in.Discard(size)
		c.pop()
		return err
	}
	a := c.link.answer()
	if err := a.read(in, size, progress); err != nil {
		c.link.release(a)
		return err
	}
	if e.kind == kindSnapshot {
		return c.snapshot(e.snapshot, a)
	}
	return c.fetched(a)
}

func (c *conn) first() (expected, bool) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if len(c.sent) == 0 {
		return expected{}, false
	}
	return c.sent[0], true
}

// pop takes the first of the expected answers off; it is the caller's to complete. false: somebody else has.
func (c *conn) pop() bool {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.broken {
		return false
	}
	n := copy(c.sent, c.sent[1:])
	c.sent[n] = expected{}
	c.sent = c.sent[:n]
	c.await()
	return true
}

// fetched completes the link's fetch with an answer.
func (c *conn) fetched(a *answer) error {
	l := c.link
	if !c.pop() {
		l.release(a)
		return nil
	}
	r := l.takeFetch()
	found, code, session, err := a.parse(r.Found[:0])
	switch {
	case err != nil:
		c.fail(err) // before the next fetch is sent here
		l.session.failed()
		r.Err = err
	case code != protocol.None:
		l.session.failed()
		r.Err = errorOf(code)
	default:
		l.session.answered(session)
	}
	if r.Found = found; r.Err != nil {
		r.Found = found[:0]
	}
	if len(r.Found) == 0 {
		l.release(a)
	} else {
		r.Free = a.free
	}
	r.Done(r)
	return err
}

func (c *conn) snapshot(ask *snapshotAsk, a *answer) error {
	_, code, content, err := kafka.SnapshotAnswer(a.bytes)
	content = bytes.Clone(content)
	c.link.release(a)
	if err != nil || !c.pop() {
		return err
	}
	if code != protocol.None {
		content = nil
	}
	ask.done(content, errorOf(code))
	return nil
}
