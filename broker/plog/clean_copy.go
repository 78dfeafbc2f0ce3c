package plog

import (
	"math"

	"millrace/protocol/record"
	"millrace/slab"
)

// How a pass copies: what stays of one segment after the other goes into a new one (cleaning.into) until a segment's
// doesn't fit any more. Then what came before that segment takes the place of what it was made of, and what it had
// brought so far moves on into the next copy. So copies are full, one segment of the log is one step's business, and the
// row of segments is right between any two steps.

// copySegments goes on copying; done: everything is in its place.
func (c *Cleaner) copySegments(l *Log, r *CleanRules) (done bool, err error) {
	p := l.cleaning
	segments := l.segments.live()
	if len(segments) == 0 {
		return true, nil
	}
	if first := segments[0].base; first > p.sources {
		p.discardCopy() // of segments that retention has dropped meanwhile; or nothing has been copied yet
		p.sources, p.next = first, first
	}
	for c.work > 0 {
		s := p.source(l)
		if s == nil {
			p.put(l, p.mapped)
			return true, nil
		}
		if err := c.copySome(l, s, r); err != nil {
			return false, err
		}
	}
	return false, nil
}

// source is the segment to go on with, nil when there is none left.
func (p *cleaning) source(l *Log) *segment {
	segments := l.segments.live()
	i := find(segments, p.next)
	if i == len(segments) {
		return nil
	}
	s := &segments[i]
	if s.base >= p.mapped || s.base >= p.end || s.end <= p.next {
		return nil
	}
	if p.next <= s.base && p.into != nil {
		p.before = *p.into
	}
	return s
}

// copySome copies what stays of the next batches of s.
func (c *Cleaner) copySome(l *Log, s *segment, r *CleanRules) error {
	p := l.cleaning
	source := *s // the row may move
	for at := source.locate(p.next); at < source.used && c.work > 0; {
		b := source.batch(at)
		at += len(b)
		c.work -= workOf(b)
		if kept := c.stays(p, r, b); kept != nil {
			if err := p.add(l, &source, kept); err != nil {
				return err
			}
		}
		p.next = b.LastOffset() + 1
	}
	return nil
}

// add puts a batch, which was a part of source, behind the copy.
func (p *cleaning) add(l *Log, source *segment, b record.Batch) error {
	if p.into == nil {
		into, err := p.open(l, len(b), source.firstMs)
		if err != nil {
			return err
		}
		p.into, p.before = into, segment{}
	}
	limit := math.MaxInt // what comes of one segment alone is never too much
	if p.before.used > 0 {
		limit = l.config.segmentLimit()
	}
	if !p.into.room(len(b), limit) {
		if err := p.overflow(l, source, b); err != nil {
			return err
		}
	}
	p.into.copy(b)
	p.into.add(b, max(p.into.lastMs, source.lastMs))
	return nil
}

// overflow makes room for a batch of source that doesn't fit into the copy.
func (p *cleaning) overflow(l *Log, source *segment, b record.Batch) error {
	moved := p.into.used - p.before.used
	size := moved + len(b)
	if p.before.used == 0 {
		size = max(size, 2*moved) // not the same again with each batch: recompressed ones may be larger than they were
	}
	into, err := p.open(l, size, source.firstMs)
	if err != nil {
		return err
	}
	into.take(p.into, p.before.used)
	if p.before.used == 0 {
		p.discardCopy()
	} else {
		*p.into = p.before
		p.put(l, source.base)
	}
	p.into, p.before = into, segment{}
	return nil
}

// open takes a slab for a copy: for all that is still to be copied, if that fits into one.
func (p *cleaning) open(l *Log, size int, firstMs int64) (*segment, error) {
	left := int64(0)
	for _, s := range l.segments.live() {
		if s.base >= p.sources && s.base < p.mapped {
			left += int64(s.used)
		}
	}
	size = withIndex(size)
	got, err := p.slab(l, l.config.slabBytes(size, left), size)
	if err != nil {
		return nil, err
	}
	return &segment{slab: got, mem: got.Bytes(), firstMs: firstMs}, nil
}

// withIndex is the size of a slab in which so many bytes of batches fit whatever entries the index gets.
func withIndex(bytes int) int { return bytes + bytes/indexInterval*entryBytes }

func (p *cleaning) slab(l *Log, want, least int) (*slab.Slab, error) {
	got, err := l.pool.Get(want, l.config.Use)
	if err != nil && want > least {
		got, err = l.pool.Get(least, l.config.Use)
	}
	if err != nil {
		return nil, storageError(err)
	}
	p.memory += int64(len(got.Bytes()))
	return got, nil
}

// take copies the batches of s from a position on.
func (s *segment) take(from *segment, at int) {
	for at < from.used {
		b := from.batch(at)
		s.copy(b)
		s.add(b, from.lastMs)
		at += len(b)
	}
}

// put gives the copy the place of the segments below the offset that it was made of.
func (p *cleaning) put(l *Log, below int64) {
	into := p.into
	if into == nil {
		return
	}
	p.shrink(l)
	into.sealed = true
	segments := l.segments.live()
	from := find(segments, p.sources)
	to := from
	for to < len(segments) && segments[to].base < below && segments[to].base < p.end {
		to++
	}
	into.maxBeforeMs = segments[from].maxBeforeMs
	l.release(segments[from:to])
	l.segments.replace(from, to, *into)
	l.bytes += int64(into.used)
	l.memory += int64(len(into.mem))
	p.memory -= int64(len(into.mem))
	p.into, p.before, p.sources = nil, segment{}, below
}

// shrink moves the copy to a smaller slab, if there is one for it.
func (p *cleaning) shrink(l *Log) {
	into := p.into
	want := smallestSlab
	for want < withIndex(into.used) {
		want *= 4
	}
	if want >= len(into.mem) {
		return
	}
	got, err := p.slab(l, want, want)
	if err != nil {
		return
	}
	smaller := segment{slab: got, mem: got.Bytes(), firstMs: into.firstMs}
	smaller.take(into, 0)
	p.memory -= int64(len(into.mem))
	into.slab.Release()
	*into = smaller
}

func (p *cleaning) discardCopy() {
	if p.into != nil {
		p.memory -= int64(len(p.into.mem))
		p.into.slab.Release()
		p.into, p.before = nil, segment{}
	}
}

// replace puts s in the place of segments from up to to, of which there is at least one.
func (r *row) replace(from, to int, s segment) {
	live := r.live()
	live[from] = s
	n := copy(live[from+1:], live[to:])
	clear(live[from+1+n:])
	r.all = r.all[:r.head+from+1+n]
}
