package plog

import (
	"fmt"
	"slices"
	"sort"
)

// EpochStart is a leader epoch and the offset at which it begins.
type EpochStart struct {
	Epoch  int32
	Offset int64
}

// epochs is the leader epoch cache: where each epoch that has records begins
// (KIP-101, KIP-279). Both numbers rise from entry to entry.
type epochs []EpochStart

// assign notes that epoch begins at offset, unless it has begun. An epoch that
// got no record before the next began is forgotten.
func (e *epochs) assign(epoch int32, offset int64) {
	n := len(*e)
	if n > 0 {
		last := (*e)[n-1]
		if last.Epoch == epoch {
			return
		}
		if last.Epoch > epoch {
			panic(fmt.Sprintf("plog: leader epoch %d after %d", epoch, last.Epoch))
		}
		if last.Offset == offset {
			n--
		}
	}
	*e = append((*e)[:n], EpochStart{epoch, offset})
}

// truncateStart forgets what lies below the log's new start. The epoch that the
// start lies in is kept.
func (e *epochs) truncateStart(start int64) {
	n := sort.Search(len(*e), func(i int) bool { return (*e)[i].Offset > start })
	if n == 0 {
		return
	}
	(*e)[n-1].Offset = start
	*e = append((*e)[:0], (*e)[n-1:]...)
}

// truncateEnd forgets the epochs that begin at or above the log's new end.
func (e *epochs) truncateEnd(end int64) {
	n := sort.Search(len(*e), func(i int) bool { return (*e)[i].Offset >= end })
	*e = (*e)[:n]
}

// BeginEpoch notes that a leader epoch begins at the end of the log, before its
// first append. It must not be below an earlier one.
func (l *Log) BeginEpoch(epoch int32) { l.epochs.assign(epoch, l.end) }

// LastEpoch is the highest epoch noted, −1 if there is none.
func (l *Log) LastEpoch() int32 {
	if len(l.epochs) == 0 {
		return -1
	}
	return l.epochs[len(l.epochs)-1].Epoch
}

// Epochs are a copy of all epochs noted, the lowest first. The first one begins
// at StartOffset or above.
func (l *Log) Epochs() []EpochStart { return slices.Clone(l.epochs) }

// EpochAt is the leader epoch of an offset, which need not exist yet; −1 if it is
// not known.
func (l *Log) EpochAt(offset int64) int32 {
	n := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].Offset > offset })
	if n == 0 {
		return -1
	}
	return l.epochs[n-1].Epoch
}

// BatchStart is the first offset of the batch that an offset lies in, but not
// below StartOffset; the offset itself if no batch holds it.
func (l *Log) BatchStart(offset int64) int64 {
	segments := l.segments.live()
	i := find(segments, offset)
	if offset <= l.start || offset >= l.end || i == len(segments) {
		return offset
	}
	s := &segments[i]
	at := s.locate(offset)
	if at >= s.used {
		return offset
	}
	return min(offset, max(l.start, s.batch(at).BaseOffset()))
}

// EpochEnd answers OffsetForLeaderEpoch: the largest epoch ≤ the one asked for,
// and where it ends, which is where the next one begins or, of the last one, the
// end of the log. An epoch before all that are known ends where the first begins.
// −1, −1 for one after all that are known.
func (l *Log) EpochEnd(epoch int32) (endEpoch int32, endOffset int64) {
	if epoch < 0 || epoch > l.LastEpoch() {
		return -1, -1
	}
	if epoch == l.LastEpoch() {
		return epoch, l.end
	}
	higher := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].Epoch > epoch })
	if higher == 0 {
		return epoch, l.epochs[0].Offset
	}
	return l.epochs[higher-1].Epoch, l.epochs[higher].Offset
}
