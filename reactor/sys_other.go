//go:build !linux

package reactor

import (
	gio "github.com/panjf2000/gnet/v2/pkg/io"
)

// ioScratch is room for the vectors of one call.
type ioScratch struct {
	vec [piecesMax][]byte
}

// readv reads into a and then into b; either may be empty, not both.
func (s *ioScratch) readv(fd int, a, b []byte) (int, error) {
	v := s.vec[:0]
	if len(a) > 0 {
		v = append(v, a)
	}
	if len(b) > 0 {
		v = append(v, b)
	}
	n, err := gio.Readv(fd, v)
	clear(v)
	return max(n, 0), err
}

// writev writes up to piecesMax pieces.
func (s *ioScratch) writev(fd int, pieces []piece) (int, error) {
	v := s.vec[:0]
	for i := range pieces {
		v = append(v, pieces[i].b)
	}
	n, err := gio.Writev(fd, v)
	clear(v)
	return max(n, 0), err
}
