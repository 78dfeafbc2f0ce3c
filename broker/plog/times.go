package plog

import (
	"sort"

	"millrace/protocol/record"
)

// OffsetForTime finds the first record in [StartOffset, upTo) whose timestamp is
// ≥ timestampMs (KIP-79): its offset, its timestamp and the leader epoch of its
// batch; −1, −1, −1, false without one. Client timestamps may run backwards;
// compressed batches are looked into.
//
// A compressed batch that can't be read might hold the record. Then the answer is
// that batch's first offset and max_timestamp: a consumer that starts there
// misses nothing.
func (l *Log) OffsetForTime(timestampMs, upTo int64) (offset, recordMs int64, leaderEpoch int32, found bool) {
	// Segments are dropped at the front while maxBeforeMs stays, so it may be
	// too large: then this begins too early, never too late.
	segments := l.segments.live()
	i := sort.Search(len(segments), func(i int) bool { return segments[i].maxBeforeMs >= timestampMs })
	for i = max(i-1, 0); i < len(segments); i++ {
		s := &segments[i]
		if s.base >= upTo {
			break
		}
		if s.maxMs < timestampMs {
			continue
		}
		if offset, recordMs, leaderEpoch, found = l.searchTime(s, timestampMs, upTo); found {
			return offset, recordMs, leaderEpoch, true
		}
	}
	return -1, -1, -1, false
}

func (l *Log) searchTime(s *segment, timestampMs, upTo int64) (offset, recordMs int64, leaderEpoch int32, found bool) {
	at := s.narrow(func(i int) bool { return s.entryBeforeMs(i) < timestampMs })
	for at < s.used {
		b := s.batch(at)
		at += len(b)
		if b.BaseOffset() >= upTo {
			break
		}
		if b.MaxTimestamp() < timestampMs || b.LastOffset() < l.start {
			continue
		}
		offset, recordMs, found, err := b.FirstAtOrAfter(nil, timestampMs, l.start, upTo)
		if err != nil {
			offset, recordMs, found = max(b.BaseOffset(), l.start), b.MaxTimestamp(), true
		}
		if found {
			return offset, recordMs, b.PartitionLeaderEpoch(), true
		}
	}
	return -1, -1, -1, false
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
	if b.BaseOffset() >= upTo {
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
