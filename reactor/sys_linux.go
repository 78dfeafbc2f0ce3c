package reactor

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ioScratch is room for the vectors of one call.
//
// The calls never block, because the sockets don't. So they skip the runtime's
// bookkeeping around a system call, which would let another thread take the processor
// in the middle of a long copy.
type ioScratch struct {
	vec [piecesMax]unix.Iovec
}

// readv reads into a and then into b; either may be empty, not both.
func (s *ioScratch) readv(fd int, a, b []byte) (int, error) {
	v := s.vec[:0]
	if len(a) > 0 {
		v = append(v, iovec(a))
	}
	if len(b) > 0 {
		v = append(v, iovec(b))
	}
	return s.call(unix.SYS_READV, fd, v)
}

// writev writes up to piecesMax pieces.
func (s *ioScratch) writev(fd int, pieces []piece) (int, error) {
	v := s.vec[:0]
	for i := range pieces {
		v = append(v, iovec(pieces[i].b))
	}
	return s.call(unix.SYS_WRITEV, fd, v)
}

func (s *ioScratch) call(trap uintptr, fd int, v []unix.Iovec) (int, error) {
	n, _, errno := unix.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(&v[0])), uintptr(len(v)))
	clear(v) // the collector dislikes pointers to memory that was unmapped
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func iovec(b []byte) (v unix.Iovec) {
	v.Base = unsafe.SliceData(b)
	v.SetLen(len(b))
	return v
}
