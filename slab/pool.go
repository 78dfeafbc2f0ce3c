package slab

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Use says on whose account a slab is.
type Use uint8

const (
	UseRecords  Use = iota // partitions of users' topics; no reserve, refused first
	UseInternal            // partitions of internal topics
	UseNetwork             // frames that are being received
	uses
)

func (u Use) String() string {
	switch u {
	case UseRecords:
		return "records"
	case UseInternal:
		return "internal"
	case UseNetwork:
		return "network"
	}
	return fmt.Sprintf("Use(%d)", uint8(u))
}

// ErrFull says that the budget doesn't allow the slab now. Nothing was changed.
var ErrFull = errors.New("slab: memory budget is used up")

// ErrClosed says that the pool was closed.
var ErrClosed = errors.New("slab: pool is closed")

// Options of a pool.
type Options struct {
	LimitBytes           int64 // ceiling on resident bytes, > 0
	ReserveInternalBytes int64 // part of the limit that only UseInternal gets, ≥ 0
	ReserveNetworkBytes  int64 // part of the limit that only UseNetwork gets, ≥ 0
}

// Pool hands out slabs within one budget. It is safe for concurrent use.
//
// One mutex guards everything: a slab is got once per many requests, and the section
// is some dozens of nanoseconds. Free lists per thread would make the limit a guess.
type Pool struct {
	reserve [uses]int64
	limit   int64

	mu      sync.Mutex
	used    [uses]int64 // bytes handed out
	free    int64       // bytes in the free lists, resident
	mapped  int64       // bytes of address space
	out     int         // slabs handed out
	refused int64
	closed  bool
	classes []class
}

const regionBytes = 1 << 20

// class holds the slabs of one size.
type class struct {
	size  int
	free  list // resident, the one freed last in front
	fresh list // not resident
}

// region is one mapping, cut into slabs of one class.
type region struct {
	mem   []byte
	class *class // nil: a single slab above the largest class
	slabs []Slab
	fresh int // how many of the slabs are fresh; all of them: it may be unmapped
}

// NewPool returns a pool that has mapped nothing yet. It panics on options that make
// no sense: a limit that isn't positive, a reserve that is negative, or reserves that
// exceed the limit.
func NewPool(o Options) *Pool {
	if o.LimitBytes <= 0 || o.ReserveInternalBytes < 0 || o.ReserveNetworkBytes < 0 ||
		o.ReserveInternalBytes > o.LimitBytes-o.ReserveNetworkBytes {
		panic(fmt.Sprintf("slab: impossible budget %+v", o))
	}
	p := &Pool{limit: o.LimitBytes}
	p.reserve[UseInternal] = o.ReserveInternalBytes
	p.reserve[UseNetwork] = o.ReserveNetworkBytes
	for size := 4 << 10; size <= 4<<20; size *= 4 {
		// A slab below the page size could not be given back alone.
		if size >= os.Getpagesize() {
			p.classes = append(p.classes, class{size: size})
		}
	}
	return p
}

// Get returns a slab of at least sizeBytes with one reference, which is the caller's.
// Its content is undefined. The error is ErrFull (possibly wrapped, when the system
// itself refuses memory) or ErrClosed. A negative size panics.
func (p *Pool) Get(sizeBytes int, use Use) (*Slab, error) {
	if sizeBytes < 0 || use >= uses {
		panic(fmt.Sprintf("slab: Get(%d, %v)", sizeBytes, use))
	}
	if int64(sizeBytes) > p.limit {
		return nil, p.refuse()
	}
	c, size := p.fit(sizeBytes)
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := p.get(c, size, use)
	if err != nil {
		return nil, err
	}
	s.state, s.use = inUse, use
	p.used[use] += int64(size)
	p.out++
	if !s.refs.CompareAndSwap(0, 1) {
		panic("slab: a free slab has references")
	}
	return s, nil
}

// fit returns the class for a size, or nil and the bytes of a slab above the classes.
func (p *Pool) fit(sizeBytes int) (*class, int) {
	for i := range p.classes {
		if c := &p.classes[i]; sizeBytes <= c.size {
			return c, c.size
		}
	}
	page := os.Getpagesize()
	return nil, (sizeBytes + page - 1) / page * page
}

func (p *Pool) get(c *class, size int, use Use) (*Slab, error) {
	if p.closed {
		return nil, ErrClosed
	}
	if p.claimed(use, int64(size)) > p.limit {
		p.refused++
		return nil, ErrFull
	}
	if c != nil {
		if s := p.takeFree(c); s != nil {
			return s, nil
		}
	}
	// Free slabs of other sizes may stand in the way of the limit; they are worth
	// less than this one.
	for i := range p.classes {
		for p.usedTotal()+p.free+int64(size) > p.limit && p.dropOldest(&p.classes[i]) {
		}
	}
	return p.takeFresh(c, size)
}

// claimed returns the sum of all claims as it would be with n more bytes for use.
func (p *Pool) claimed(use Use, n int64) int64 {
	sum := int64(0)
	for u := range uses {
		used := p.used[u]
		if u == use {
			used += n
		}
		sum += max(used, p.reserve[u])
	}
	return sum
}

func (p *Pool) usedTotal() int64 {
	sum := int64(0)
	for _, n := range p.used {
		sum += n
	}
	return sum
}

// refuse counts a request that could never be met.
func (p *Pool) refuse() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused++
	return ErrFull
}

func (p *Pool) takeFree(c *class) *Slab {
	s := c.free.front
	if poison {
		s = c.free.back // the poison stays for as long as can be
	}
	if s == nil {
		return nil
	}
	c.free.remove(s)
	p.free -= int64(c.size)
	if poison {
		checkFilled(s.mem)
	}
	return s
}

func (p *Pool) takeFresh(c *class, size int) (*Slab, error) {
	if c == nil {
		r, err := p.mapRegion(nil, size, 1)
		if err != nil {
			return nil, err
		}
		r.fresh--
		return &r.slabs[0], nil
	}
	if c.fresh.front == nil {
		n := max(1, regionBytes/size)
		r, err := p.mapRegion(c, n*size, n)
		if err != nil {
			return nil, err
		}
		for i := range r.slabs {
			c.fresh.push(&r.slabs[len(r.slabs)-1-i])
		}
	}
	s := c.fresh.front
	c.fresh.remove(s)
	s.region.fresh--
	return s, nil
}

func (p *Pool) mapRegion(c *class, size, n int) (*region, error) {
	mem, err := mapBytes(size)
	if err != nil {
		p.refused++
		return nil, fmt.Errorf("%w: mmap of %d bytes: %w", ErrFull, size, err)
	}
	p.mapped += int64(size)
	r := &region{mem: mem, class: c, slabs: make([]Slab, n), fresh: n}
	for i := range r.slabs {
		lo, hi := i*(size/n), (i+1)*(size/n)
		r.slabs[i].mem = mem[lo:hi:hi]
		r.slabs[i].region = r
		r.slabs[i].pool = p
	}
	return r, nil
}

// put takes a slab back whose last reference was dropped.
func (p *Pool) put(s *Slab) {
	if poison {
		fill(s.mem)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.state != inUse {
		panic("slab: a slab was given back twice")
	}
	size := int64(len(s.mem))
	p.used[s.use] -= size
	p.out--
	c := s.region.class
	if c == nil {
		s.state = fresh
		s.region.fresh++
		p.unmap(s.region)
		return
	}
	s.state, s.seenAt = free, 0
	c.free.push(s)
	p.free += size
	if p.closed {
		p.dropAll()
	}
}

// dropOldest gives the pages of the slab that is free for longest back to the system.
func (p *Pool) dropOldest(c *class) bool {
	s := c.free.back
	if s == nil {
		return false
	}
	c.free.remove(s)
	p.free -= int64(c.size)
	s.state = fresh
	c.fresh.push(s)
	r := s.region
	r.fresh++
	if r.fresh == len(r.slabs) {
		for i := range r.slabs {
			c.fresh.remove(&r.slabs[i])
		}
		p.unmap(r)
		return true
	}
	if err := giveBack(s.mem); err != nil {
		panic(fmt.Sprintf("slab: madvise: %v", err)) // only a wrong address can do this
	}
	return true
}

func (p *Pool) unmap(r *region) {
	if err := unix.Munmap(r.mem); err != nil {
		panic(fmt.Sprintf("slab: munmap: %v", err)) // only a wrong address can do this
	}
	p.mapped -= int64(len(r.mem))
	for i := range r.slabs {
		r.slabs[i].mem = nil
	}
}

// Trim gives slabs back to the system that were free for at least quietFor. Time is
// taken from now, which must not run backwards: a slab counts as free since the first
// Trim that saw it free, so Release needs no clock. The owner calls it from a timer,
// several times per quietFor.
func (p *Pool) Trim(quietFor time.Duration, now time.Time) {
	at := now.UnixNano()
	for i := range p.classes {
		c := &p.classes[i]
		p.stamp(c, at)
		for p.trimSome(c, at-int64(quietFor)) {
		}
	}
}

// stamp notes the time in the slabs that were freed since the last Trim.
func (p *Pool) stamp(c *class, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := c.free.front; s != nil && s.seenAt == 0; s = s.next {
		s.seenAt = at
	}
}

// trimSome drops up to a region's worth of slabs, so that the lock is held for some
// ten microseconds at a time. It reports whether there may be more.
func (p *Pool) trimSome(c *class, before int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := 0; n < regionBytes; n += c.size {
		s := c.free.back
		if s == nil || s.seenAt == 0 || s.seenAt > before {
			return false
		}
		p.dropOldest(c)
	}
	return true
}

func (p *Pool) dropAll() {
	for i := range p.classes {
		for p.dropOldest(&p.classes[i]) {
		}
	}
}

// Stats of a pool at one moment.
type Stats struct {
	LimitBytes  int64
	UsedBytes   [uses]int64 // handed out, by Use
	FreeBytes   int64       // given back and kept resident; used + free ≤ limit
	MappedBytes int64       // address space, resident or not
	Slabs       int         // handed out
	Refused     int64       // how often Get returned ErrFull
}

// UsedTotal returns the bytes handed out for all uses.
func (s Stats) UsedTotal() int64 {
	sum := int64(0)
	for _, n := range s.UsedBytes {
		sum += n
	}
	return sum
}

// Stats returns a consistent picture.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{LimitBytes: p.limit, UsedBytes: p.used, FreeBytes: p.free,
		MappedBytes: p.mapped, Slabs: p.out, Refused: p.refused}
}

// Close gives all free memory back to the system and makes Get fail. It returns the
// number of slabs still handed out, which should be none; they stay valid and their
// memory goes back when they are released.
func (p *Pool) Close() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.dropAll()
	return p.out
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
