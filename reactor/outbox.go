package reactor

import (
	"errors"

	"millrace/protocol"
	"millrace/slab"

	"github.com/valyala/bytebufferpool"
	"golang.org/x/sys/unix"
)

const (
	// mergeBytesMax is the largest answer that is copied behind the one before it, so
	// that many go out in one piece; mergedBytesMax is when the next piece begins. A
	// backlog of small pieces would cost more to send than to copy.
	mergeBytesMax  = 4 << 10
	mergedBytesMax = 64 << 10
	// sendBytesMax is about the most that is sent to one connection in one event.
	sendBytesMax = 8 << 20
	// piecesMax is how many pieces one writev takes; more is an error of the kernel's.
	piecesMax = 1024
)

// piece is a run of bytes to be sent, never empty. It holds one reference on slab, if
// it lies in one, and gives buf back when it is sent.
type piece struct {
	b    []byte
	slab *slab.Slab
	buf  *bytebufferpool.ByteBuffer
	open bool // b ends where buf ends, and more may be written behind it
}

// outbox is what a connection has yet to send. Only connections that have something
// to send have one.
type outbox struct {
	pieces []piece
	head   int // pieces before it are sent
	bytes  int64
}

// add takes over a reply.
func (o *outbox) add(r protocol.Reply) {
	n := r.Len()
	o.bytes += int64(n)
	if n <= mergeBytesMax {
		if last := o.last(); last != nil && last.open && len(last.buf.B)+n <= mergedBytesMax {
			from := len(last.buf.B) - len(last.b)
			last.buf.B = r.AppendTo(last.buf.B)
			last.b = last.buf.B[from:]
			r.Release()
			return
		}
	}
	o.addPieces(&r)
}

func (o *outbox) last() *piece {
	if o.head == len(o.pieces) {
		return nil
	}
	return &o.pieces[len(o.pieces)-1]
}

// addPieces takes a reply apart: its text and views become pieces with the references
// they have, so that each is given back when it is sent and not when all are.
func (o *outbox) addPieces(r *protocol.Reply) {
	var text []byte
	if r.Buf != nil {
		text = r.Buf.B
	}
	from := 0
	for i := range r.Views {
		v := &r.Views[i]
		if v.At > from {
			o.pieces = append(o.pieces, piece{b: text[from:v.At]})
			from = v.At
		}
		if len(v.Bytes) > 0 {
			o.pieces = append(o.pieces, piece{b: v.Bytes, slab: v.Slab})
			v.Slab = nil
		}
	}
	if from < len(text) {
		o.pieces = append(o.pieces, piece{b: text[from:], buf: r.Buf, open: true})
		r.Buf = nil
	} else if len(text) > 0 {
		// The text ends before the last view, which then is what gives the buffer back.
		o.last().buf = r.Buf
		r.Buf = nil
	}
	r.Release()
}

// send writes until all is sent, the socket is full or the others shall have their
// turn; full tells the second from the third.
func (o *outbox) send(fd int, scratch *ioScratch) (sent int64, full bool, err error) {
	for o.bytes > 0 && sent < sendBytesMax {
		n, err := scratch.writev(fd, o.pieces[o.head:min(len(o.pieces), o.head+piecesMax)])
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return sent, true, nil
		case err != nil:
			return sent, false, err
		default:
			o.advance(n)
			sent += int64(n)
		}
	}
	return sent, false, nil
}

// advance gives back what the socket has taken.
func (o *outbox) advance(n int) {
	o.bytes -= int64(n)
	for n > 0 {
		p := &o.pieces[o.head]
		if n < len(p.b) {
			p.b = p.b[n:]
			break
		}
		n -= len(p.b)
		p.release()
		o.head++
	}
	switch {
	case o.head == len(o.pieces):
		o.pieces, o.head = o.pieces[:0], 0
		if cap(o.pieces) > piecesMax {
			o.pieces = nil
		}
	case o.head >= piecesMax:
		k := copy(o.pieces, o.pieces[o.head:])
		clear(o.pieces[k:])
		o.pieces, o.head = o.pieces[:k], 0
	}
}

func (p *piece) release() {
	if p.slab != nil {
		p.slab.Release()
	}
	if p.buf != nil {
		bytebufferpool.Put(p.buf)
	}
	*p = piece{}
}

// drop gives back what will not be sent.
func (o *outbox) drop() {
	for i := o.head; i < len(o.pieces); i++ {
		o.pieces[i].release()
	}
	o.pieces, o.head, o.bytes = o.pieces[:0], 0, 0
}
