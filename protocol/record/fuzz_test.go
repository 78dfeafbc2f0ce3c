package record

import (
	"bytes"
	"encoding/hex"
	"runtime"
	"strings"
	"testing"
)

func seedCorpus(f *testing.F) {
	for _, codec := range codecs {
		for _, o := range optionCases {
			o.Codec = codec
			f.Add([]byte(build(f, o, testMs+50, testMs, testMs+70)))
		}
	}
	for _, text := range captured {
		wire, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0}, HeaderBytes))
	f.Add(bytes.Repeat([]byte{0xff}, HeaderBytes+10))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: millrace\r\n\r\n"))
}

// FuzzNext cuts batches off until nothing is left. What is cut off and what is
// left are always the whole.
func FuzzNext(f *testing.F) {
	seedCorpus(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		for rest := in; ; {
			b, after, err := Next(rest)
			if err != nil {
				if b != nil || !bytes.Equal(after, rest) {
					t.Fatal("Next took bytes beside an error")
				}
				return
			}
			if len(b) < HeaderBytes || !bytes.Equal(append(bytes.Clone(b), after...), rest) {
				t.Fatalf("Next cut %d bytes into %d and %d", len(rest), len(b), len(after))
			}
			rest = after
		}
	})
}

// FuzzCheck finds a way past the checksum and holds Check to its promises: an
// accepted uncompressed batch yields the records that its header claims, with
// consecutive offsets and the right maximum; a refused one is left alone.
func FuzzCheck(f *testing.F) {
	seedCorpus(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		b, _, err := Next(in)
		if err != nil {
			return
		}
		b = patched(b, func(b Batch) { b.SetBaseOffset(0) })
		before := bytes.Clone(b)
		if b.Check() != nil {
			if !bytes.Equal(before, b) {
				t.Fatal("a refused batch was changed")
			}
			return
		}
		if b.CRC() != b.ComputeCRC() {
			t.Fatal("Check left a wrong CRC")
		}
		if b.Codec() != None {
			return
		}
		n, largest := int32(0), NoTimestamp
		err = b.Each(nil, func(r Record) error {
			if r.OffsetDelta != n {
				t.Fatalf("record %d has delta %d", n, r.OffsetDelta)
			}
			n++
			largest = max(largest, r.Timestamp)
			return nil
		})
		if err != nil || n != b.Count() {
			t.Fatalf("%d records of %d, error %v", n, b.Count(), err)
		}
		if largest != b.MaxTimestamp() && !b.IsLogAppendTime() {
			t.Fatalf("max_timestamp is %d, of the records %d", b.MaxTimestamp(), largest)
		}
	})
}

// FuzzEach reads any bytes as records of any codec, within a bound of memory.
// skim and decode must agree.
func FuzzEach(f *testing.F) {
	for _, p := range packers {
		f.Add(uint8(p.codec), int32(1), p.pack(bytes.Repeat([]byte{12, 0, 0, 0, 1, 1, 0}, 3)))
		f.Add(uint8(p.codec), int32(3), p.pack(build(f, Options{}, testMs, testMs+1, testMs+2).Records()))
	}
	for _, b := range captured {
		wire, _ := hex.DecodeString(strings.Join(strings.Fields(b), ""))
		f.Add(uint8(Batch(wire).Codec()), Batch(wire).Count(), []byte(Batch(wire).Records()))
	}
	const bound = 1 << 20
	// What a decompressor takes beside its output: windows, blocks, tables. Lz4
	// alone asks for blocks of 4 MiB, and takes them from a pool.
	const overhead = 32 << 20
	f.Fuzz(func(t *testing.T, codec uint8, count int32, section []byte) {
		b := wrap(Codec(codec&attrCodec), count, section)
		s := &Scratch{MaxBytes: bound}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		decoded := 0
		eachErr := b.Each(s, func(r Record) error { decoded++; return nil })
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > overhead+4*bound+64*uint64(len(section)) {
			t.Fatalf("%d bytes allocated for %d", n, len(section))
		}
		if cap(s.buf) > 2*bound {
			t.Fatalf("%d bytes kept for a bound of %d", cap(s.buf), bound)
		}
		skimmed := 0
		timesErr := b.Times(s, func(int64, int64) bool { skimmed++; return true })
		if skimmed != decoded || eachErr == nil && timesErr != nil {
			t.Fatalf("Each saw %d records (%v), Times %d (%v)", decoded, eachErr, skimmed, timesErr)
		}
	})
}

// FuzzFilter takes records out of any bytes: what is left can be read and is what was there.
func FuzzFilter(f *testing.F) {
	for _, p := range packers {
		f.Add(uint8(p.codec), int32(3), uint64(0b101), p.pack(build(f, Options{}, testMs, testMs+1, testMs+2).Records()))
	}
	f.Add(uint8(None), int32(3), uint64(6), bytes.Repeat([]byte{12, 0, 0, 0, 1, 1, 0}, 3))
	f.Fuzz(func(t *testing.T, codec uint8, count int32, which uint64, section []byte) {
		b := wrap(Codec(codec&attrCodec), count, section)
		filter := &Filter{scratch: Scratch{MaxBytes: 1 << 20}}
		n, deltas := 0, []int32{}
		kept, err := filter.Retain(b, testMs, func(r Record) bool {
			n++
			if which>>(n%64)&1 != 0 {
				deltas = append(deltas, r.OffsetDelta)
				return true
			}
			return false
		})
		if err != nil {
			return
		}
		if kept == nil {
			kept = filter.Empty(b)
		}
		kept = bytes.Clone(kept)
		if kept.CRC() != kept.ComputeCRC() && len(deltas) < n {
			t.Fatal("wrong CRC")
		}
		err = kept.Each(&Scratch{MaxBytes: 1 << 20}, func(r Record) error {
			if len(deltas) == 0 || r.OffsetDelta != deltas[0] {
				t.Fatalf("record %d, want %d", r.OffsetDelta, deltas)
			}
			deltas = deltas[1:]
			return nil
		})
		if err != nil || len(deltas) > 0 {
			t.Fatalf("%v, %d records missing", err, len(deltas))
		}
	})
}
