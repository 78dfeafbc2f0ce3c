package plog

import (
	"math"

	"millrace/protocol/record"
)

// CleanRules are what the log's owner knows about what a Cleaner may remove.
type CleanRules struct {
	NowMs int64
	// UpTo is the high watermark, or the last stable offset if that is lower: what lies above may still be undone.
	UpTo int64
	// KeepEmpty tells whether a batch must stay, if need be without records, because it holds the last sequence number
	// of a producer; nil: none must.
	KeepEmpty func(record.Batch) bool
	// Aborted tells whether a transactional batch, which lies below UpTo, belongs to a transaction that was aborted;
	// nil: none does.
	Aborted func(record.Batch) bool
}

// Cleaner compacts logs (cleanup.policy=compact), as Apache Kafka's log cleaner does: of the records of a key the last
// one stays, and of keys whose last record is a tombstone nothing, delete.retention.ms after the cleaner has first met
// the tombstone.
//
// A pass takes the closed part of a log: all segments but the one that is written to, below UpTo, and old enough
// (min.compaction.lag.ms). First it notes the last offset of each key in what was added since the last pass, as far as
// its table has room; then it copies what stays, segment by segment, into new ones, from the start of the log on, and puts
// each in the place of those it was made of. A pass consists of small steps, between which the log may be used freely.
// So it is with the log that a pass belongs; the Cleaner is the working memory of a step. The zero value is ready. One
// goroutine at a time.
type Cleaner struct {
	filter  record.Filter
	hashes  record.Scratch
	work    int // left in this step
	shorter int // tests take this away from a step's work
}

// A step's work is counted in bytes, as if a record had recordWork more than it has: that is what parsing it, hashing its
// key and finding it cost. Compressing costs packWork times as much for each byte.
const (
	stepWork   = 256 << 10
	recordWork = 200
	packWork   = 8
)

func workOf(b record.Batch) int {
	n := len(b)
	if b.Codec() != record.None {
		n *= packWork
	}
	return n + recordWork*int(b.Count())
}

// cleaning is a pass over a log.
type cleaning struct {
	nowMs  int64 // when it began
	keepMs int64 // until when it keeps the tombstones that it is the first to meet
	table  *keyTable
	from   int64 // the table is of records from here on
	end    int64 // where the closed part ends
	next   int64 // offset to go on at

	mapping bool  // the table is being filled; afterwards segments are copied
	mapped  int64 // the table knows all keys below it

	sources int64    // base offset of the first segment whose copy isn't in its place yet
	into    *segment // the copy; nil: not begun
	before  segment  // into as it was before the segment that is being copied
	memory  int64    // of into and table

	// running holds the producers of transactions of which a batch was met, and the end not yet. It is bounded by the
	// producers that write at the same time.
	running map[int64]struct{}

	horizonMs int64 // the last of the delete horizons to come
}

// CleanDue tells whether a Cleaner would find work now: a pass has been begun, or enough has been added since the last
// (min.cleanable.dirty.ratio), or what was added has waited for too long (max.compaction.lag.ms), or the last tombstone's
// time is over.
func (l *Log) CleanDue(r *CleanRules) bool {
	if l.cleaning != nil {
		return true
	}
	dirty, _ := l.cleanable(r)
	return dirty > 0 || l.horizonMs > 0 && r.NowMs >= l.horizonMs && l.closed(r) > 0
}

// CleanedTo is the offset that compaction has come to: below it nothing is left of aborted transactions, and of each key
// one record.
func (l *Log) CleanedTo() int64 { return l.cleanTo }

// closed is the number of segments that a pass would take.
func (l *Log) closed(r *CleanRules) (n int) {
	c := &l.config
	if !c.Compact {
		return 0
	}
	segments := l.segments.live()
	for ; n < len(segments); n++ {
		s := &segments[n]
		open := n == len(segments)-1 && !s.sealed && r.NowMs-s.firstMs <= c.rollMs()
		young := c.MinCompactionLagMs > 0 && s.end > l.cleanTo && s.largestMs() > r.NowMs-c.MinCompactionLagMs
		if s.end > r.UpTo || open || young {
			break
		}
	}
	return n
}

// cleanable is the size of the segments that a pass would take and that have records which weren't cleaned yet, and the
// end of the last of them; 0 while they aren't worth a pass.
func (l *Log) cleanable(r *CleanRules) (dirtyBytes, end int64) {
	closed := l.segments.live()[:l.closed(r)]
	total, overdue := int64(0), false
	for i := range closed {
		s := &closed[i]
		total += int64(s.used)
		if s.end > l.cleanTo {
			if dirtyBytes == 0 {
				overdue = l.config.overdue(s, r.NowMs)
			}
			dirtyBytes += int64(s.used)
		}
		end = s.end
	}
	if !overdue && float64(dirtyBytes) <= l.config.MinCleanableDirtyRatio*float64(total) {
		return 0, end
	}
	return dirtyBytes, end
}

// overdue: the first record that wasn't cleaned has waited for longer than max.compaction.lag.ms.
func (c *Config) overdue(s *segment, nowMs int64) bool {
	ms := s.batch(0).MaxTimestamp()
	if ms < 0 {
		ms = s.firstMs
	}
	return tooEarly(ms, nowMs, c.MaxCompactionLagMs)
}

// Step does the next piece of work on l, most of the time for less than half a millisecond: the piece is at least one
// batch. more: the pass isn't over. The work may have been nothing.
//
// ErrStorage: there is no memory. The pass is given up; what it has put in place stays.
func (c *Cleaner) Step(l *Log, r *CleanRules) (more bool, err error) {
	if l.cleaning == nil && l.CleanDue(r) {
		err = l.beginClean(r)
	}
	p := l.cleaning
	if p == nil {
		return false, err
	}
	c.work = stepWork - c.shorter
	switch {
	case p.table.cleared < len(p.table.mem):
		p.table.clear()
		return true, nil
	case p.mapping:
		c.mapKeys(l, r)
		return true, nil
	}
	done, err := c.copySegments(l, r)
	if err == nil && !done {
		return true, nil
	}
	if err == nil {
		l.cleanTo, l.horizonMs = p.mapped, p.horizonMs
	}
	l.abandonClean()
	return false, err
}

// beginClean begins a pass over what is closed, of which there is something.
func (l *Log) beginClean(r *CleanRules) error {
	dirty, end := l.cleanable(r)
	table, err := newKeyTable(l.pool, dirty, l.config.Use)
	if err != nil {
		return err
	}
	segments := l.segments.live()
	if last := &segments[len(segments)-1]; last.end <= end {
		last.sealed = true // nobody will add to what is being copied
	}
	from := max(l.cleanTo, l.start)
	l.cleaning = &cleaning{
		nowMs: r.NowMs, keepMs: l.config.deleteHorizon(r.NowMs), table: table, from: from, end: end, next: from, mapping: true, mapped: from,
		memory: int64(len(table.mem)), running: map[int64]struct{}{},
	}
	return nil
}

// abandonClean ends the pass, over or not.
func (l *Log) abandonClean() {
	if p := l.cleaning; p != nil {
		p.discardCopy()
		p.table.slab.Release()
		l.cleaning = nil
	}
}

// cleanTruncated: what lay at and above the offset is no part of the log any more.
func (l *Log) cleanTruncated(to int64) {
	l.cleanTo = min(l.cleanTo, to)
	if l.cleaning != nil && to < l.cleaning.end {
		l.abandonClean()
	}
}

// mapKeys fills the table with what comes next.
func (c *Cleaner) mapKeys(l *Log, r *CleanRules) {
	p := l.cleaning
	for b := range l.Batches(p.next, p.end) {
		if c.work <= 0 {
			return
		}
		c.work -= workOf(b)
		if !b.IsControl() && !r.aborted(b) && !c.mapBatch(p, b) {
			p.beginCopy(l)
			return
		}
		p.next = b.LastOffset() + 1
		p.mapped = p.next
	}
	p.mapped = max(p.mapped, p.end)
	p.beginCopy(l)
}

// mapBatch notes the keys of a batch; false: the table is full. A batch that can't be read will be left as it is.
func (c *Cleaner) mapBatch(p *cleaning, b record.Batch) (room bool) {
	base := b.BaseOffset()
	err := b.Each(&c.hashes, func(r record.Record) error {
		offset := base + int64(r.OffsetDelta)
		if offset < p.from || r.Key == nil {
			return nil
		}
		if !p.table.put(hashOf(r.Key), offset) {
			return errTableFull
		}
		p.mapped = offset + 1
		return nil
	})
	return err != errTableFull
}

func (p *cleaning) beginCopy(l *Log) {
	p.mapping = false
	p.sources = math.MinInt64 // the first step finds where the log begins
}

func (r *CleanRules) aborted(b record.Batch) bool {
	return b.IsTransactional() && r.Aborted != nil && r.Aborted(b)
}

// stays returns what is to stay of a batch: nil, b itself, or a batch in the filter's memory.
func (c *Cleaner) stays(p *cleaning, r *CleanRules, b record.Batch) record.Batch {
	kept := b
	switch {
	case b.IsControl():
		kept = c.markerStays(p, b)
	case b.Count() == 0:
		p.traverse(b)
		kept = nil
	default:
		p.traverse(b)
		if kept = nil; !r.aborted(b) {
			kept = c.recordsStay(p, b)
		}
	}
	if kept == nil && (b.LastOffset()+1 == p.end || b.HasProducerID() && r.KeepEmpty != nil && r.KeepEmpty(b)) {
		// Also the last batch of all stays, or followers would wait for offsets that never come.
		kept = c.filter.Empty(b)
	}
	if kept != nil {
		if ms, has := kept.DeleteHorizon(); has && ms >= p.nowMs {
			p.horizonMs = max(p.horizonMs, ms)
		}
	}
	return kept
}

func (p *cleaning) traverse(b record.Batch) {
	if b.IsTransactional() {
		p.running[b.ProducerID()] = struct{}{}
	}
}

// markerStays: the marker at the end of a transaction stays as long as a batch of it is in the log, and then for
// delete.retention.ms.
func (c *Cleaner) markerStays(p *cleaning, b record.Batch) record.Batch {
	if _, some := p.running[b.ProducerID()]; some || b.Count() == 0 {
		delete(p.running, b.ProducerID())
		if b.Count() == 0 {
			return nil
		}
		return b
	}
	if ms, has := b.DeleteHorizon(); has {
		if ms <= p.nowMs {
			return nil
		}
		return b
	}
	marked, err := c.filter.SetDeleteHorizon(b, p.keepMs)
	if err != nil {
		return b
	}
	return marked
}

// recordsStay is the rule of compaction.
func (c *Cleaner) recordsStay(p *cleaning, b record.Batch) record.Batch {
	base := b.BaseOffset()
	horizon, has := b.DeleteHorizon()
	tombstonesGo := has && horizon <= p.nowMs
	kept, err := c.filter.Retain(b, p.keepMs, func(r record.Record) bool {
		offset := base + int64(r.OffsetDelta)
		switch {
		case offset >= p.mapped:
			return true
		case r.Key == nil: // it was written before the topic was compacted
			return false
		case r.Value == nil && tombstonesGo:
			return false
		}
		return offset >= p.table.last(hashOf(r.Key))
	})
	if err != nil {
		return b
	}
	return kept
}

// deleteHorizon is when tombstones go that the cleaner meets first at nowMs.
func (c *Config) deleteHorizon(nowMs int64) int64 {
	if c.DeleteRetentionMs > math.MaxInt64-nowMs {
		return math.MaxInt64
	}
	return nowMs + c.DeleteRetentionMs
}
