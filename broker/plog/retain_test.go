package plog

import (
	"errors"
	"testing"

	"millrace/protocol/record"
)

func TestRetainByBytes(t *testing.T) {
	c := DefaultConfig()
	c.RetentionBytes = 100_000
	l := newLog(t, c)
	for range 1000 {
		fill(t, l, 1, 900, testMs)
		l.Retain(testMs, forAll)
		// Kept are retention.bytes at least, and a segment more at most.
		if end := l.EndOffset() * 900; l.SizeBytes() < min(end, 100_000)*9/10 || l.SizeBytes() > 126_000 {
			t.Fatalf("%d bytes kept of %d", l.SizeBytes(), end)
		}
	}
	if l.MemoryBytes() > 200_000 {
		t.Errorf("%d bytes of memory for retention.bytes of 100000", l.MemoryBytes())
	}
}

// A segment goes if just retention.bytes are left then.
func TestRetainExactBytes(t *testing.T) {
	for _, c := range []struct{ above, wantStart int64 }{{0, 0}, {-1, 0}, {1, 4}} {
		l := newLog(t, DefaultConfig())
		fill(t, l, 10, 1000, testMs) // 4 in the first slab, 6 in the second
		config := DefaultConfig()
		config.RetentionBytes = int64(l.segments.last().used) + 1 - c.above
		l.SetConfig(config)
		if l.Retain(testMs, forAll); l.StartOffset() != c.wantStart {
			t.Errorf("retention.bytes %d for %d bytes: starts at %d, want %d", config.RetentionBytes, l.SizeBytes(), l.StartOffset(), c.wantStart)
		}
	}
}

func TestRetainByTime(t *testing.T) {
	c := DefaultConfig()
	c.RetentionMs = 1000
	l := newLog(t, c)
	for i := range int64(30) { // some segments of 4, 16 … KiB
		fill(t, l, 1, 2000, testMs+i*100)
	}
	oldest := func() int64 {
		b, err := read(l, l.StartOffset(), 1, forAll, true)
		if err != nil || len(b) == 0 {
			return -1
		}
		return record.Batch(b).MaxTimestamp() - testMs
	}
	for _, c := range []struct{ at, high, want int64 }{
		{1000, forAll, 0},    // the first segment's last record is just 1000 old at 1100
		{1100, forAll, 0},    //
		{1101, 1, 0},         // above the high watermark
		{1101, forAll, 200},  // two batches in 4 KiB
		{3900, forAll, 1000}, // segments of 16 KiB go as a whole
		{3901, forAll, -1},   // the last one too
	} {
		l.Retain(testMs+c.at, c.high)
		if got := oldest(); got != c.want {
			t.Errorf("at %d: oldest is %d, want %d", c.at, got, c.want)
		}
	}
	if l.StartOffset() != 30 || l.EndOffset() != 30 || l.SizeBytes() != 0 || l.MemoryBytes() != 0 {
		t.Errorf("the log is [%d, %d), %d bytes", l.StartOffset(), l.EndOffset(), l.SizeBytes())
	}
	fill(t, l, 1, 200, testMs)
	if b, err := read(l, 30, 1, forAll, true); err != nil || record.Batch(b).BaseOffset() != 30 {
		t.Errorf("after all was dropped: %v", err)
	}
}

// Without timestamps the time of arrival counts.
func TestRetainWithoutTimestamps(t *testing.T) {
	c := DefaultConfig()
	c.RetentionMs = 1000
	l := newLog(t, c)
	mustAppend(t, l, batch(record.None, -1, -1), 0, testMs)
	if l.Retain(testMs+1000, forAll) != 0 || l.Retain(testMs+1001, forAll) == 0 {
		t.Errorf("the log starts at %d", l.StartOffset())
	}
}

// retention.ms can be changed at any time.
func TestRetentionChanges(t *testing.T) {
	c := DefaultConfig()
	c.RetentionMs = -1
	l := newLog(t, c)
	fill(t, l, 100, 1000, testMs)
	if l.Retain(testMs+1<<50, forAll) != 0 {
		t.Error("unlimited retention dropped something")
	}
	c.RetentionMs = 5
	l.SetConfig(c)
	if l.Config().RetentionMs != 5 || l.Retain(testMs+6, forAll) == 0 || l.StartOffset() != 100 {
		t.Errorf("the log starts at %d", l.StartOffset())
	}
}

func TestDeleteRecords(t *testing.T) {
	l := newLog(t, DefaultConfig())
	fill(t, l, 100, 1000, testMs)
	memory := l.MemoryBytes()
	for _, c := range []struct {
		before, start int64
		err           error
	}{
		{5, 5, nil}, {5, 5, nil}, {3, 5, nil}, {-7, 5, nil}, {101, 5, ErrOffsetOutOfRange},
		{60, 60, nil}, {100, 100, nil}, {100, 100, nil},
	} {
		if err := l.DeleteRecords(c.before); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%d: %v", c.before, err)
		}
		if l.StartOffset() != c.start {
			t.Errorf("%d: starts at %d, want %d", c.before, l.StartOffset(), c.start)
		}
		if _, err := read(l, c.start-1, 1, forAll, true); !errors.Is(err, ErrOffsetOutOfRange) {
			t.Errorf("%d: below the start: %v", c.before, err)
		}
		if _, err := read(l, c.start, 1, forAll, true); err != nil {
			t.Errorf("%d: at the start: %v", c.before, err)
		}
		if c.before == 60 && l.MemoryBytes() >= memory {
			t.Error("no memory came back")
		}
	}
	if l.SizeBytes() != 0 || l.MemoryBytes() != 0 {
		t.Errorf("%d bytes in %d left", l.SizeBytes(), l.MemoryBytes())
	}
}

// Records with old timestamps stay until the next check would have come, as on Apache Kafka.
func TestOldTimestampsOutliveTheCheck(t *testing.T) {
	const old = testMs - 1_000_000
	for _, c := range []struct{ retentionMs, checkMs, ageMs, start int64 }{
		{1000, 300, 299, 0}, {1000, 300, 300, 1}, // the check comes before retention.ms is over
		{200, 300, 199, 0}, {200, 300, 200, 1}, // and never after it
	} {
		config := DefaultConfig()
		config.RetentionMs, config.RetentionCheckMs = c.retentionMs, c.checkMs
		l := newLog(t, config)
		mustAppend(t, l, batch(record.None, old), 0, testMs)
		if l.Retain(testMs+c.ageMs, forAll); l.StartOffset() != c.start {
			t.Errorf("%+v: the log starts at %d", c, l.StartOffset())
		}
	}
}
