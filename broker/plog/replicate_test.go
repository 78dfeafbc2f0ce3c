package plog

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"millrace/protocol"
	"millrace/protocol/record"
	"millrace/slab"
)

// sent makes a batch as a leader has it.
func sent(base int64, epoch int32, b record.Batch) record.Batch {
	b = bytes.Clone(b)
	b.SetBaseOffset(base)
	b.SetPartitionLeaderEpoch(epoch)
	return b
}

// A follower's log is the leader's, byte by byte and epoch by epoch.
func TestReplicated(t *testing.T) {
	c := DefaultConfig()
	c.MaxMessageBytes = 8 << 20
	leader := newLog(t, c)
	for epoch := range int32(4) {
		for codec := record.None; codec <= record.Zstd; codec++ {
			mustAppend(t, leader, batch(codec, testMs-int64(codec), testMs), epoch*2, testMs)
		}
	}
	mustAppend(t, leader, sized(record.None, 5<<20, testMs), 9, testMs)      // above every class of slabs
	c.MaxMessageBytes, c.SegmentBytes, c.TimestampType = 1, 1, LogAppendTime // for leaders only
	follower := newLog(t, c)
	want, err := read(leader, 0, math.MaxInt, forAll, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.AppendReplicated(want, testMs); err != nil {
		t.Fatal(err)
	}
	got, err := read(follower, 0, math.MaxInt, forAll, true)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the follower's log is another (%v)", err)
	}
	if got, want := follower.Epochs(), leader.Epochs(); !slices.Equal(got, want) || len(got) != 5 {
		t.Errorf("epochs %v, want %v", got, want)
	}
	if follower.SizeBytes() != leader.SizeBytes() || follower.LastTimestamp() != testMs {
		t.Errorf("%d bytes, last at %d", follower.SizeBytes(), follower.LastTimestamp())
	}
}

// What doesn't fit is refused, and what came before it stays.
func TestReplicatedRefuses(t *testing.T) {
	one := batch(record.None, testMs, testMs)
	damaged := sent(2, 3, one)
	damaged[len(damaged)-1] ^= 1
	old := sent(2, 3, one)
	old[16] = 1
	backwards := sent(2, 3, one)
	backwards[23] = 0x80 // last offset delta
	backwards.UpdateCRC()
	for name, bad := range map[string][]byte{
		"CRC":                 damaged,
		"magic":               old,
		"cut off":             sent(2, 3, one)[:len(one)-1],
		"cut off early":       sent(2, 3, one)[:5],
		"length":              make([]byte, 100),
		"overlap":             sent(1, 3, one),
		"same again":          sent(0, 3, one),
		"last before first":   backwards,
		"epoch falls":         sent(2, 2, one),
		"no epoch":            sent(2, -1, one),
		"negative offset":     sent(-2, 3, one),
		"last of all offsets": sent(math.MaxInt64-1, 3, one),
	} {
		l := newLog(t, DefaultConfig())
		if err := l.AppendReplicated(append(sent(0, 3, one), bad...), testMs); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if l.EndOffset() != 2 || l.SizeBytes() != int64(len(one)) || l.LastEpoch() != 3 {
			t.Errorf("%s: end %d, %d bytes, epoch %d", name, l.EndOffset(), l.SizeBytes(), l.LastEpoch())
		}
		if err := l.AppendReplicated(sent(2, 3, one), testMs); err != nil {
			t.Errorf("%s: then a good one: %v", name, err)
		}
	}
}

// What the leader has compacted away leaves a gap. It counts as of the epoch behind it.
func TestReplicatedGap(t *testing.T) {
	one := batch(record.None, testMs, testMs)
	l := newLog(t, DefaultConfig())
	if err := l.AppendReplicated(slices.Concat(sent(0, 3, one), sent(10, 4, one), sent(20, 4, one)), testMs); err != nil {
		t.Fatal(err)
	}
	if l.EndOffset() != 22 || !slices.Equal(l.Epochs(), []EpochStart{{3, 0}, {4, 2}}) {
		t.Errorf("end %d, epochs %v", l.EndOffset(), l.Epochs())
	}
	for from, want := range map[int64][]int64{0: {0, 10, 20}, 1: {0, 10, 20}, 2: {10, 20}, 9: {10, 20}, 11: {10, 20}, 12: {20}, 21: {20}, 22: {}} {
		if got, err := read(l, from, math.MaxInt, forAll, true); err != nil || !slices.Equal(offsets(t, got), want) {
			t.Errorf("from %d: %v (%v), want %v", from, offsets(t, got), err, want)
		}
	}
	for upTo, want := range map[int64][]int64{1: {}, 2: {0}, 5: {0}, 10: {0}, 11: {0}, 12: {0, 10}, 21: {0, 10}} {
		if got, err := read(l, 0, math.MaxInt, upTo, true); err != nil || !slices.Equal(offsets(t, got), want) {
			t.Errorf("up to %d: %v (%v), want %v", upTo, offsets(t, got), err, want)
		}
	}
	l.Truncate(15)
	if got, err := read(l, 2, math.MaxInt, forAll, true); err != nil || !slices.Equal(offsets(t, got), []int64{10}) || l.EndOffset() != 15 {
		t.Errorf("cut in a gap: %v, end %d (%v)", offsets(t, got), l.EndOffset(), err)
	}
}

func TestReplicatedIntoFullMemory(t *testing.T) {
	pool := newPool(t, 64<<10)
	l := New(pool, DefaultConfig(), 0)
	t.Cleanup(l.Close)
	var all []byte
	for i := range int64(20) {
		all = append(all, sent(i, 0, sized(record.None, 10<<10, testMs))...)
	}
	if err := l.AppendReplicated(all, testMs); !errors.Is(err, ErrStorage) || !errors.Is(err, slab.ErrFull) {
		t.Fatal(err)
	}
	n := l.EndOffset()
	if got, err := read(l, 0, math.MaxInt, forAll, true); err != nil || n == 0 || !bytes.Equal(got, all[:len(got)]) || len(offsets(t, got)) != int(n) {
		t.Errorf("end %d, %d bytes read (%v)", n, len(got), err)
	}
}

// A log that starts in the middle of the leader's batch takes the whole batch, as
// long as it is empty, and its epoch begins at the start.
func TestReplicatedAcrossTheStart(t *testing.T) {
	three := batch(record.None, testMs+9, testMs, testMs+1)
	for name, tt := range map[string]struct {
		base int64
		ok   bool
	}{"to the start": {7, false}, "across it": {8, true}, "from it on": {10, true}, "behind it": {11, true}} {
		l := NewAt(newPool(t, 1<<20), DefaultConfig(), 10, []EpochStart{{2, 4}, {3, 9}, {5, 11}})
		if got := l.Epochs(); !slices.Equal(got, []EpochStart{{3, 10}}) || l.EpochAt(10) != 3 {
			t.Errorf("%s: epochs %v", name, got)
		}
		err := l.AppendReplicated(sent(tt.base, 3, three), testMs)
		if tt.ok != (err == nil) || !tt.ok && !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if tt.ok && (l.StartOffset() != 10 || l.EndOffset() != tt.base+3 || l.EpochAt(10) != 3) {
			t.Errorf("%s: [%d, %d)", name, l.StartOffset(), l.EndOffset())
		}
		if base := l.end - 1; tt.ok {
			if err := l.AppendReplicated(sent(base, 3, three), testMs); !errors.Is(err, record.ErrCorrupt) {
				t.Errorf("%s: across the end of a log that isn't empty: %v", name, err)
			}
		}
		l.Close()
	}
}

// Views of what is cut off keep showing it, whatever is appended in its place.
func TestTruncateKeepsViews(t *testing.T) {
	l := newLog(t, DefaultConfig())
	fill(t, l, 40, 500, testMs)
	views, _, err := l.Read(0, math.MaxInt, forAll, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	var before [][]byte
	for _, v := range views {
		before = append(before, bytes.Clone(v.Bytes))
	}
	l.Truncate(21)
	for i := range int64(40) {
		if err := l.AppendReplicated(sent(21+i, 1, sized(record.None, 300, testMs)), testMs); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range views {
		if !bytes.Equal(v.Bytes, before[i]) {
			t.Error("a view has changed")
		}
	}
	release(views)
}

func TestTruncate(t *testing.T) {
	l := newLog(t, DefaultConfig())
	one := batch(record.None, testMs, testMs)
	for epoch := range int32(3) { // 0: 0, 1: 2, 2: 4
		mustAppend(t, l, one, epoch, testMs+int64(epoch))
	}
	l.BeginEpoch(5)
	for _, step := range []struct {
		to    int64
		epoch int32
		bytes int
	}{
		{7, 5, 3}, {6, 2, 3}, {5, 2, 2}, {4, 1, 2}, {2, 0, 1}, {0, -1, 0},
	} {
		l.Truncate(step.to)
		if l.EndOffset() != min(step.to, 6) || l.LastEpoch() != step.epoch || l.SizeBytes() != int64(step.bytes*len(one)) {
			t.Errorf("to %d: end %d, epoch %d, %d bytes", step.to, l.EndOffset(), l.LastEpoch(), l.SizeBytes())
		}
	}
	if l.LastTimestamp() != record.NoTimestamp || l.MemoryBytes() != 0 || l.SegmentCount() != 0 {
		t.Errorf("emptied: last at %d, %d bytes in %d segments", l.LastTimestamp(), l.MemoryBytes(), l.SegmentCount())
	}
	mustAppend(t, l, one, 3, testMs)
}

// Replicating allocates no more than appending does.
func TestReplicatedAllocatesNothing(t *testing.T) {
	c := DefaultConfig()
	c.RetentionBytes = 3 << 20
	l := newLog(t, c)
	b := record.Batch(bytes.Clone(sized(record.None, 800, testMs, testMs+1)))
	seen := 0
	round := func() {
		from := l.EndOffset()
		b.SetBaseOffset(from)
		b.SetPartitionLeaderEpoch(1)
		if err := l.AppendReplicated(b, testMs); err != nil {
			t.Fatal(err)
		}
		for range l.Batches(from, l.EndOffset()) {
			seen++
		}
		l.Retain(testMs, forAll)
	}
	for range 20_000 {
		round()
	}
	if n := testing.AllocsPerRun(500, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if int64(seen*2) != l.EndOffset() {
		t.Errorf("saw %d batches of %d", seen, l.EndOffset()/2)
	}
}

// Whatever a leader sends, the log stays one.
func FuzzAppendReplicated(f *testing.F) {
	one := batch(record.None, testMs, testMs)
	f.Add([]byte{})
	f.Add([]byte(sent(10, 0, one)))
	f.Add(append([]byte(sent(9, 0, one)), sent(11, 4, batch(record.Zstd, testMs))...))
	pool := slab.NewPool(slab.Options{LimitBytes: 64 << 20})
	f.Fuzz(func(t *testing.T, in []byte) {
		for i := 0; i+record.HeaderBytes <= len(in); { // or no input would get beyond the CRC
			b, rest, err := record.Next(in[i:])
			if err != nil {
				break
			}
			b.UpdateCRC()
			i = len(in) - len(rest)
		}
		l := New(pool, DefaultConfig(), 10)
		defer l.Close()
		err := l.AppendReplicated(in, testMs)
		if err != nil && !errors.Is(err, record.ErrCorrupt) {
			t.Fatal(err)
		}
		var got []protocol.View
		if got, _, err = l.Read(l.StartOffset(), math.MaxInt, forAll, true, got); err != nil {
			t.Fatal(err)
		}
		defer release(got)
		next := int64(0)
		for b := range l.Batches(0, forAll) {
			if b.BaseOffset() < next {
				t.Fatalf("batch at %d, want %d or more", b.BaseOffset(), next)
			}
			next = b.LastOffset() + 1
		}
		if next != 0 && next != l.EndOffset() {
			t.Fatalf("batches end at %d, the log at %d", next, l.EndOffset())
		}
		l.Truncate((l.StartOffset() + l.EndOffset()) / 2)
	})
}
