package protocol

import (
	"sync"

	"millrace/slab"

	"github.com/valyala/bytebufferpool"
)

// View is a piece of an answer that is sent from where it lies. It holds one
// reference on Slab; a nil Slab means that Bytes are plain memory which nobody
// changes, such as a cached answer.
type View struct {
	At    int // Bytes are sent before Buf.B[At:]
	Bytes []byte
	Slab  *slab.Slab
}

// Reply is one answer: the bytes of a Kafka frame with its leading size of four bytes,
// or console text. The zero Reply is empty and takes views and text as they come.
type Reply struct {
	Buf   *bytebufferpool.ByteBuffer // nil: no text yet
	Views []View                     // ordered by At

	box *viewBox // where Views came from; nil: the maker brought it along
}

// viewBox lends a Reply the array under its views. Most fetches have few views, so
// the pool's arrays stay small; a large one is left to the collector.
type viewBox struct{ views []View }

const boxViewsMax = 256

var boxes = sync.Pool{New: func() any { return &viewBox{views: make([]View, 0, 16)} }}

// NewReply returns an empty reply with a buffer from the pool.
func NewReply() Reply { return Reply{Buf: bytebufferpool.Get()} }

// Len returns the number of bytes that go out, text and views.
func (r *Reply) Len() int {
	n := 0
	if r.Buf != nil {
		n = len(r.Buf.B)
	}
	for i := range r.Views {
		n += len(r.Views[i].Bytes)
	}
	return n
}

// View appends b, a part of s, at the place where the text has arrived. The reply
// takes a reference of its own; the caller keeps its one. A nil slab means plain
// memory that nobody changes until the reply is released.
func (r *Reply) View(b []byte, s *slab.Slab) {
	if s != nil {
		s.Retain()
	}
	r.Adopt(View{Bytes: b, Slab: s})
}

// Adopt appends a view at the place where the text has arrived and takes over the
// reference that the caller has on its slab. What At says doesn't matter.
func (r *Reply) Adopt(v View) {
	v.At = 0
	if r.Buf != nil {
		v.At = len(r.Buf.B)
	}
	if r.Views == nil {
		r.box = boxes.Get().(*viewBox)
		r.Views = r.box.views
	}
	r.Views = append(r.Views, v)
}

// Chunks appends the pieces of the reply to dst in the order in which they go out,
// without empty ones. They are valid until Release.
func (r *Reply) Chunks(dst [][]byte) [][]byte {
	var text []byte
	if r.Buf != nil {
		text = r.Buf.B
	}
	from := 0
	for i := range r.Views {
		v := &r.Views[i]
		dst = appendChunk(dst, text[from:v.At])
		dst = appendChunk(dst, v.Bytes)
		from = v.At
	}
	return appendChunk(dst, text[from:])
}

func appendChunk(dst [][]byte, b []byte) [][]byte {
	if len(b) == 0 {
		return dst
	}
	return append(dst, b)
}

// AppendTo appends a copy of all bytes of the reply to dst.
func (r *Reply) AppendTo(dst []byte) []byte {
	var few [8][]byte
	for _, b := range r.Chunks(few[:0]) {
		dst = append(dst, b...)
	}
	return dst
}

// Release gives buffer and references back and leaves the reply empty. A second call
// on the same Reply does nothing; on a copy of it, it is a programmer error that can't
// be seen here.
func (r *Reply) Release() {
	for i := range r.Views {
		if s := r.Views[i].Slab; s != nil {
			s.Release()
		}
	}
	clear(r.Views)
	if r.box != nil && cap(r.Views) <= boxViewsMax {
		r.box.views = r.Views[:0]
		boxes.Put(r.box)
	}
	if r.Buf != nil {
		bytebufferpool.Put(r.Buf)
	}
	*r = Reply{}
}
