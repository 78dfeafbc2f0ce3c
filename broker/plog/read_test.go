package plog

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"millrace/protocol/record"

	"github.com/google/go-cmp/cmp"
)

// Batches of 1, 2, 3 … records.
func stairs(t *testing.T, l *Log, n int) {
	for i := range n {
		mustAppend(t, l, batch(record.None, make([]int64, i+1)...), 0, testMs)
	}
}

func TestRead(t *testing.T) {
	l := New(newPool(t, 1<<20), DefaultConfig(), 100)
	defer l.Close()
	stairs(t, l, 4) // 100 | 101 102 | 103–105 | 106–109
	size := make([]int, 4)
	for i, from := range []int64{100, 101, 103, 106} {
		b, err := read(l, from, 1, forAll, true)
		if err != nil {
			t.Fatal(err)
		}
		size[i] = len(b)
	}
	for _, c := range []struct {
		name       string
		from       int64
		maxBytes   int
		upTo       int64
		atLeastOne bool
		want       []int64
		err        error
	}{
		{"all", 100, math.MaxInt, forAll, false, []int64{100, 101, 103, 106}, nil},
		{"from inside a batch", 102, math.MaxInt, forAll, false, []int64{101, 103, 106}, nil},
		{"last record", 109, math.MaxInt, forAll, false, []int64{106}, nil},
		{"at the end", 110, math.MaxInt, forAll, true, []int64{}, nil},
		{"beyond the end", 111, math.MaxInt, forAll, true, []int64{}, ErrOffsetOutOfRange},
		{"before the start", 99, math.MaxInt, forAll, true, []int64{}, ErrOffsetOutOfRange},
		{"negative", -1, math.MaxInt, forAll, true, []int64{}, ErrOffsetOutOfRange},
		{"up to a batch", 100, math.MaxInt, 103, false, []int64{100, 101}, nil},
		{"up to inside a batch", 100, math.MaxInt, 105, false, []int64{100, 101}, nil},
		{"up to inside the first batch", 101, math.MaxInt, 102, true, []int64{}, nil},
		{"up to below from", 105, math.MaxInt, 101, true, []int64{}, nil},
		{"just one", 100, size[0], forAll, false, []int64{100}, nil},
		{"just two", 100, size[0] + size[1], forAll, false, []int64{100, 101}, nil},
		{"not quite two", 100, size[0] + size[1] - 1, forAll, false, []int64{100}, nil},
		{"not even one", 101, size[1] - 1, forAll, false, []int64{}, nil},
		{"at least one", 101, size[1] - 1, forAll, true, []int64{101}, nil},
		{"at least one of none", 101, -5, 101, true, []int64{}, nil},
		{"no bytes", 101, 0, forAll, false, []int64{}, nil},
		{"negative bytes", 101, -1, forAll, true, []int64{101}, nil},
	} {
		b, err := read(l, c.from, c.maxBytes, c.upTo, c.atLeastOne)
		if got := offsets(t, b); !cmp.Equal(got, c.want) || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: got %v, %v, want %v, %v", c.name, got, err, c.want, c.err)
		}
	}
}

// Every offset of a log of many segments is found, and what follows it.
func TestReadEveryOffset(t *testing.T) {
	l := newLog(t, DefaultConfig())
	fill(t, l, 3000, 500, testMs)
	if l.SegmentCount() < 4 {
		t.Fatalf("only %d segments", l.SegmentCount())
	}
	for from := range l.EndOffset() {
		b, err := read(l, from, 1500, forAll, false)
		want := []int64{from, from + 1, from + 2}
		if got := offsets(t, b); err != nil || !cmp.Equal(got, want[:min(3, 3000-from)]) {
			t.Fatalf("from %d: got %v, %v", from, got, err)
		}
	}
}

// Batches and index share a slab to the last byte: for each size at which a slab
// of 64 KiB is just full with three batches and one or two entries.
func TestFullSlabs(t *testing.T) {
	c := DefaultConfig()
	c.RetentionBytes = 4 * 64 << 10
	overhead := len(sized(record.None, 20_000, testMs)) - 20_000
	for size := 21_825; size <= 21_850; size++ {
		l := newLog(t, c)
		for range 20 {
			mustAppend(t, l, sized(record.None, size-overhead, testMs), 0, testMs)
		}
		for from := range int64(20) {
			b, err := read(l, from, 1, forAll, true)
			if got := offsets(t, b); err != nil || !cmp.Equal(got, []int64{from}) {
				t.Fatalf("batches of %d bytes, from %d: got %v, %v", size, from, got, err)
			}
		}
		l.Close()
	}
}

// Views outlive what they show.
func TestViewsOutliveTheLog(t *testing.T) {
	l := New(newPool(t, 1<<20), DefaultConfig(), 0)
	fill(t, l, 30, 500, testMs)
	views, n, err := l.Read(0, math.MaxInt, forAll, false, nil)
	if err != nil || int64(n) != l.SizeBytes() || len(views) != l.SegmentCount() {
		t.Fatalf("%d views of %d bytes, %v", len(views), n, err)
	}
	var before []byte
	for _, v := range views {
		before = append(before, v.Bytes...)
	}
	fill(t, l, 30, 500, testMs)
	if err := l.DeleteRecords(60); err != nil {
		t.Fatal(err)
	}
	fill(t, l, 30, 500, testMs)
	l.Close()
	l.Close()
	var after []byte
	for _, v := range views {
		if v.Slab.Refs() != 1 && &v != &views[len(views)-1] {
			t.Errorf("%d references on a slab", v.Slab.Refs())
		}
		after = append(after, v.Bytes...)
	}
	if !bytes.Equal(before, after) {
		t.Error("the bytes changed while they were held")
	}
	release(views)
}

func TestBatches(t *testing.T) {
	l := newLog(t, DefaultConfig())
	stairs(t, l, 60)
	var want []int64
	for b := range l.Batches(0, forAll) {
		want = append(want, b.BaseOffset())
	}
	if len(want) != 60 {
		t.Fatalf("%d batches", len(want))
	}
	var got []int64
	for b := range l.Batches(want[10]+3, want[50]) {
		got = append(got, b.BaseOffset())
		if b.BaseOffset() == want[40] {
			break
		}
	}
	if !cmp.Equal(got, want[10:41]) {
		t.Errorf("got %v, want %v", got, want[10:41])
	}
	if err := l.DeleteRecords(want[30]); err != nil {
		t.Fatal(err)
	}
	for b := range l.Batches(0, forAll) {
		if b.BaseOffset() != want[30] {
			t.Errorf("first batch at %d, want %d", b.BaseOffset(), want[30])
		}
		break
	}
}

func TestRecords(t *testing.T) {
	l := newLog(t, DefaultConfig())
	for i := range int64(20) {
		mustAppend(t, l, batch(record.Codec(i%5), testMs+i*10, testMs+i*10+1, testMs+i*10+2), 0, testMs)
		if i == 10 {
			var b record.Builder
			b.Reset(record.Options{Control: true})
			b.Append(record.Record{Timestamp: testMs, Key: []byte{0, 0, 0, 1}})
			mustAppend(t, l, b.Bytes(), 0, testMs)
		}
	}
	var got []int64
	err := l.Records(4, 50, func(offset int64, r record.Record) error {
		got = append(got, offset)
		if want := string("k" + string(rune('0'+r.OffsetDelta))); string(r.Key) != want {
			t.Errorf("offset %d: key %q, want %q", offset, r.Key, want)
		}
		return nil
	})
	var want []int64
	for o := int64(4); o < 50; o++ {
		if o != 33 {
			want = append(want, o)
		}
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	stop := errors.New("stop")
	if err := l.Records(0, forAll, func(int64, record.Record) error { return stop }); err != stop {
		t.Errorf("got %v", err)
	}
}
