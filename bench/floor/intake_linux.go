package floor

import (
	"encoding/binary"
	"io"

	"golang.org/x/sys/unix"

	"millrace/bench/sock"
)

const (
	// readBudget bounds what one connection reads before the others have their turn. Much at once is cheap: each turn
	// costs a wake-up, an answer to write and a look at cold memory.
	readBudget = 4 << 20
	// roomMin is the least room at the cursor for a read.
	roomMin = 64 << 10
	// frameMin is API key, version and correlation id.
	frameMin = 8
)

// stream is where a connection stands in its bytes: inside a frame, inside a frame's size, or between frames.
type stream struct {
	frame  []byte // the frame being received, in a slab: its capacity is the frame's end
	slab   int    // that slab, pinned
	size   [4]byte
	nsize  int // bytes of a size that came in two parts
	inside bool
}

// intake cuts what arrives into frames. All connections write at the ring's one cursor, so an idle one holds nothing.
type intake struct {
	ring    *ring
	deliver func(frame []byte) error // gets each whole frame, its size cut off; it stays in its slab
	iov     [2]unix.Iovec
}

// pull reads until the socket is drained or the budget is used up. io.EOF is the end of the stream.
func (in *intake) pull(s *stream, fd int) error {
	for budget := readBudget; budget > 0; {
		room, err := in.ring.room(roomMin)
		if err != nil {
			return err
		}
		held := copy(room, s.size[:s.nsize])
		v, missing := in.iov[:0], 0
		if s.inside {
			rest := s.frame[len(s.frame):cap(s.frame)]
			missing = len(rest)
			v = append(v, sock.Iovec(rest))
		}
		v = append(v, sock.Iovec(room[held:]))
		n, errno := sock.Readv(fd, v)
		switch {
		case errno == sock.Again:
			return nil
		case errno == sock.Interrupted:
			continue
		case errno != 0:
			return errno
		case n == 0:
			return io.EOF
		}
		budget -= n
		drained := n < missing+len(room)-held
		if err := in.received(s, n, held); err != nil || drained {
			return err
		}
	}
	return nil
}

// received takes n bytes that were read: first those of the frame at hand, then those at the cursor, where held bytes
// of a size stood before.
func (in *intake) received(s *stream, n, held int) error {
	if s.inside {
		part := min(n, cap(s.frame)-len(s.frame))
		s.frame = s.frame[:len(s.frame)+part]
		n -= part
		if len(s.frame) < cap(s.frame) {
			return nil
		}
		in.ring.pins[s.slab]--
		s.inside = false
		if err := in.deliver(s.frame); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	return in.cut(s, held+n)
}

// cut makes frames of the n bytes at the cursor.
func (in *intake) cut(s *stream, n int) error {
	s.nsize = 0
	for n > 0 {
		b, err := in.ring.room(0)
		if err != nil {
			return err
		}
		if n < 4 {
			s.nsize = copy(s.size[:], b[:n])
			return nil
		}
		size := int(binary.BigEndian.Uint32(b))
		if size < frameMin || size > slabBytes-4 {
			return errFrame
		}
		if total := 4 + size; total > n {
			return in.begin(s, b[:n], total)
		}
		in.ring.take(4 + size)
		if err := in.deliver(b[4 : 4+size]); err != nil {
			return err
		}
		n -= 4 + size
	}
	return nil
}

// begin sets a frame up of which only the first bytes are there. If the slab is too short for it they move to the next.
func (in *intake) begin(s *stream, have []byte, total int) error {
	b, err := in.ring.room(total)
	if err != nil {
		return err
	}
	copy(b, have) // on itself, mostly
	s.slab = in.ring.take(total)
	s.frame, s.inside = b[4:len(have):total], true
	in.ring.pins[s.slab]++
	return nil
}

// drop forgets a connection's half frame.
func (in *intake) drop(s *stream) {
	if s.inside {
		in.ring.pins[s.slab]--
		s.inside = false
	}
}
