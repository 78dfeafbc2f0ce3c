package plog

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"millrace/protocol/record"
	"millrace/slab"

	"github.com/google/go-cmp/cmp"
)

// The broker sets base offset and leader epoch and leaves the rest alone.
func TestAppendPatches(t *testing.T) {
	l := newLog(t, DefaultConfig())
	b := batch(record.Lz4, testMs+5, testMs, testMs+9)
	before := bytes.Clone(b)
	mustAppend(t, l, batch(record.None, testMs), 3, testMs)
	if got, want := mustAppend(t, l, b, 4, testMs), (Appended{1, 3, -1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !bytes.Equal(b, before) {
		t.Error("Append changed the batch that it was given")
	}
	got, err := read(l, 1, math.MaxInt, forAll, true)
	if err != nil {
		t.Fatal(err)
	}
	want := record.Batch(before)
	want.SetBaseOffset(1)
	want.SetPartitionLeaderEpoch(4)
	if !bytes.Equal(got, want) {
		t.Errorf("stored\n%x\nwant\n%x", got, []byte(want))
	}
}

func TestLogAppendTime(t *testing.T) {
	c := DefaultConfig()
	c.TimestampType = LogAppendTime
	for _, codec := range []record.Codec{record.None, record.Zstd} {
		l := newLog(t, c)
		// Timestamps that CreateTime would refuse don't matter.
		b := batch(codec, testMs+1<<40, 3)
		if got, want := mustAppend(t, l, b, 0, testMs), (Appended{0, 1, testMs}); got != want {
			t.Errorf("%s: got %+v, want %+v", codec, got, want)
		}
		bytes, err := read(l, 0, math.MaxInt, forAll, true)
		if err != nil {
			t.Fatal(err)
		}
		stored := record.Batch(bytes)
		if !stored.IsLogAppendTime() || stored.MaxTimestamp() != testMs || stored.CRC() != stored.ComputeCRC() || stored.Codec() != codec {
			t.Errorf("%s: stored %d, attributes %x, CRC %x of %x", codec, stored.MaxTimestamp(), stored.Attributes(),
				stored.CRC(), stored.ComputeCRC())
		}
		if l.LastTimestamp() != testMs {
			t.Errorf("%s: LastTimestamp is %d", codec, l.LastTimestamp())
		}
		// With the topic back on CreateTime the records keep the broker's time.
		l.SetConfig(DefaultConfig())
		mustAppend(t, l, batch(codec, testMs-7), 0, testMs)
		o, ms, _, found := l.OffsetForTime(testMs-7, forAll)
		if o != 0 || ms != testMs || !found {
			t.Errorf("%s: found %d, %d, %v", codec, o, ms, found)
		}
	}
}

// A01: what Check did not open because it looked plausible stays; what it
// mended is stored as mended.
func TestMaxTimestampIsMended(t *testing.T) {
	for _, codec := range []record.Codec{record.None, record.Gzip, record.Snappy, record.Lz4, record.Zstd} {
		l := newLog(t, DefaultConfig())
		b := batch(codec, testMs, testMs+4, testMs+2)
		b.SetMaxTimestamp(record.NoTimestamp, false)
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, b, 0, testMs)
		if o, ms, _, found := l.OffsetForTime(testMs+3, forAll); o != 1 || ms != testMs+4 || !found {
			t.Errorf("%s: found %d, %d, %v", codec, o, ms, found)
		}
		c := DefaultConfig()
		c.RetentionMs = 1000
		l.SetConfig(c)
		if freed := l.Retain(testMs+1004, forAll); freed != 0 {
			t.Errorf("%s: dropped %d bytes too early", codec, freed)
		}
		if freed := l.Retain(testMs+1005, forAll); freed == 0 {
			t.Errorf("%s: kept after retention.ms", codec)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	config := func(f func(*Config)) Config {
		c := DefaultConfig()
		f(&c)
		return c
	}
	older := config(func(c *Config) { c.TimestampBeforeMaxMs = 1000 })
	appendTime := config(func(c *Config) { c.TimestampType = LogAppendTime })
	claims := batch(record.None, testMs)
	claims.SetMaxTimestamp(testMs, true)
	overstated := batch(record.Lz4, testMs)
	overstated.SetMaxTimestamp(testMs+1<<50, false)
	big := sized(record.None, 5000, testMs)
	for name, c := range map[string]struct {
		config Config
		batch  record.Batch
		want   error
	}{
		"as large as may be":         {config(func(c *Config) { c.MaxMessageBytes = int32(len(big)) }), big, nil},
		"one byte too large":         {config(func(c *Config) { c.MaxMessageBytes = int32(len(big)) - 1 }), big, ErrMessageTooLarge},
		"as large as a segment":      {config(func(c *Config) { c.SegmentBytes = int64(len(big)) }), big, nil},
		"larger than a segment":      {config(func(c *Config) { c.SegmentBytes = int64(len(big)) - 1 }), big, ErrRecordListTooLarge},
		"an hour ahead":              {DefaultConfig(), batch(record.None, testMs+3_600_000), nil},
		"more than an hour ahead":    {DefaultConfig(), batch(record.None, testMs, testMs+3_600_001, testMs), ErrInvalidTimestamp},
		"the same, compressed":       {DefaultConfig(), batch(record.Gzip, testMs, testMs+3_600_001, testMs), ErrInvalidTimestamp},
		"an end of the world":        {DefaultConfig(), batch(record.None, math.MaxInt64), ErrInvalidTimestamp},
		"long ago":                   {DefaultConfig(), batch(record.None, 0), nil},
		"before the epoch":           {DefaultConfig(), batch(record.None, -5000), nil},
		"no timestamp":               {older, batch(record.None, -1, testMs), nil},
		"old":                        {older, batch(record.None, testMs, testMs-1000), nil},
		"too old":                    {older, batch(record.None, testMs, testMs-1001), ErrInvalidTimestamp},
		"too old, first":             {older, batch(record.None, testMs-1001, testMs), ErrInvalidTimestamp},
		"too old, compressed, first": {older, batch(record.Lz4, testMs-1001, testMs), ErrInvalidTimestamp},
		"the oldest there is":        {older, batch(record.None, math.MinInt64), ErrInvalidTimestamp},
		"too old inside compressed":  {older, batch(record.Lz4, testMs+3, testMs-2000), ErrInvalidTimestamp},
		"claims to be append time":   {DefaultConfig(), claims, ErrInvalidTimestamp},
		"claims so where it is":      {appendTime, claims, ErrInvalidTimestamp},
		"overstated, mended":         {DefaultConfig(), overstated, nil},
	} {
		l := newLog(t, c.config)
		mustAppend(t, l, batch(record.None, testMs), 0, testMs)
		before := bytes.Clone(c.batch)
		_, err := l.Append(c.batch, 1, testMs)
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if !bytes.Equal(before, c.batch) {
			t.Errorf("%s: the batch was changed", name)
		}
		if err != nil && (l.EndOffset() != 1 || l.LastEpoch() != 0 || l.LastTimestamp() != testMs) {
			t.Errorf("%s: refused, but the log went on to %d in epoch %d", name, l.EndOffset(), l.LastEpoch())
		}
		if err == nil && name == "overstated, mended" && l.LastTimestamp() != testMs {
			t.Errorf("%s: stored with %d", name, l.LastTimestamp())
		}
	}
}

// A full pool refuses before anything has changed, and appending goes on when
// there is room again.
func TestFullPool(t *testing.T) {
	pool := newPool(t, 64<<10)
	c := DefaultConfig()
	c.RetentionMs = 0
	l := New(pool, c, 7)
	defer l.Close()
	var last error
	for last == nil {
		_, last = l.Append(sized(record.None, 900, testMs), 0, testMs)
	}
	if !errors.Is(last, ErrStorage) || !errors.Is(last, slab.ErrFull) {
		t.Fatalf("got %v", last)
	}
	end, size, segments := l.EndOffset(), l.SizeBytes(), l.SegmentCount()
	if n := testing.AllocsPerRun(10, func() {
		if _, err := l.Append(sized(record.None, 900, testMs), 9, testMs); err == nil {
			t.Fatal("accepted")
		}
	}); n > 30 { // the batch's own
		t.Errorf("%v allocations to refuse", n)
	}
	if l.EndOffset() != end || l.SizeBytes() != size || l.SegmentCount() != segments || l.LastEpoch() != 0 {
		t.Error("a refused append changed the log")
	}
	if used := pool.Stats().UsedTotal(); used < 60<<10 {
		t.Errorf("refused although only %d bytes were used: smaller slabs were left", used)
	}
	if freed := l.Retain(testMs+1, forAll); freed != size {
		t.Errorf("freed %d of %d bytes", freed, size)
	}
	if a := mustAppend(t, l, batch(record.None, testMs), 0, testMs); a.BaseOffset != end {
		t.Errorf("went on at %d, want %d", a.BaseOffset, end)
	}
}

// Slabs grow with the log ×4 up to 1 MiB, and shrink with it.
func TestSlabsGrow(t *testing.T) {
	l := newLog(t, DefaultConfig())
	if l.MemoryBytes() != 0 {
		t.Errorf("an empty log holds %d bytes", l.MemoryBytes())
	}
	fill(t, l, 3000, 1000, testMs)
	var got []int
	for _, s := range l.segments.live() {
		got = append(got, len(s.mem)>>10)
	}
	if want := []int{4, 16, 64, 256, 1024, 1024, 1024}; !cmp.Equal(got, want) {
		t.Errorf("slabs of %v KiB, want %v", got, want)
	}
	if err := l.DeleteRecords(l.EndOffset()); err != nil {
		t.Fatal(err)
	}
	fill(t, l, 1, 1000, testMs)
	if got := l.MemoryBytes(); got != 4<<10 {
		t.Errorf("after all was deleted it goes on with %d bytes, want 4 KiB", got)
	}
}

// Batches near and above the slab size neither waste a slab each nor are cut.
func TestLargeBatches(t *testing.T) {
	c := DefaultConfig()
	c.MaxMessageBytes = 20 << 20
	for name, o := range map[string]struct{ bytes, n, waste int }{
		"300 KiB": {300 << 10, 40, 30},
		"600 KiB": {600 << 10, 40, 30},
		"5 MB":    {5_000_000, 5, 1},
		"19 MB":   {19 << 20, 2, 1},
	} {
		l := newLog(t, c)
		fill(t, l, o.n, o.bytes, testMs)
		if limit := l.SizeBytes() * int64(100+o.waste) / 100; l.MemoryBytes() > limit {
			t.Errorf("%s: %d bytes take %d", name, l.SizeBytes(), l.MemoryBytes())
		}
		got, err := read(l, 1, 1, forAll, true)
		if want := offsets(t, got); err != nil || !cmp.Equal(want, []int64{1}) || len(got) < o.bytes-100 {
			t.Errorf("%s: read %v, %d bytes, %v", name, want, len(got), err)
		}
		l.Close()
	}
}

func TestSegmentsRoll(t *testing.T) {
	for name, o := range map[string]struct {
		change func(*Config)
		want   int // bytes of a full segment, at most
	}{
		"segment.bytes":      {func(c *Config) { c.SegmentBytes = 20_000 }, 20_000},
		"retention.bytes":    {func(c *Config) { c.RetentionBytes = 100_000 }, 25_000},
		"tiny segment.bytes": {func(c *Config) { c.SegmentBytes = 2000 }, 4 << 10},
		"tiny retention":     {func(c *Config) { c.RetentionBytes = 0 }, 4 << 10},
	} {
		c := DefaultConfig()
		o.change(&c)
		l := newLog(t, c)
		fill(t, l, 200, 900, testMs)
		for _, s := range l.segments.live() {
			if s.used > o.want {
				t.Errorf("%s: a segment of %d bytes", name, s.used)
			}
		}
		if waste := l.MemoryBytes() - l.SizeBytes(); waste > l.SizeBytes()*4/10 {
			t.Errorf("%s: %d bytes take %d", name, l.SizeBytes(), l.MemoryBytes())
		}
	}
	c := DefaultConfig()
	c.SegmentMs = 1000
	l := newLog(t, c)
	for i := range int64(5) {
		mustAppend(t, l, batch(record.None, testMs), 0, testMs+i*500)
	}
	if got, want := segmentEnds(l), []int64{3, 5}; !cmp.Equal(got, want) {
		t.Errorf("segment.ms: segments end at %v, want %v", got, want)
	}
}

func TestAppendPanics(t *testing.T) {
	for name, f := range map[string]func(l *Log){
		"epoch backwards": func(l *Log) {
			mustAppend(t, l, batch(record.None, testMs), 5, testMs)
			_, _ = l.Append(batch(record.None, testMs), 4, testMs)
		},
		"negative start": func(l *Log) { New(l.pool, DefaultConfig(), -1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(newLog(t, DefaultConfig()))
		}()
	}
}
