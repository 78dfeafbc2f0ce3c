package plog

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/protocol/record"
	"millrace/slab"
)

// compacted is the configuration of the examples: small segments, and a pass as soon as something is closed.
func compacted() Config {
	c := DefaultConfig()
	c.Compact, c.MinCleanableDirtyRatio, c.SegmentMs = true, 0, 1000
	return c
}

// keyed makes a batch of records "key=value", "key" for a tombstone.
func keyed(o record.Options, nowMs int64, records ...string) record.Batch {
	var b record.Builder
	b.Reset(o)
	for _, r := range records {
		key, value, some := strings.Cut(r, "=")
		one := record.Record{Timestamp: nowMs, Key: []byte(key)}
		if some {
			one.Value = []byte(value)
		}
		b.Append(one)
	}
	return b.Bytes()
}

// listing is what the log holds, one line for each batch.
func listing(t testing.TB, l *Log) string {
	t.Helper()
	var out strings.Builder
	for b := range l.Batches(0, forAll) {
		fmt.Fprintf(&out, "%d-%d", b.BaseOffset(), b.LastOffset())
		if ms, has := b.DeleteHorizon(); has {
			fmt.Fprintf(&out, " horizon %d", ms-testMs)
		}
		if b.IsControl() {
			out.WriteString(" marker")
		} else if err := b.Each(nil, func(r record.Record) error {
			fmt.Fprintf(&out, " %d:%s", b.BaseOffset()+int64(r.OffsetDelta), r.Key)
			if r.Value != nil {
				fmt.Fprintf(&out, "=%s", r.Value)
			}
			return nil
		}); err != nil {
			out.WriteString(" unreadable")
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// pass does a whole pass and returns its number of steps.
func pass(t testing.TB, l *Log, r CleanRules) (steps int) {
	t.Helper()
	var c Cleaner
	for more := true; more; steps++ {
		var err error
		if more, err = c.Step(l, &r); err != nil {
			t.Fatal(err)
		}
	}
	return steps
}

func check(t *testing.T, what string, l *Log, want ...string) {
	t.Helper()
	if got := listing(t, l); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("%s:\n%swant:\n%s", what, got, strings.Join(want, "\n"))
	}
}

func TestCleanGolden(t *testing.T) {
	c := compacted()
	c.DeleteRetentionMs = 5000
	l := newLog(t, c)
	producer := record.Options{Idempotent: true, ProducerID: 7}
	mustAppend(t, l, keyed(record.Options{}, testMs, "a=1", "b=1", "c=1"), 0, testMs)
	mustAppend(t, l, keyed(record.Options{Codec: record.Lz4}, testMs, "a=2", "d=1"), 0, testMs)
	mustAppend(t, l, keyed(producer, testMs, "e=1"), 0, testMs)
	mustAppend(t, l, keyed(record.Options{}, testMs, "e=2", "b"), 0, testMs)
	mustAppend(t, l, keyed(record.Options{}, testMs, "c=2", "a=3"), 0, testMs)
	rules := CleanRules{NowMs: testMs, UpTo: forAll, KeepEmpty: func(b record.Batch) bool { return b.ProducerID() == 7 }}
	if l.CleanDue(&rules) {
		t.Error("the segment that is written to is due")
	}
	rules.NowMs += 2000
	pass(t, l, rules)
	check(t, "first pass", l, "3-4 4:d=1", "5-5", "6-7 horizon 7000 6:e=2 7:b", "8-9 8:c=2 9:a=3")
	if l.StartOffset() != 0 || l.EndOffset() != 10 || l.SegmentCount() != 1 {
		t.Errorf("[%d, %d) in %d segments", l.StartOffset(), l.EndOffset(), l.SegmentCount())
	}
	if l.CleanDue(&rules) {
		t.Error("due again at once")
	}
	mustAppend(t, l, keyed(record.Options{}, testMs, "c", "a"), 0, rules.NowMs)
	if l.SegmentCount() != 2 {
		t.Error("appended to what was cleaned")
	}
	rules.NowMs += 2000
	pass(t, l, rules)
	check(t, "second pass", l, "3-4 4:d=1", "5-5", "6-7 horizon 7000 6:e=2 7:b", "10-11 horizon 9000 10:c 11:a")
	rules.NowMs = testMs + 8000
	if l.CleanDue(&rules) {
		t.Error("due for the first of the tombstones")
	}
	rules.NowMs = testMs + 9000
	rules.KeepEmpty = nil
	pass(t, l, rules)
	check(t, "tombstones gone", l, "3-4 4:d=1", "6-7 horizon 7000 6:e=2", "10-11")
	if l.EndOffset() != 12 || l.CleanDue(&rules) {
		t.Errorf("end %d, due %v", l.EndOffset(), l.CleanDue(&rules))
	}
	if got, err := read(l, 8, math.MaxInt, forAll, true); err != nil || !slices.Equal(offsets(t, got), []int64{10}) {
		t.Errorf("read at an offset that is gone: %v, %v", offsets(t, got), err)
	}
}

func TestCleanTransactions(t *testing.T) {
	c := compacted()
	c.DeleteRetentionMs = 0
	l := newLog(t, c)
	of := func(id int64) record.Options {
		return record.Options{Idempotent: true, Transactional: true, ProducerID: id}
	}
	marker := func(id int64) record.Batch {
		o := of(id)
		o.Control, o.BaseSequence = true, -1
		return keyed(o, testMs, "\x00\x00\x00\x01=......")
	}
	mustAppend(t, l, keyed(of(1), testMs, "a=1", "b=1"), 0, testMs)
	mustAppend(t, l, keyed(of(2), testMs, "a=aborted"), 0, testMs)
	mustAppend(t, l, marker(1), 0, testMs)
	mustAppend(t, l, marker(2), 0, testMs)
	mustAppend(t, l, keyed(record.Options{}, testMs, "z=1"), 0, testMs)
	rules := CleanRules{NowMs: testMs + 2000, UpTo: forAll, Aborted: func(b record.Batch) bool { return b.ProducerID() == 2 }}
	pass(t, l, rules)
	check(t, "aborted records go", l, "0-1 0:a=1 1:b=1", "3-3 marker", "4-4 marker", "5-5 5:z=1")
	mustAppend(t, l, keyed(record.Options{}, testMs, "a=2", "b=2"), 0, rules.NowMs)
	rules.NowMs += 2000
	pass(t, l, rules)
	check(t, "a marker without records is marked", l, "3-3 marker", "4-4 horizon 4000 marker", "5-5 5:z=1", "6-7 6:a=2 7:b=2")
	rules.NowMs += 2000
	pass(t, l, rules)
	check(t, "and goes when its time is over", l, "3-3 horizon 6000 marker", "5-5 5:z=1", "6-7 6:a=2 7:b=2")
	rules.NowMs += 2000
	pass(t, l, rules)
	check(t, "both", l, "5-5 5:z=1", "6-7 6:a=2 7:b=2")
}

func TestCleanDue(t *testing.T) {
	for name, tt := range map[string]struct {
		set  func(*Config, *CleanRules)
		want bool
	}{
		"as it is":         {func(*Config, *CleanRules) {}, true},
		"not compacted":    {func(c *Config, _ *CleanRules) { c.Compact = false }, false},
		"not committed":    {func(_ *Config, r *CleanRules) { r.UpTo = 1 }, false},
		"open":             {func(c *Config, r *CleanRules) { c.SegmentMs = 1 << 40 }, false},
		"too young":        {func(c *Config, _ *CleanRules) { c.MinCompactionLagMs = 2001 }, false},
		"old enough":       {func(c *Config, _ *CleanRules) { c.MinCompactionLagMs = 2000 }, true},
		"little dirt":      {func(c *Config, _ *CleanRules) { c.MinCleanableDirtyRatio = 1 }, false},
		"too old":          {func(c *Config, _ *CleanRules) { c.MinCleanableDirtyRatio, c.MaxCompactionLagMs = 1, 1500 }, true},
		"not too old":      {func(c *Config, _ *CleanRules) { c.MinCleanableDirtyRatio, c.MaxCompactionLagMs = 1, 2000 }, false},
		"closed for being": {func(c *Config, _ *CleanRules) { c.SegmentMs, c.MaxCompactionLagMs = 1<<40, 1500 }, true},
	} {
		c, r := compacted(), CleanRules{NowMs: testMs + 2000, UpTo: 2}
		l := newLog(t, c)
		mustAppend(t, l, keyed(record.Options{}, testMs, "a=1", "a=2"), 0, testMs)
		tt.set(&c, &r)
		l.SetConfig(c)
		if got := l.CleanDue(&r); got != tt.want {
			t.Errorf("%s: due %v", name, got)
		}
		pass(t, l, r)
		if cleaned := l.cleanTo > 0; cleaned != tt.want {
			t.Errorf("%s: cleaned %v", name, cleaned)
		}
	}
}

// versions appends n batches of one record each, of about sizeBytes, with keys that come round.
func versions(t testing.TB, l *Log, n, keys, sizeBytes int) {
	t.Helper()
	value := strings.Repeat("v", sizeBytes)
	for i := range n {
		mustAppend(t, l, keyed(record.Options{}, testMs, fmt.Sprintf("key-%d=%s", i%keys, value)), 0, testMs)
	}
}

func TestCleanShrinks(t *testing.T) {
	l := newLog(t, compacted())
	versions(t, l, 30_000, 50, 1000)
	bytesBefore, memoryBefore := l.SizeBytes(), l.MemoryBytes()
	views, _, err := l.Read(0, 1<<20, forAll, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := bytes.Clone(views[0].Bytes)
	pass(t, l, CleanRules{NowMs: testMs, UpTo: forAll})
	if l.SizeBytes() > bytesBefore/20 || l.MemoryBytes() > memoryBefore/20 || l.MemoryBytes() > 3<<20 {
		t.Errorf("%d bytes in %d, were %d in %d", l.SizeBytes(), l.MemoryBytes(), bytesBefore, memoryBefore)
	}
	if !bytes.Equal(views[0].Bytes, shown) {
		t.Error("a view has changed")
	}
	release(views)
	if got, want := l.MemoryBytes(), l.pool.Stats().UsedTotal(); got != want {
		t.Errorf("the log says %d bytes, the pool %d", got, want)
	}
}

// Nothing goes wrong when there is no memory: the pass is given up, and comes through when there is some.
func TestCleanWithoutMemory(t *testing.T) {
	pool := newPool(t, 3<<20)
	l := New(pool, compacted(), 0)
	t.Cleanup(l.Close)
	room, err := pool.Get(smallestSlab, slab.UseRecords)
	for i := 0; err == nil; i++ {
		_, err = l.Append(keyed(record.Options{}, testMs, fmt.Sprintf("key-%d=%01000d", i%20, i)), 0, testMs)
	}
	before, end := listing(t, l), l.EndOffset()
	var c Cleaner
	rules := CleanRules{NowMs: testMs + 2000, UpTo: forAll}
	failed := func() {
		more, err := true, error(nil)
		for more {
			more, err = c.Step(l, &rules)
		}
		if !errors.Is(err, ErrStorage) || l.cleaning != nil || l.cleanTo != 0 {
			t.Errorf("%v, cleaned to %d", err, l.cleanTo)
		}
		if listing(t, l) != before || l.EndOffset() != end {
			t.Error("the log has changed")
		}
	}
	failed()
	room.Release() // for a table, and for nothing else
	failed()
	if err := l.DeleteRecords(100); err != nil {
		t.Fatal(err)
	}
	for l.cleanTo < end {
		pass(t, l, rules)
	}
	if l.MemoryBytes() > 64<<10 {
		t.Errorf("%d bytes of memory left", l.MemoryBytes())
	}
}

// More keys than the table has room for take more passes, each of which gets further.
func TestCleanManyKeys(t *testing.T) {
	l := newLog(t, compacted())
	var b record.Builder
	for v := range 3 {
		b.Reset(record.Options{})
		for k := range 20 {
			b.Append(record.Record{Timestamp: testMs, Key: fmt.Appendf(nil, "key-%d", k), Value: fmt.Append(nil, v)})
		}
		mustAppend(t, l, b.Bytes(), 0, testMs)
	}
	rules := CleanRules{NowMs: testMs + 2000, UpTo: forAll}
	var c Cleaner
	passes := 0
	for l.CleanDue(&rules) {
		before := l.cleanTo
		for more := true; more; {
			var err error
			if more, err = c.Step(l, &rules); err != nil {
				t.Fatal(err)
			}
			if p := l.cleaning; p != nil && p.mapping {
				p.table.entries = 10 // of which it fills 8
			}
		}
		if passes++; l.cleanTo != before+8 && l.cleanTo != 60 {
			t.Fatalf("pass %d came from %d to %d", passes, before, l.cleanTo)
		}
	}
	if passes != 8 {
		t.Errorf("%d passes", passes)
	}
	left := 0
	if err := l.Records(0, forAll, func(offset int64, r record.Record) error {
		if left++; string(r.Value) != "2" || offset < 40 {
			t.Errorf("%d: %s=%s", offset, r.Key, r.Value)
		}
		return nil
	}); err != nil || left != 20 {
		t.Errorf("%d records left (%v)", left, err)
	}
}

// A pass that is overtaken by a truncation is given up, and what was cut off counts as not cleaned.
func TestCleanTruncated(t *testing.T) {
	l := newLog(t, compacted())
	versions(t, l, 5000, 5, 1000)
	var c Cleaner
	rules := CleanRules{NowMs: testMs + 2000, UpTo: forAll}
	for range 6 {
		if more, err := c.Step(l, &rules); !more || err != nil {
			t.Fatal(more, err)
		}
	}
	l.Truncate(4000)
	if l.cleaning != nil || l.MemoryBytes() != l.pool.Stats().UsedTotal() {
		t.Error("the pass is still there")
	}
	versions(t, l, 1000, 5, 1000)
	pass(t, l, rules)
	if l.cleanTo != 5000 {
		t.Errorf("cleaned to %d", l.cleanTo)
	}
	l.Truncate(4998)
	if l.cleanTo != 4998 || l.EndOffset() != 4998 {
		t.Errorf("cleaned to %d, end %d", l.cleanTo, l.EndOffset())
	}
	c2 := compacted()
	versions(t, l, 5000, 5, 1000)
	if more, err := c.Step(l, &rules); !more || err != nil {
		t.Fatal(more, err)
	}
	c2.Compact = false
	l.SetConfig(c2)
	if more, err := c.Step(l, &rules); more || err != nil || l.MemoryBytes() != l.pool.Stats().UsedTotal() {
		t.Errorf("goes on with a log that isn't compacted: %v, %v", more, err)
	}
}

// A compressed batch that can't be read stays as it is.
func TestCleanUnreadable(t *testing.T) {
	c := compacted()
	c.Compact = false // else it would be refused
	l := newLog(t, c)
	bad := bytes.Clone(keyed(record.Options{Codec: record.Zstd}, testMs, "a=0"))
	bad[len(bad)-1] ^= 0xff
	bad[record.HeaderBytes] ^= 0xff
	record.Batch(bad).UpdateCRC()
	mustAppend(t, l, keyed(record.Options{}, testMs, "a=1"), 0, testMs)
	mustAppend(t, l, bad, 0, testMs)
	mustAppend(t, l, keyed(record.Options{}, testMs, "a=2"), 0, testMs)
	l.SetConfig(compacted())
	pass(t, l, CleanRules{NowMs: testMs + 2000, UpTo: forAll})
	check(t, "cleaned", l, "1-1 unreadable", "2-2 2:a=2")
	if _, err := l.Append(bad, 0, testMs); !errors.Is(err, record.ErrInvalidRecord) {
		t.Errorf("appended to a compacted log: %v", err)
	}
}

// Records without a key have no place in a compacted log: new ones are refused, old ones go.
func TestCleanNoKey(t *testing.T) {
	var b record.Builder
	b.Reset(record.Options{})
	b.Append(record.Record{Timestamp: testMs, Key: []byte("a"), Value: []byte("1")})
	b.Append(record.Record{Timestamp: testMs, Value: []byte("2")})
	c := compacted()
	c.Compact = false
	l := newLog(t, c)
	mustAppend(t, l, b.Bytes(), 0, testMs)
	l.SetConfig(compacted())
	var without *NoKeyError
	if _, err := l.Append(b.Bytes(), 0, testMs); !errors.As(err, &without) || !slices.Equal(without.Indexes, []int32{1}) || l.EndOffset() != 2 {
		t.Errorf("%v, end %d", err, l.EndOffset())
	}
	pass(t, l, CleanRules{NowMs: testMs + 2000, UpTo: forAll})
	check(t, "cleaned", l, "0-1 0:a=1")
}

// A step is short whatever there is to do. The bound has room for a slow machine with the race detector.
func TestCleanStepsAreShort(t *testing.T) {
	l := newLog(t, compacted())
	var b record.Builder
	for i := range 2000 {
		b.Reset(record.Options{})
		for k := range 100 {
			b.Append(record.Record{Timestamp: testMs, Key: fmt.Appendf(nil, "key-%d", (i*100+k)%30_000), Value: make([]byte, 100)})
		}
		mustAppend(t, l, b.Bytes(), 0, testMs)
	}
	var c Cleaner
	rules := CleanRules{NowMs: testMs + 2000, UpTo: forAll}
	var took []time.Duration
	for more := true; more; {
		began := time.Now()
		var err error
		if more, err = c.Step(l, &rules); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	median, most := took[len(took)/2], took[len(took)-1]
	t.Logf("%d steps, half of them below %v, all below %v", len(took), median, most)
	if median > 10*time.Millisecond {
		t.Errorf("half of the steps took longer than %v", median)
	}
	if l.SizeBytes() > 8<<20 {
		t.Errorf("%d bytes left", l.SizeBytes())
	}
}

// A step allocates no more than what it is made of, however many records it looks at.
func TestCleanAllocatesLittle(t *testing.T) {
	l := newLog(t, compacted())
	var c Cleaner
	rules := CleanRules{NowMs: testMs + 2000, UpTo: forAll}
	steps := 0
	batches := make([]record.Batch, 10_000)
	for i := range batches {
		batches[i] = bytes.Clone(keyed(record.Options{}, testMs, fmt.Sprintf("key-%d=%0500d", i%300, i)))
	}
	total := testing.AllocsPerRun(3, func() {
		for _, b := range batches {
			mustAppend(t, l, b, 0, testMs)
		}
		for more := true; more; steps++ {
			var err error
			if more, err = c.Step(l, &rules); err != nil {
				t.Fatal(err)
			}
		}
	})
	if perStep := total / float64(steps/4); perStep > 20 {
		t.Errorf("%v allocations in each step", perStep)
	} else {
		t.Logf("%v allocations in each step", perStep)
	}
}

func BenchmarkClean(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		l := New(newPool(b, 1<<30), compacted(), 0)
		versions(b, l, 100_000, 5000, 500)
		size := l.SizeBytes()
		b.StartTimer()
		pass(b, l, CleanRules{NowMs: testMs + 2000, UpTo: forAll})
		b.StopTimer()
		b.SetBytes(size)
		l.Close()
		b.StartTimer()
	}
}
