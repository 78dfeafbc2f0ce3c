package plog

import (
	"math"

	"millrace/protocol/record"
	"millrace/slab"
)

// Log is the log of one partition. See the package's comment for ownership.
type Log struct {
	pool     *slab.Pool
	config   Config
	segments row // oldest first; none is empty
	start    int64
	end      int64
	bytes    int64 // of all batches
	memory   int64 // of all slabs
	lastMs   int64 // max_timestamp of the last batch, −1: there was none
	epochs   epochs

	cleanTo   int64     // the offset that compaction has come to
	horizonMs int64     // after which it will find tombstones to remove; 0: it has left none
	cleaning  *cleaning // its pass that is under way; nil: none is
}

// New makes a log that starts (and ends) at startOffset. It takes no memory from
// the pool before the first Append.
func New(pool *slab.Pool, c Config, startOffset int64) *Log {
	if startOffset < 0 {
		panic("plog: New with a negative start offset")
	}
	return &Log{pool: pool, config: c, start: startOffset, end: startOffset, lastMs: record.NoTimestamp}
}

// NewAt makes a log like New whose records begin in an epoch that is known, as
// they do in the log of a leader whose start was moved. epochs are those of the
// leader (see Epochs); those that begin above startOffset come with their records.
func NewAt(pool *slab.Pool, c Config, startOffset int64, epochs []EpochStart) *Log {
	l := New(pool, c, startOffset)
	for _, e := range epochs {
		if e.Offset <= startOffset && e.Epoch > l.LastEpoch() {
			l.epochs = append(l.epochs[:0], EpochStart{e.Epoch, startOffset})
		}
	}
	return l
}

// SetConfig changes the configuration, from the next call on.
func (l *Log) SetConfig(c Config) {
	l.config = c
	if !c.Compact {
		l.abandonClean()
	}
}

// Config is the configuration as it was set last.
func (l *Log) Config() Config { return l.config }

// StartOffset is the lowest offset that can be read.
func (l *Log) StartOffset() int64 { return l.start }

// EndOffset is the offset that the next record gets.
func (l *Log) EndOffset() int64 { return l.end }

// SizeBytes is the size of all batches held, those of the first segment that lie
// below StartOffset included (Apache Kafka counts alike).
func (l *Log) SizeBytes() int64 { return l.bytes }

// MemoryBytes is the size of the slabs held.
func (l *Log) MemoryBytes() int64 {
	if l.cleaning != nil {
		return l.memory + l.cleaning.memory
	}
	return l.memory
}

// SegmentCount is the number of segments held.
func (l *Log) SegmentCount() int { return len(l.segments.live()) }

// LastTimestamp is the largest timestamp of the last batch, in ms, also when
// retention has dropped it; −1 if there was none.
func (l *Log) LastTimestamp() int64 { return l.lastMs }

// Appended says where a batch went.
type Appended struct {
	BaseOffset, LastOffset int64
	LogAppendTimeMs        int64 // −1 if the topic's timestamps are CreateTime
}

// Append copies b to the end of the log. b must have passed record.Batch.Check,
// or have been made by a record.Builder; it is not changed. leaderEpoch must not
// be below that of an earlier append. nowMs is the broker's time.
//
// The copy gets its offset and the leader's epoch, and on a LogAppendTime topic
// its timestamp, timestamp type and CRC.
//
// Errors: ErrMessageTooLarge, ErrRecordListTooLarge, ErrInvalidTimestamp,
// ErrStorage; on a compacted topic NoKeyError and those of record.Batch.Each. The
// log is then as before.
func (l *Log) Append(b record.Batch, leaderEpoch int32, nowMs int64) (Appended, error) {
	if len(b) > int(l.config.MaxMessageBytes) && !b.IsControl() { // a transaction must be ended, whatever the topic allows
		return Appended{}, ErrMessageTooLarge
	}
	if int64(len(b)) > l.config.SegmentBytes {
		return Appended{}, ErrRecordListTooLarge
	}
	maxMs, err := l.config.stamp(b, nowMs)
	if err != nil {
		return Appended{}, err
	}
	if l.config.Compact {
		if err := checkKeys(b); err != nil {
			return Appended{}, err
		}
	}
	s, err := l.active(len(b), nowMs)
	if err != nil {
		return Appended{}, err
	}
	l.epochs.assign(leaderEpoch, l.end)
	stored := s.copy(b)
	stored.SetBaseOffset(l.end)
	stored.SetPartitionLeaderEpoch(leaderEpoch)
	appendTime := l.config.TimestampType == LogAppendTime
	stored.SetMaxTimestamp(maxMs, appendTime)

	a := Appended{BaseOffset: l.end, LastOffset: stored.LastOffset(), LogAppendTimeMs: -1}
	if appendTime {
		a.LogAppendTimeMs = nowMs
	}
	l.add(s, stored, nowMs)
	return a, nil
}

// add takes note of the batch that was copied to the end of s.
func (l *Log) add(s *segment, stored record.Batch, nowMs int64) {
	s.add(stored, nowMs)
	l.end = s.end
	l.bytes += int64(len(stored))
	l.lastMs = stored.MaxTimestamp()
}

// checkKeys: compaction wouldn't know what to do with a record without a key.
func checkKeys(b record.Batch) error {
	indexes, err := b.WithoutKey(nil, nil, noKeysTold)
	if err != nil || len(indexes) == 0 {
		return err
	}
	return &NoKeyError{indexes}
}

// stamp checks a batch's timestamps and returns the max_timestamp that it is to
// be stored with.
func (c *Config) stamp(b record.Batch, nowMs int64) (maxMs int64, err error) {
	// Apache Kafka refuses this on LogAppendTime topics only. On others it drops
	// the mark and keeps a max_timestamp that its records needn't have.
	if b.IsLogAppendTime() {
		return 0, ErrInvalidTimestamp
	}
	if c.TimestampType == LogAppendTime {
		return nowMs, nil
	}
	// Check has seen to it that the header's max_timestamp is right, or likely
	// to be. Whether a record is too old only the records tell, but that bound
	// is rarely set.
	maxMs = b.MaxTimestamp()
	if tooLate(maxMs, nowMs, c.TimestampAfterMaxMs) || c.TimestampBeforeMaxMs != math.MaxInt64 {
		return c.stampByRecords(b, nowMs)
	}
	return maxMs, nil
}

// stampByRecords does stamp's work by looking at every record.
func (c *Config) stampByRecords(b record.Batch, nowMs int64) (maxMs int64, err error) {
	maxMs = record.NoTimestamp
	bad := false
	err = b.Times(nil, func(_, ms int64) bool {
		bad = ms != record.NoTimestamp &&
			(tooLate(ms, nowMs, c.TimestampAfterMaxMs) || tooEarly(ms, nowMs, c.TimestampBeforeMaxMs))
		maxMs = max(maxMs, ms)
		return !bad
	})
	if err != nil {
		return 0, err
	}
	if bad {
		return 0, ErrInvalidTimestamp
	}
	return maxMs, nil
}

// tooLate: ms is more than bound behind now. The differences are taken where
// they can't overflow.
func tooLate(ms, nowMs, bound int64) bool {
	return ms > nowMs && uint64(ms)-uint64(nowMs) > uint64(max(bound, 0))
}

// tooEarly: ms is more than bound before now.
func tooEarly(ms, nowMs, bound int64) bool {
	return ms < nowMs && uint64(nowMs)-uint64(ms) > uint64(max(bound, 0))
}

// active returns the segment that takes a batch of size bytes, a new one if need
// be.
func (l *Log) active(size int, nowMs int64) (*segment, error) {
	last := l.segments.last()
	if last != nil && last.room(size, l.config.segmentLimit()) && nowMs-last.firstMs <= l.config.rollMs() {
		return last, nil
	}
	want := l.config.slabBytes(size, l.memory)
	got, err := l.pool.Get(want, l.config.Use)
	if err != nil && want > size {
		got, err = l.pool.Get(size, l.config.Use) // a smaller one may be left
	}
	if err != nil {
		return nil, storageError(err)
	}
	s := segment{
		slab: got, mem: got.Bytes(), maxBeforeMs: math.MinInt64, firstMs: nowMs,
	}
	if last != nil {
		s.maxBeforeMs = max(last.maxBeforeMs, last.maxMs)
	}
	l.memory += int64(len(s.mem))
	return l.segments.push(s), nil
}

// Close releases all slabs; views that were read stay valid. The log must not be
// used afterwards, but for another Close.
func (l *Log) Close() {
	l.abandonClean()
	l.drop(len(l.segments.live()))
	l.pool = nil
}
