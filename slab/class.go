package slab

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	smallestBytes = 4 << 10
	largestBytes  = 4 << 20
	classFactor   = 4
	regionBytes   = 1 << 20 // what classes below are cut from
)

// class holds the slabs of one size that are not handed out. The pool's lock guards it.
type class struct {
	size  int
	free  list // resident; the one freed last in front
	fresh list // not resident: never touched, or given back to the system
}

// region is one mapping, cut into slabs of one class.
type region struct {
	pool  *Pool
	class *class // nil: a single slab above the largest class
	mem   []byte
	slabs []Slab
	fresh int // slabs in the class's fresh list; when it is all, the region may go
}

// makeClasses returns the classes, by size. A slab below the page size could not be
// given back alone, so there is none.
func makeClasses(pageBytes int) []class {
	var all []class
	for size := smallestBytes; size <= largestBytes; size *= classFactor {
		if size >= pageBytes {
			all = append(all, class{size: size})
		}
	}
	return all
}

// newRegion cuts mem into n slabs.
func newRegion(p *Pool, c *class, mem []byte, n int) *region {
	r := &region{pool: p, class: c, mem: mem, slabs: make([]Slab, n)}
	size := len(mem) / n
	for i := range r.slabs {
		r.slabs[i].region = r
		r.slabs[i].mem = mem[i*size : (i+1)*size : (i+1)*size]
	}
	return r
}

// add takes a new region in, whose slabs will be used from its beginning on.
func (c *class) add(r *region) {
	for i := range r.slabs {
		c.fresh.push(&r.slabs[len(r.slabs)-1-i])
	}
	r.fresh = len(r.slabs)
}

// takeFree returns a slab whose pages are resident, or nil: the one freed last, as its
// bytes may still be in a cache.
func (c *class) takeFree() *Slab {
	s := c.free.front
	if poison {
		s = c.free.back // so that the poison stays for as long as can be
	}
	if s == nil {
		return nil
	}
	c.free.remove(s)
	if poison {
		checkFilled(s.mem)
	}
	return s
}

// putFree takes back a slab that was handed out.
func (c *class) putFree(s *Slab) {
	s.seenFree = 0
	c.free.push(s)
}

// takeFresh returns a slab that is not resident. There must be one.
func (c *class) takeFresh() *Slab {
	s := c.fresh.front
	c.fresh.remove(s)
	s.region.fresh--
	return s
}

// cool moves a free slab to the fresh ones. If that leaves nothing else in its region,
// the whole region leaves the class and is returned.
func (c *class) cool(s *Slab) *region {
	c.free.remove(s)
	c.fresh.push(s)
	r := s.region
	r.fresh++
	if r.fresh < len(r.slabs) {
		return nil
	}
	for i := range r.slabs {
		c.fresh.remove(&r.slabs[i])
	}
	return r
}

// unmap ends a region of which nothing is handed out and which no class holds.
func (r *region) unmap() {
	if err := unix.Munmap(r.mem); err != nil {
		panic(fmt.Sprintf("slab: munmap: %v", err)) // only a wrong address can do this
	}
	for i := range r.slabs {
		r.slabs[i].mem = nil
	}
}

// list is a doubly linked list through the slabs themselves.
type list struct{ front, back *Slab }

func (l *list) push(s *Slab) {
	s.prev, s.next = nil, l.front
	if l.front != nil {
		l.front.prev = s
	} else {
		l.back = s
	}
	l.front = s
}

func (l *list) remove(s *Slab) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		l.front = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		l.back = s.prev
	}
	s.prev, s.next = nil, nil
}
