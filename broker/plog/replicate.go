package plog

import (
	"errors"
	"fmt"
	"math"

	"millrace/protocol/record"
)

// AppendReplicated appends batches that the partition's leader has sent, one
// behind the other, as they are: with its offsets, epochs and timestamps. They are
// copied; nowMs is the broker's time. What a leader checks of a client's batch, or
// a topic's configuration bounds, is not checked again, but what the log relies
// on: structure, CRC, that no batch begins below the end of the log, and that epochs
// don't fall. It may begin above: compaction has removed what was between, at the
// leader. In an empty log the first batch may begin below, if it reaches across the
// start.
//
// Errors: ErrStorage, record.ErrCorrupt. What came before the batch that failed
// has been appended; EndOffset and Batches tell.
func (l *Log) AppendReplicated(batches []byte, nowMs int64) error {
	for len(batches) > 0 {
		b, rest, err := record.Next(batches)
		if err != nil {
			return asCorrupt(err)
		}
		if err := l.appendReplicated(b, nowMs); err != nil {
			return err
		}
		batches = rest
	}
	return nil
}

// asCorrupt: what a client may get wrong, a leader may not.
func asCorrupt(err error) error {
	switch {
	case errors.Is(err, record.ErrCorrupt):
		return err
	case err == record.ErrTruncated:
		return errCutOff
	default:
		return fmt.Errorf("%w: %w", record.ErrCorrupt, err)
	}
}

func (l *Log) appendReplicated(b record.Batch, nowMs int64) error {
	base, last, epoch := b.BaseOffset(), b.LastOffset(), b.PartitionLeaderEpoch()
	across := l.start == l.end && base >= 0 && base < l.end
	switch {
	case b.ComputeCRC() != b.CRC():
		return errCRC
	case base < l.end && !across, last < l.end, b.LastOffsetDelta() < 0, last == math.MaxInt64:
		return errNotNext
	case epoch < max(l.LastEpoch(), 0):
		return errEpochFell
	}
	s, err := l.active(len(b), nowMs)
	if err != nil {
		return err
	}
	// Of a gap nobody knows which epoch it was in. If it counts as the later one, who has records of the earlier one there
	// drops them: they may never have been committed, and if they were they have been compacted away.
	l.epochs.assign(epoch, l.end)
	l.add(s, s.copy(b), nowMs)
	return nil
}

// Truncate cuts off everything at and above the offset to: batches, and the
// epochs that begin there (also one without records, at the end). EndOffset is to
// afterwards. A batch that lies across it goes wholly and leaves a hole, so it
// should be a batch's first offset. At or above the end only such epochs go.
//
// to must not be below StartOffset. Views that are held stay as they are.
func (l *Log) Truncate(to int64) {
	if to < l.start {
		panic(fmt.Sprintf("plog: truncated to %d, below the start %d", to, l.start))
	}
	l.epochs.truncateEnd(to)
	l.cleanTruncated(to)
	if to >= l.end {
		return
	}
	segments := l.segments.live()
	keep := find(segments, to)
	if keep < len(segments) {
		s := &segments[keep]
		if at := s.locate(to); at > 0 {
			l.bytes -= int64(s.used - at)
			s.truncate(at)
			keep++
		}
	}
	l.release(segments[keep:])
	l.segments.truncate(keep)
	l.end, l.lastMs = to, record.NoTimestamp
	l.advance(l.start) // of what is left, all may lie below the start
	if s := l.segments.last(); s != nil {
		l.lastMs = s.batch(s.lastAt).MaxTimestamp()
	}
}
