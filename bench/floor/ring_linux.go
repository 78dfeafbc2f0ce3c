package floor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// slabBytes is the size of a slab, and so the largest frame.
const slabBytes = 4 << 20

// ring hands out memory outside the Go heap from slabs that follow each other and come round again.
type ring struct {
	slabs [][]byte
	pins  []int32 // of each slab: half-received frames in it
	slab  int     // the one that is being filled
	at    int     // where in it the cursor stands
}

func newRing(bytes int, touch bool) (*ring, error) {
	count := bytes / slabBytes
	if count < 2 {
		return nil, fmt.Errorf("at least two slabs of %d bytes", slabBytes)
	}
	memory, err := mapMemory(count*slabBytes, touch)
	if err != nil {
		return nil, err
	}
	r := &ring{pins: make([]int32, count)}
	for i := range count {
		r.slabs = append(r.slabs, memory[i*slabBytes:(i+1)*slabBytes])
	}
	return r, nil
}

// mapMemory gives anonymous memory of pages that the kernel doesn't join into huge ones: those are dearer to touch, and
// no better once touched.
func mapMemory(bytes int, touch bool) ([]byte, error) {
	m, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes: %w", bytes, err)
	}
	if touch {
		for i := 0; i < len(m); i += 4096 {
			m[i] = 1
		}
	}
	return m, nil
}

// room gives the memory from the cursor on, at least n bytes of it; nothing is taken yet.
func (r *ring) room(n int) ([]byte, error) {
	if slabBytes-r.at < n {
		if err := r.turn(); err != nil {
			return nil, err
		}
	}
	return r.slabs[r.slab][r.at:], nil
}

// take moves the cursor over n bytes and gives the slab they lie in.
func (r *ring) take(n int) (slab int) {
	r.at += n
	return r.slab
}

// turn goes to the next slab that isn't pinned. If all are, one more is made: a connection pins one at most, so there
// are never more than connections.
func (r *ring) turn() error {
	r.at = 0
	for range r.pins {
		if r.slab++; r.slab == len(r.pins) {
			r.slab = 0
		}
		if r.pins[r.slab] == 0 {
			return nil
		}
	}
	memory, err := mapMemory(slabBytes, false)
	if err != nil {
		return err
	}
	r.slabs, r.pins = append(r.slabs, memory), append(r.pins, 0)
	r.slab = len(r.slabs) - 1
	return nil
}
