package slab

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Slab is a piece of memory outside the heap with a count of its references.
// Retain, Release and Refs are safe from any goroutine; who may write where in the
// bytes is between the holders of the references.
type Slab struct {
	mem    []byte // whole capacity; nil once the mapping is gone
	refs   atomic.Int32
	use    Use // fixed while refs > 0
	region *region

	// Guarded by the pool's mu; used while the slab is in a list of its class.
	prev, next *Slab
	seenFree   time.Duration // when Trim saw it free for the first time; 0: not yet
}

// Bytes returns the whole capacity of the slab. It is the holder's for as long as a
// reference is held. Fresh slabs are zero, used ones hold what was there before.
func (s *Slab) Bytes() []byte {
	if poison && s.refs.Load() <= 0 {
		panic("slab: Bytes of a released slab")
	}
	return s.mem
}

// Retain adds a reference. The caller must hold one already, directly or through
// somebody who doesn't let go meanwhile.
func (s *Slab) Retain() {
	if n := s.refs.Add(1); n <= 1 {
		panic(fmt.Sprintf("slab: Retain of a released slab (count now %d)", n))
	}
}

// Release drops a reference. The last one gives the slab back to its pool.
func (s *Slab) Release() {
	switch n := s.refs.Add(-1); {
	case n == 0:
		s.region.pool.put(s)
	case n < 0:
		panic(fmt.Sprintf("slab: released more often than retained (count now %d)", n))
	}
}

// Refs returns the number of references, which is of use to tests and assertions only:
// it may be old when it is looked at.
func (s *Slab) Refs() int32 { return s.refs.Load() }
