package plog

import (
	"iter"
	"sort"

	"millrace/protocol"
	"millrace/protocol/record"
)

// Read appends views of whole batches to dst, from the one that holds offset
// from on (or the first behind it), up to maxBytes, without batches that reach
// upTo (the high watermark or last stable offset). bytes is what it appended.
// If the first batch alone is larger than maxBytes, it is read with atLeastOne,
// nothing is read without.
//
// Each view holds a reference on its slab that is the caller's to release; At is
// left 0. The cost is that of finding the first and the last batch, not that of
// the bytes.
//
// ErrOffsetOutOfRange: from is below StartOffset or above EndOffset. At the end,
// and at or above upTo, there is nothing to read and no error.
func (l *Log) Read(from int64, maxBytes int, upTo int64, atLeastOne bool, dst []protocol.View) ([]protocol.View, int, error) {
	if from < l.start || from > l.end {
		return dst, 0, ErrOffsetOutOfRange
	}
	maxBytes = max(maxBytes, 0)
	bytes := 0
	segments := l.segments.live()
	for i := find(segments, from); i < len(segments); i++ {
		s := &segments[i]
		at, to := s.locate(from), s.locate(upTo)
		limited := to-at > maxBytes-bytes
		if limited {
			to = s.cut(at, at+maxBytes-bytes)
			if to == at && bytes == 0 && atLeastOne {
				to = at + len(s.batch(at))
			}
		}
		if to <= at {
			break
		}
		s.slab.Retain()
		dst = append(dst, protocol.View{Bytes: s.mem[at:to:to], Slab: s.slab})
		bytes += to - at
		if limited {
			break
		}
	}
	return dst, bytes, nil
}

// find returns the index of the segment that holds offset or the first one behind
// it; the last one if there is none behind it.
func find(segments []segment, offset int64) int {
	last := len(segments) - 1
	if last >= 0 && segments[last].base <= offset { // a consumer at the tail
		return last
	}
	return sort.Search(len(segments), func(i int) bool { return segments[i].end > offset })
}

// Batches walks over the batches that hold offsets in [from, upTo), oldest
// first. The log must not be touched meanwhile.
func (l *Log) Batches(from, upTo int64) iter.Seq[record.Batch] {
	return func(yield func(record.Batch) bool) {
		from = max(from, l.start)
		segments := l.segments.live()
		for i := find(segments, from); i < len(segments); i++ {
			s := &segments[i]
			for at := s.locate(from); at < s.used; {
				b := s.batch(at)
				if b.BaseOffset() >= upTo || !yield(b) {
					return
				}
				at += len(b)
			}
		}
	}
}

// Records calls f with offset and record of every record in [from, upTo) that the
// log holds, oldest first, control batches left out, until f returns an error,
// which Records returns. Other errors are those of record.Batch.Each, which also
// says how long a record is valid. The log must not be touched meanwhile.
func (l *Log) Records(from, upTo int64, f func(offset int64, r record.Record) error) error {
	from = max(from, l.start)
	for b := range l.Batches(from, upTo) {
		if b.IsControl() {
			continue
		}
		base := b.BaseOffset()
		err := b.Each(nil, func(r record.Record) error {
			offset := base + int64(r.OffsetDelta)
			if offset < from || offset >= upTo {
				return nil
			}
			return f(offset, r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
