package plog

import (
	"encoding/binary"
	"math"
	"sort"

	"millrace/protocol/record"
	"millrace/slab"
)

// segment is one slab of batches whose offsets rise; where compaction has removed
// some, and where a follower's leader had, there are gaps. Positions are bytes
// from the front of mem.
type segment struct {
	slab *slab.Slab
	mem  []byte // the slab's bytes

	base, end int64 // offsets: base ≤ o < end; the log may start in between
	used      int   // bytes of batches
	lastAt    int   // position of the last batch
	entries   int   // of the index
	indexedAt int   // position of the last batch in the index

	maxMs       int64 // largest max_timestamp of the batches
	maxAt       int   // position of the first batch that has it
	maxBeforeMs int64 // none of the segments before this one has a larger maxMs

	firstMs, lastMs int64 // broker's time of the first and the last append

	sealed bool // nothing more is written to mem
}

// The index is sparse: one entry per indexInterval bytes of batches. An entry
// takes entryBytes at the end of mem, the first entry last:
//
//	8 bytes  base offset of a batch
//	8 bytes  largest max_timestamp of the batches of the segment before it
//	4 bytes  its position
//
// Both numbers rise from entry to entry, however client timestamps run.
const (
	indexInterval = 16 << 10
	entryBytes    = 20
)

var le = binary.LittleEndian

func (s *segment) entry(i int) []byte {
	at := len(s.mem) - (i+1)*entryBytes
	return s.mem[at : at+entryBytes]
}

func (s *segment) entryOffset(i int) int64   { return int64(le.Uint64(s.entry(i))) }
func (s *segment) entryBeforeMs(i int) int64 { return int64(le.Uint64(s.entry(i)[8:])) }
func (s *segment) entryAt(i int) int         { return int(le.Uint32(s.entry(i)[16:])) }

// position of the last entry for which before is true, 0 without one.
func (s *segment) narrow(before func(i int) bool) int {
	i := sort.Search(s.entries, func(i int) bool { return !before(i) })
	if i == 0 {
		return 0
	}
	return s.entryAt(i - 1)
}

// room tells whether a batch of n bytes fits.
func (s *segment) room(n, limit int) bool {
	return !s.sealed && s.used+n <= len(s.mem)-s.entries*entryBytes && (s.used+n <= limit || s.used == 0)
}

// batch returns the batch at a position.
func (s *segment) batch(at int) record.Batch {
	b, _, err := record.Next(s.mem[at:s.used])
	if err != nil {
		panic("plog: stored batches are damaged: " + err.Error())
	}
	return b
}

// copy puts b behind the last batch, for which there must be room.
func (s *segment) copy(b record.Batch) (stored record.Batch) {
	stored = record.Batch(s.mem[s.used : s.used+len(b)])
	slab.Copy(stored, b)
	return stored
}

// add takes note of the batch that was put at s.used.
func (s *segment) add(b record.Batch, nowMs int64) {
	at := s.used
	if at == 0 {
		s.base = b.BaseOffset()
	}
	if at-s.indexedAt >= indexInterval && at+len(b) <= len(s.mem)-(s.entries+1)*entryBytes {
		e := s.entry(s.entries)
		le.PutUint64(e, uint64(b.BaseOffset()))
		le.PutUint64(e[8:], uint64(s.maxMs))
		le.PutUint32(e[16:], uint32(at))
		s.entries++
		s.indexedAt = at
	}
	if ms := maxMsOf(b); at == 0 || ms > s.maxMs {
		s.maxMs, s.maxAt = ms, at
	}
	s.lastAt, s.used = at, at+len(b)
	s.end = b.LastOffset() + 1
	s.lastMs = nowMs
}

// locate returns the position of the first batch that ends at or behind offset,
// s.used if there is none.
func (s *segment) locate(offset int64) int {
	if offset >= s.end {
		return s.used
	}
	if offset <= s.base {
		return 0
	}
	// Consumers at the tail ask for the last batch over and over.
	if s.batch(s.lastAt).BaseOffset() <= offset {
		return s.lastAt
	}
	at := s.narrow(func(i int) bool { return s.entryOffset(i) <= offset })
	for {
		b := s.batch(at)
		if b.LastOffset() >= offset {
			return at
		}
		at += len(b)
	}
}

// cut returns the largest position at a batch's boundary that is ≤ limit; from
// is one that is.
func (s *segment) cut(from, limit int) int {
	if limit >= s.used {
		return s.used
	}
	at := max(from, s.narrow(func(i int) bool { return s.entryAt(i) <= limit }))
	for {
		next := at + len(s.batch(at))
		if next > limit {
			return at
		}
		at = next
	}
}

// truncate cuts off the batches from at on, which is a batch's boundary and not
// the front. Views may still show them, so nothing is written there again.
func (s *segment) truncate(at int) {
	if at == s.used {
		return
	}
	s.sealed = true
	s.used = at
	for s.entries > 0 && s.entryAt(s.entries-1) >= at {
		s.entries--
	}
	s.maxMs = math.MinInt64
	for i := 0; i < at; {
		b := s.batch(i)
		if ms := maxMsOf(b); ms > s.maxMs {
			s.maxMs, s.maxAt = ms, i
		}
		s.lastAt = i
		i += len(b)
	}
	s.end = s.batch(s.lastAt).LastOffset() + 1
}

// maxMsOf is the largest timestamp of a batch's records. That of a batch without any, as compaction makes them, is history.
func maxMsOf(b record.Batch) int64 {
	if b.Count() == 0 {
		return record.NoTimestamp
	}
	return b.MaxTimestamp()
}

// largestMs is the time that retention goes by: batches without any timestamp
// are as old as the segment's last append.
func (s *segment) largestMs() int64 {
	if s.maxMs >= 0 {
		return s.maxMs
	}
	return s.lastMs
}

// row is a queue of segments in one array. What is taken off the front leaves a
// hole, which push closes when it is half of the array: so neither end costs
// more than a constant, and a log that is as long as its retention allocates
// nothing.
type row struct {
	all  []segment
	head int
}

func (r *row) live() []segment { return r.all[r.head:] }

func (r *row) last() *segment {
	if r.head == len(r.all) {
		return nil
	}
	return &r.all[len(r.all)-1]
}

// push adds a segment behind the last. Pointers to others become invalid.
func (r *row) push(s segment) *segment {
	if len(r.all) == cap(r.all) && r.head > 0 && r.head >= len(r.all)/2 {
		n := copy(r.all, r.all[r.head:])
		clear(r.all[n:])
		r.all, r.head = r.all[:n], 0
	}
	r.all = append(r.all, s)
	return r.last()
}

// drop takes n segments off the front.
func (r *row) drop(n int) {
	clear(r.all[r.head : r.head+n])
	r.head += n
	if r.head == len(r.all) {
		r.all, r.head = r.all[:0], 0
	}
}

// truncate leaves the first n segments.
func (r *row) truncate(n int) {
	clear(r.all[r.head+n:])
	r.all = r.all[:r.head+n]
	if n == 0 {
		r.all, r.head = r.all[:0], 0
	}
}
