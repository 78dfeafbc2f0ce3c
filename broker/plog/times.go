package plog

import (
	"sort"

	"millrace/protocol/record"
)

// openedInVain bounds how many compressed batches one look-up opens whose header
// promises a record that isn't there. A client may send any number of them, and
// each costs its decompression.
const openedInVain = 8

// OffsetForTime finds the first record in [StartOffset, upTo) whose timestamp is
// ≥ timestampMs (KIP-79): its offset, its timestamp and the leader epoch of its
// batch; −1, −1, −1, false without one. Client timestamps may run backwards;
// compressed batches are looked into.
//
// A compressed batch that can't be read, or is the openedInVain'th whose header
// lied, might hold the record. Then the answer is that batch's first offset and
// max_timestamp: a consumer that starts there misses nothing.
func (l *Log) OffsetForTime(timestampMs, upTo int64) (offset, recordMs int64, leaderEpoch int32, found bool) {
	// Segments are dropped at the front while maxBeforeMs stays, so it may be
	// too large: then this begins too early, never too late.
	segments := l.segments.live()
	i := sort.Search(len(segments), func(i int) bool { return segments[i].maxBeforeMs >= timestampMs })
	q := timeQuery{timestampMs: timestampMs, from: l.start, upTo: upTo}
	for i = max(i-1, 0); i < len(segments); i++ {
		s := &segments[i]
		if s.base >= upTo {
			break
		}
		if s.maxMs >= timestampMs && q.search(s) {
			return q.offset, q.recordMs, q.leaderEpoch, true
		}
	}
	return -1, -1, -1, false
}

// timeQuery is one look-up by time and, once found, its answer.
type timeQuery struct {
	timestampMs, from, upTo int64

	offset, recordMs int64
	leaderEpoch      int32
	vain             int
}

func (q *timeQuery) search(s *segment) (found bool) {
	at := s.narrow(func(i int) bool { return s.entryBeforeMs(i) < q.timestampMs })
	for at < s.used {
		b := s.batch(at)
		at += len(b)
		if b.BaseOffset() >= q.upTo {
			break
		}
		if b.MaxTimestamp() >= q.timestampMs && b.LastOffset() >= q.from && q.open(b) {
			q.leaderEpoch = b.PartitionLeaderEpoch()
			return true
		}
	}
	return false
}

// open looks for the record in a batch that should hold it.
func (q *timeQuery) open(b record.Batch) (found bool) {
	var err error
	q.offset, q.recordMs, found, err = b.FirstAtOrAfter(nil, q.timestampMs, q.from, q.upTo)
	if found && err == nil {
		return true
	}
	if q.vain++; err == nil && (b.Codec() == record.None || q.vain < openedInVain) {
		return false
	}
	q.offset, q.recordMs = max(b.BaseOffset(), q.from), b.MaxTimestamp()
	return true
}

// OffsetOfMaxTimestamp finds the first of the records in [StartOffset, upTo) that
// have the largest timestamp (KIP-734), as OffsetForTime does. Records without a
// timestamp don't count.
func (l *Log) OffsetOfMaxTimestamp(upTo int64) (offset, recordMs int64, leaderEpoch int32, found bool) {
	var best record.Batch
	bestMs := record.NoTimestamp
	segments := l.segments.live()
	for i := range segments {
		s := &segments[i]
		if s.base >= upTo {
			break
		}
		if s.maxMs <= bestMs {
			continue
		}
		if s.base >= l.start && s.end <= upTo {
			best, bestMs = s.batch(s.maxAt), s.maxMs
			continue
		}
		for at := s.locate(l.start); at < s.used; {
			b := s.batch(at)
			at += len(b)
			if ms := l.maxWithin(b, upTo); ms > bestMs {
				best, bestMs = b, ms
			}
		}
	}
	if best == nil {
		return -1, -1, -1, false
	}
	offset, recordMs, found, err := best.FirstOfMaxTimestamp(nil, l.start, upTo)
	if err != nil || !found {
		offset, recordMs = max(best.BaseOffset(), l.start), bestMs
	}
	return offset, recordMs, best.PartitionLeaderEpoch(), true
}

// maxWithin is the largest timestamp of the batch's records in [StartOffset,
// upTo), −1 if none is.
func (l *Log) maxWithin(b record.Batch, upTo int64) int64 {
	if b.BaseOffset() >= upTo || b.Count() == 0 {
		return record.NoTimestamp
	}
	if b.BaseOffset() >= l.start && b.LastOffset() < upTo {
		return b.MaxTimestamp()
	}
	_, ms, found, err := b.FirstOfMaxTimestamp(nil, l.start, upTo)
	switch {
	case err != nil:
		return b.MaxTimestamp()
	case !found:
		return record.NoTimestamp
	}
	return ms
}
