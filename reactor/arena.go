package reactor

import (
	"millrace/slab"
)

const (
	slabBytes = 1 << 20
	// sharedBytesMax is the largest frame that gets its place in the loop's slab by its
	// claimed size alone. Above it a frame has memory of its own that grows.
	sharedBytesMax = slabBytes / 8
	// growBytesMin is what such a frame begins with.
	growBytesMin = 64 << 10
	// provenBytesMax is the most that a frame gets at once because its connection has
	// sent a frame as large before.
	provenBytesMax = 4 << 20
	// arenaSweepsMax is after how many sweeps without use a loop gives its slab back.
	arenaSweepsMax = 20
)

// arena is the memory that all connections of a loop read into, at one cursor.
//
// When nobody else holds its slab, the cursor goes back to the start: a loop whose
// requests are answered as they come works in the same few cached pages for ever. A
// fresh slab for each megabyte would walk through the cache, and rewinding only when
// the slab is full would touch all of it.
type arena struct {
	pool *slab.Pool
	cur  *slab.Slab // nil: none yet, or given back in a quiet hour
	buf  []byte
	off  int // bytes of buf that are taken
	idle int // sweeps since it was used
}

// room returns the free bytes at the cursor, at least n ≤ slabBytes of them, and
// doesn't take them. Their capacity reaches to the end of the slab.
func (a *arena) room(n int) ([]byte, error) {
	a.idle = 0
	if a.off > 0 && a.cur.Refs() == 1 {
		if poison {
			scribble(a.buf[:a.off])
		}
		a.off = 0
	}
	if len(a.buf)-a.off < n {
		s, err := a.pool.Get(slabBytes, slab.UseNetwork)
		if err != nil {
			return nil, err
		}
		a.drop()
		a.cur, a.buf, a.off = s, s.Bytes()[:slabBytes:slabBytes], 0
	}
	return a.buf[a.off:], nil
}

// reserve takes n bytes at the cursor. The reference on their slab is the caller's.
func (a *arena) reserve(n int) ([]byte, *slab.Slab, error) {
	b, err := a.room(n)
	if err != nil {
		return nil, nil, err
	}
	a.off += n
	a.cur.Retain()
	return b[:n:n], a.cur, nil
}

// extend takes as many bytes as make have, the last bytes that were taken at the
// cursor of s, size long. False: something else follows it, or the slab is too short.
func (a *arena) extend(have []byte, s *slab.Slab, size int) ([]byte, bool) {
	start := cap(a.buf) - cap(have)
	if s == nil || s != a.cur || start+len(have) != a.off || start+size > len(a.buf) {
		return nil, false
	}
	a.off = start + size
	s.Retain()
	return a.buf[start : start+len(have) : start+size], true
}

// keep returns n bytes of memory that may be held for as long as a request lasts: at
// the cursor, or for large n a slab of its own. The reference is the caller's.
func (a *arena) keep(n int) ([]byte, *slab.Slab, error) {
	if n <= sharedBytesMax {
		return a.reserve(n)
	}
	return a.own(n)
}

// own returns n bytes that share their slab with nothing else.
func (a *arena) own(n int) ([]byte, *slab.Slab, error) {
	s, err := a.pool.Get(n, slab.UseNetwork)
	if err != nil {
		return nil, nil, err
	}
	return s.Bytes()[:n:n], s, nil
}

// sweep gives the slab back when it wasn't used for a while.
func (a *arena) sweep() {
	if a.idle++; a.idle > arenaSweepsMax && a.cur != nil && a.cur.Refs() == 1 {
		a.drop()
	}
}

func (a *arena) drop() {
	if a.cur != nil {
		a.cur.Release()
	}
	a.cur, a.buf, a.off = nil, nil, 0
}

// wasteful says that b holds a slab which is far larger than it needs to be.
func wasteful(b []byte, s *slab.Slab) bool {
	return s != nil && s.Refs() > 0 && 4*max(len(b), 4<<10) <= len(s.Bytes())
}

// scribble overwrites memory that is about to be used again, so that tests see who
// still looks at it.
func scribble(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
