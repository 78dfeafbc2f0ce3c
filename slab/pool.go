package slab

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
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

	pressure atomic.Uint64 // of Pressure, the bits of a float64

	mu      sync.Mutex
	used    [uses]int64 // bytes handed out
	free    int64       // bytes in the free lists, resident
	mapped  int64       // bytes of address space
	out     int         // slabs handed out
	refused int64
	closed  bool
	epoch   time.Time // of the first Trim; seenFree counts from just before it
	classes []class   // by size
}

// NewPool returns a pool that has mapped nothing yet. It panics on options that make
// no sense: a limit that isn't positive, a reserve that is negative, or reserves that
// exceed the limit.
func NewPool(o Options) *Pool {
	if o.LimitBytes <= 0 || o.ReserveInternalBytes < 0 || o.ReserveNetworkBytes < 0 ||
		o.ReserveInternalBytes > o.LimitBytes-o.ReserveNetworkBytes {
		panic(fmt.Sprintf("slab: impossible budget %+v", o))
	}
	p := &Pool{limit: o.LimitBytes, classes: makeClasses(os.Getpagesize())}
	p.reserve[UseInternal] = o.ReserveInternalBytes
	p.reserve[UseNetwork] = o.ReserveNetworkBytes
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
	s.use = use
	p.charge(use, int64(size))
	p.out++
	if !s.refs.CompareAndSwap(0, 1) {
		panic("slab: a free slab has references")
	}
	return s, nil
}

// charge adds to what a use has; n may be negative.
func (p *Pool) charge(use Use, n int64) {
	p.used[use] += n
	room := p.limit - p.claimed(use, 0) + max(p.used[UseRecords], p.reserve[UseRecords])
	pressure := 1.0
	if room > 0 {
		pressure = float64(p.used[UseRecords]) / float64(room)
	}
	p.pressure.Store(math.Float64bits(pressure))
}

// Pressure is how much is taken of what UseRecords may have, which is what others don't claim: 0 … 1. It costs one
// load, so that a produce can ask each time whether to tell its client to be slower.
func (p *Pool) Pressure() float64 { return math.Float64frombits(p.pressure.Load()) }

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

// get takes a slab out of the pool without charging it.
func (p *Pool) get(c *class, size int, use Use) (*Slab, error) {
	if p.closed {
		return nil, ErrClosed
	}
	if p.claimed(use, int64(size)) > p.limit {
		p.refused++
		return nil, ErrFull
	}
	if c != nil {
		if s := c.takeFree(); s != nil {
			p.free -= int64(size)
			return s, nil
		}
	}
	p.makeRoom(c, int64(size))
	return p.takeFresh(c, size)
}

// claimed returns the sum of all claims as it would be with n more bytes for use.
func (p *Pool) claimed(use Use, n int64) int64 {
	sum := int64(0)
	for u, used := range p.used {
		if Use(u) == use {
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

// makeRoom gives free slabs of other classes back to the system until a fresh one of
// this size keeps to the limit. The next larger ones go first, as one of them is
// enough, then the smaller ones.
func (p *Pool) makeRoom(c *class, size int64) {
	i := len(p.classes)
	if c != nil {
		i = slices.IndexFunc(p.classes, func(x class) bool { return x.size == c.size })
	}
	for j := i; j < len(p.classes); j++ {
		p.dropWhile(&p.classes[j], size)
	}
	for j := i - 1; j >= 0; j-- {
		p.dropWhile(&p.classes[j], size)
	}
}

func (p *Pool) dropWhile(c *class, size int64) {
	for p.usedTotal()+p.free+size > p.limit && p.dropOldest(c) {
	}
}

func (p *Pool) takeFresh(c *class, size int) (*Slab, error) {
	if c == nil {
		r, err := p.mapRegion(nil, size, 1)
		if err != nil {
			return nil, err
		}
		return &r.slabs[0], nil
	}
	if c.fresh.front == nil {
		n := max(1, regionBytes/size)
		r, err := p.mapRegion(c, n*size, n)
		if err != nil {
			return nil, err
		}
		c.add(r)
	}
	return c.takeFresh(), nil
}

func (p *Pool) mapRegion(c *class, size, slabs int) (*region, error) {
	mem, err := mapBytes(size)
	if err != nil {
		p.refused++
		return nil, fmt.Errorf("%w: mmap of %d bytes: %w", ErrFull, size, err)
	}
	p.mapped += int64(size)
	return newRegion(p, c, mem, slabs), nil
}

// refuse counts a request that could never be met.
func (p *Pool) refuse() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused++
	return ErrFull
}

// put takes a slab back whose last reference was dropped.
func (p *Pool) put(s *Slab) {
	c, size := s.region.class, int64(len(s.mem))
	switch {
	case c == nil:
		// Before it is uncharged, as it is resident until then, and before the lock:
		// a hundred megabytes take milliseconds.
		s.region.unmap()
	case poison:
		fill(s.mem)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.charge(s.use, -size)
	p.out--
	if c == nil {
		p.mapped -= size
		return
	}
	c.putFree(s)
	p.free += size
	if p.closed {
		p.dropAll()
	}
}

// dropOldest gives the pages of that slab of the class back to the system which was
// free for longest, and the whole region when nothing else is in it.
func (p *Pool) dropOldest(c *class) bool {
	s := c.free.back
	if s == nil {
		return false
	}
	p.free -= int64(c.size)
	if r := c.cool(s); r != nil {
		p.mapped -= int64(len(r.mem))
		r.unmap()
		return true
	}
	if err := giveBack(s.mem); err != nil {
		panic(fmt.Sprintf("slab: madvise: %v", err)) // only a wrong address can do this
	}
	return true
}

func (p *Pool) dropAll() {
	for i := range p.classes {
		for p.dropOldest(&p.classes[i]) {
		}
	}
}

// Trim gives slabs back to the system that were free for at least quietFor. Time is
// taken from now, which must not run backwards: a slab counts as free since the first
// Trim that saw it free, so Release needs no clock. The owner calls it from a timer,
// several times per quietFor.
func (p *Pool) Trim(quietFor time.Duration, now time.Time) {
	at := p.sinceEpoch(now)
	for i := range p.classes {
		c := &p.classes[i]
		p.stamp(c, at)
		for p.trimSome(c, at-quietFor) {
		}
	}
}

func (p *Pool) sinceEpoch(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epoch.IsZero() {
		p.epoch = now.Add(-1) // so that no stamp is 0
	}
	return now.Sub(p.epoch)
}

// stamp notes the time in the slabs that were freed since the last Trim: those in
// front, as Get takes from one end and Release adds in front.
func (p *Pool) stamp(c *class, at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := c.free.front; s != nil && s.seenFree == 0; s = s.next {
		s.seenFree = at
	}
}

// trimSome drops a few slabs, as the lock must not be held for long: some tens of
// microseconds. It reports whether there may be more.
func (p *Pool) trimSome(c *class, before time.Duration) bool {
	const dropsMax, bytesMax = 16, 1 << 20
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := 0; n < dropsMax && n*c.size < bytesMax; n++ {
		s := c.free.back
		if s == nil || s.seenFree == 0 || s.seenFree > before {
			return false
		}
		p.dropOldest(c)
	}
	return true
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
