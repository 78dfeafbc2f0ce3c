package plog

// DeleteRecords makes before the start offset and frees the segments that lie
// wholly below it. At or below StartOffset there is nothing to do.
// ErrOffsetOutOfRange: before is above EndOffset. (The caller holds it to the high
// watermark, and knows what −1 means.)
func (l *Log) DeleteRecords(before int64) error {
	if before > l.end {
		return ErrOffsetOutOfRange
	}
	if before > l.start {
		l.advance(before)
	}
	return nil
}

// Retain drops the oldest segments as retention.bytes and retention.ms say, and
// returns the size of their batches. Only what lies wholly below the high
// watermark goes. As on Apache Kafka, retention.bytes is what is kept at least,
// and a segment's age is that of its largest timestamp; unlike there the last
// segment may go too. Records that are too old when they arrive are kept for
// RetentionCheckMs: on Apache Kafka they live until its next check, and who writes
// such records wants to read them. In the usual case, nothing to drop, Retain
// looks at one segment.
func (l *Log) Retain(nowMs, highWatermark int64) (freedBytes int64) {
	segments := l.segments.live()
	n, size := 0, l.bytes
	for ; n < len(segments) && segments[n].end <= highWatermark; n++ {
		s := &segments[n]
		rest := size - int64(s.used)
		tooMuch := l.config.RetentionBytes >= 0 && rest >= l.config.RetentionBytes
		if !tooMuch && !l.config.tooOld(s, nowMs) {
			break
		}
		size = rest
	}
	if n > 0 {
		freedBytes = l.bytes - size
		l.advance(max(l.start, segments[n-1].end))
	}
	return freedBytes
}

func (c *Config) tooOld(s *segment, nowMs int64) bool {
	return c.RetentionMs >= 0 && nowMs-s.largestMs() > c.RetentionMs &&
		nowMs-s.lastMs >= min(c.RetentionMs, c.RetentionCheckMs)
}

// advance moves the start offset up.
func (l *Log) advance(start int64) {
	l.start = start
	segments := l.segments.live()
	n := 0
	for n < len(segments) && segments[n].end <= start {
		n++
	}
	l.drop(n)
	l.epochs.truncateStart(start)
}

// drop releases the first n segments.
func (l *Log) drop(n int) {
	l.release(l.segments.live()[:n])
	l.segments.drop(n)
}

// release gives the slabs of segments back that are about to be taken out.
func (l *Log) release(segments []segment) {
	for i := range segments {
		l.bytes -= int64(segments[i].used)
		l.memory -= int64(len(segments[i].mem))
		segments[i].slab.Release()
	}
}
