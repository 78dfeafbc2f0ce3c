package record

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/snappy/xerial"
	"github.com/klauspost/compress/zstd"
)

func TestEachStops(t *testing.T) {
	stop := errors.New("stop")
	for _, codec := range codecs {
		b := build(t, Options{Codec: codec}, testMs, testMs+1, testMs+2)
		n := 0
		err := b.Each(nil, func(r Record) error {
			if n++; n == 2 {
				return stop
			}
			return nil
		})
		if err != stop || n != 2 {
			t.Errorf("%s: %v after %d records", codec, err, n)
		}
	}
}

// One scratch serves batch after batch of all codecs.
func TestScratchIsReused(t *testing.T) {
	rng := seeded(t)
	scratch := new(Scratch)
	var b Builder
	for range 50 {
		codec := codecs[rng.IntN(len(codecs))]
		want := randomRecords(rng, 1+rng.IntN(30))
		b.Reset(Options{Codec: codec})
		for _, r := range want {
			b.Append(r)
		}
		i := 0
		err := b.Bytes().Each(scratch, func(got Record) error {
			if len(got.Headers) == 0 {
				got.Headers = nil
			}
			if diff := cmp.Diff(want[i], got, asBytes); diff != "" {
				t.Fatalf("%s: record %d (-want +got):\n%s", codec, i, diff)
			}
			i++
			return nil
		})
		if err != nil || i != len(want) {
			t.Fatalf("%s: %d of %d records, error %v", codec, i, len(want), err)
		}
	}
}

// A batch that compaction has thinned out has gaps in its deltas.
func TestEachWithGaps(t *testing.T) {
	b := wrap(None, 2, []byte{12, 0, 0, 2, 1, 1, 0, 12, 0, 0, 10, 1, 1, 0})
	b.SetBaseOffset(100)
	var offsets []int64
	for _, r := range all(t, b) {
		offsets = append(offsets, b.BaseOffset()+int64(r.OffsetDelta))
	}
	if want := []int64{101, 105}; !cmp.Equal(offsets, want) {
		t.Errorf("got %v, want %v", offsets, want)
	}
}

// Look-ups by time against the obvious way.
func TestTimes(t *testing.T) {
	rng := seeded(t)
	for range 300 {
		codec := codecs[rng.IntN(len(codecs))]
		stamps := make([]int64, 1+rng.IntN(20))
		for i := range stamps {
			stamps[i] = testMs + rng.Int64N(20)
		}
		b := build(t, Options{Codec: codec, BaseOffset: 10}, stamps...)
		from, upTo := 8+rng.Int64N(15), 8+rng.Int64N(30)
		target := testMs + rng.Int64N(22) - 1

		type found struct {
			Offset, Ms int64
			Found      bool
		}
		var first, largest found
		for i, ms := range stamps {
			o := int64(10 + i)
			if o < from || o >= upTo {
				continue
			}
			if ms >= target && !first.Found {
				first = found{o, ms, true}
			}
			if !largest.Found || ms > largest.Ms {
				largest = found{o, ms, true}
			}
		}
		o, ms, ok, err := b.FirstAtOrAfter(nil, target, from, upTo)
		if got := (found{o, ms, ok}); got != first || err != nil {
			t.Fatalf("FirstAtOrAfter(%d, %d, %d) of %v: got %v, %v, want %v", target, from, upTo, stamps, got, err, first)
		}
		o, ms, ok, err = b.FirstOfMaxTimestamp(nil, from, upTo)
		if got := (found{o, ms, ok}); got != largest || err != nil {
			t.Fatalf("FirstOfMaxTimestamp(%d, %d) of %v: got %v, %v, want %v", from, upTo, stamps, got, err, largest)
		}
	}
}

func TestLogAppendTimeIsEveryRecords(t *testing.T) {
	for _, codec := range codecs {
		b := build(t, Options{Codec: codec, LogAppendTime: true, AppendTimeMs: testMs + 9}, testMs, testMs+1)
		for i, r := range all(t, b) {
			if r.Timestamp != testMs+9 {
				t.Errorf("%s: record %d has %d", codec, i, r.Timestamp)
			}
		}
		if o, ms, found, err := b.FirstAtOrAfter(nil, testMs+5, 0, 9); o != 0 || ms != testMs+9 || !found || err != nil {
			t.Errorf("%s: got %d, %d, %v, %v", codec, o, ms, found, err)
		}
	}
}

// Bombs: what decompresses to more than the bound is refused without having been
// allocated, whatever it claims.
func TestBombs(t *testing.T) {
	const limit = 1 << 20
	large := make([]byte, 16*limit)
	withoutSize, err := zstd.NewWriter(nil, zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]Batch{
		"snappy, claims 4 GiB":   wrap(Snappy, 1, append([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, make([]byte, 100)...)),
		"snappy, claims 900 KB":  wrap(Snappy, 1, append([]byte{0xa0, 0xf7, 0x36}, make([]byte, 100)...)),
		"xerial, block too long": wrap(Snappy, 1, append(append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff), make([]byte, 100)...)),
		"xerial, negative block": wrap(Snappy, 1, append(append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff), make([]byte, 100)...)),
		"xerial, cut":            wrap(Snappy, 1, xerialMagic),
		"zstd, claims 1 TiB":     wrap(Zstd, 1, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0}),
		"zstd, no size":          wrap(Zstd, 1, withoutSize.EncodeAll(large, nil)),
	}
	for name, p := range packers {
		cases[name] = wrap(p.codec, 1, p.pack(large))
	}
	for name, b := range cases {
		s := &Scratch{MaxBytes: limit}
		err := b.Each(s, func(Record) error { return nil })
		if !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%s: %v", name, err)
		}
		if cap(s.buf) > 2*limit {
			t.Errorf("%s: %d bytes kept for a bound of %d", name, cap(s.buf), limit)
		}
	}
}

// A length that the bytes could not fulfil is not allocated.
func TestClaimsAreNotAllocated(t *testing.T) {
	b := wrap(Snappy, 1, append([]byte{0x80, 0x80, 0x80, 0x18}, make([]byte, 100)...)) // 48 MiB
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := b.Each(new(Scratch), func(Record) error { return nil })
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrInvalidRecord) || n > 1<<20 {
		t.Errorf("%d bytes allocated, error %v", n, err)
	}
}

// Xerial's blocks are put together in space that grows.
func TestXerialBlocks(t *testing.T) {
	want := make([]byte, 300_000)
	rng := seeded(t)
	for i := range want {
		want[i] = byte(rng.Uint32())
	}
	s := new(Scratch)
	got, err := s.records(wrap(Snappy, 1, xerial.Encode(nil, want)))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes differ from those packed, error %v", len(got), err)
	}
}

// Just what the bound allows goes through.
func TestUpToTheBound(t *testing.T) {
	value := bytes.Repeat([]byte("z"), 1<<20)
	for _, codec := range codecs[1:] {
		var b Builder
		b.Reset(Options{Codec: codec})
		b.Append(Record{Timestamp: testMs, Value: value})
		size := b.SizeBytes() - HeaderBytes
		batch := b.Bytes()
		for _, c := range []struct {
			bound int
			want  error
		}{{size, nil}, {size - 1, ErrTooLarge}} {
			err := batch.Each(&Scratch{MaxBytes: c.bound}, func(Record) error { return nil })
			if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
				t.Errorf("%s with a bound of %d: %v, want %v", codec, c.bound, err, c.want)
			}
		}
	}
}

func TestVarints(t *testing.T) {
	for _, v := range []int64{0, -1, 1, 63, 64, -64, -65, 8191, 8192, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
		p := appendVarint(nil, v)
		if len(p) != varintBytes(v) {
			t.Errorf("%d takes %d bytes, varintBytes says %d", v, len(p), varintBytes(v))
		}
		if got, next := raw64(p, 0); zigzag64(got) != v || next != len(p) {
			t.Errorf("raw64(%x) = %d, %d, want %d", p, zigzag64(got), next, v)
		}
		if len(p) > 1 {
			if _, next := raw64(p[:len(p)-1], 0); next != -1 {
				t.Errorf("raw64(%x) = %d, cut", p[:len(p)-1], next)
			}
		}
		if v != int64(int32(v)) {
			continue
		}
		if got, next := raw32(p, 0); int64(zigzag32(got)) != v || next != len(p) {
			t.Errorf("raw32(%x) = %d, %d, want %d", p, zigzag32(got), next, v)
		}
	}
}

func TestSequences(t *testing.T) {
	for _, c := range []struct {
		base    int32
		records int
		want    int32
	}{{-1, 3, -1}, {0, 1, 0}, {5, 3, 7}, {math.MaxInt32, 1, math.MaxInt32}, {math.MaxInt32 - 1, 3, 0}} {
		b := build(t, Options{Idempotent: true, BaseSequence: c.base}, make([]int64, c.records)...)
		if got := b.LastSequence(); got != c.want {
			t.Errorf("%d records from %d: last %d, want %d", c.records, c.base, got, c.want)
		}
	}
}

func TestCodecNames(t *testing.T) {
	for _, c := range codecs {
		if got, err := ParseCodec(c.String()); got != c || err != nil {
			t.Errorf("ParseCodec(%q) = %v, %v", c.String(), got, err)
		}
	}
	if _, err := ParseCodec("brotli"); !errors.Is(err, ErrUnsupportedCompression) {
		t.Errorf("brotli: %v", err)
	}
	if got := Codec(6).String(); got != "codec 6" {
		t.Errorf("got %q", got)
	}
}

func TestBuilderPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"empty":         func() { var b Builder; b.Reset(Options{}); b.Bytes() },
		"unknown codec": func() { var b Builder; b.Reset(Options{Codec: 5}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// Bytes may be taken more than once while the batch grows.
func TestBuilderGoesOn(t *testing.T) {
	for _, codec := range codecs {
		var b Builder
		b.Reset(Options{Codec: codec})
		for i := range 3 {
			b.Append(Record{Timestamp: testMs + int64(i), Value: []byte("v")})
			batch := b.Bytes()
			if err := batch.Check(); err != nil || int(batch.Count()) != i+1 || len(all(t, batch)) != i+1 {
				t.Errorf("%s: %d records: %v", codec, batch.Count(), err)
			}
		}
	}
}
