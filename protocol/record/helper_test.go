package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/snappy/xerial"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const testMs = int64(1_700_000_000_000)

var codecs = []Codec{None, Gzip, Snappy, Lz4, Zstd}

// build makes a batch with one record per timestamp.
func build(t testing.TB, o Options, timestamps ...int64) Batch {
	t.Helper()
	var b Builder
	b.Reset(o)
	for i, ms := range timestamps {
		b.Append(Record{Timestamp: ms, Key: fmt.Appendf(nil, "k%d", i), Value: []byte("value")})
	}
	return b.Bytes()
}

// patched returns a copy of b that f has changed, with the CRC made right.
func patched(b Batch, f func(Batch)) Batch {
	b = bytes.Clone(b)
	f(b)
	b.UpdateCRC()
	return b
}

// wrap makes a batch of one codec around a given records section.
func wrap(codec Codec, count int32, section []byte) Batch {
	b := Batch(make([]byte, HeaderBytes, HeaderBytes+len(section)))
	b = append(b, section...)
	be := binary.BigEndian
	be.PutUint32(b[atLength:], uint32(len(b)-lengthBytes))
	be.PutUint32(b[atLeaderEpoch:], 0xffffffff)
	b[atMagic] = 2
	b[atAttributes+1] = byte(codec)
	be.PutUint32(b[atLastOffsetDelta:], uint32(count-1))
	be.PutUint64(b[atBaseTimestamp:], uint64(testMs))
	be.PutUint64(b[atMaxTimestamp:], uint64(testMs))
	be.PutUint64(b[atProducerID:], 0xffffffffffffffff)
	be.PutUint16(b[atProducerEpoch:], 0xffff)
	be.PutUint32(b[atBaseSequence:], 0xffffffff)
	be.PutUint32(b[atCount:], uint32(count))
	b.UpdateCRC()
	return b
}

// Ways in which clients pack records, by name.
var packers = map[string]struct {
	codec Codec
	pack  func([]byte) []byte
}{
	"gzip": {Gzip, func(p []byte) []byte {
		return written(p, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	}},
	"snappy": {Snappy, func(p []byte) []byte { return snappy.Encode(nil, p) }},
	"xerial": {Snappy, func(p []byte) []byte { return xerial.Encode(nil, p) }},
	"lz4":    {Lz4, func(p []byte) []byte { return written(p, func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) }) }},
	"zstd": {Zstd, func(p []byte) []byte {
		e, err := zstd.NewWriter(nil)
		if err != nil {
			panic(err)
		}
		return e.EncodeAll(p, nil)
	}},
	"zstd stream": {Zstd, func(p []byte) []byte {
		return written(p, func(w io.Writer) io.WriteCloser {
			e, err := zstd.NewWriter(w)
			if err != nil {
				panic(err)
			}
			return e
		})
	}},
}

func written(p []byte, open func(io.Writer) io.WriteCloser) []byte {
	var out bytes.Buffer
	w := open(&out)
	_, err := w.Write(p)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// all returns deep copies of a batch's records.
func all(t testing.TB, b Batch) []Record {
	t.Helper()
	var out []Record
	err := b.Each(nil, func(r Record) error {
		r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		var headers []Header
		for _, h := range r.Headers {
			headers = append(headers, Header{bytes.Clone(h.Key), bytes.Clone(h.Value)})
		}
		r.Headers = headers
		out = append(out, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// randomRecords makes records with nulls, empties, headers and timestamps that
// run both ways.
func randomRecords(rng *rand.Rand, n int) []Record {
	blob := func() []byte {
		switch rng.IntN(5) {
		case 0:
			return nil
		case 1:
			return []byte{}
		case 2:
			return bytes.Repeat([]byte{'x'}, rng.IntN(20_000))
		}
		p := make([]byte, rng.IntN(200))
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		return p
	}
	records := make([]Record, n)
	for i := range records {
		r := Record{OffsetDelta: int32(i), Timestamp: testMs + rng.Int64N(1<<rng.IntN(40)) - rng.Int64N(1<<rng.IntN(40)), Key: blob(), Value: blob()}
		for range rng.IntN(3) {
			r.Headers = append(r.Headers, Header{Key: append([]byte{}, blob()...), Value: blob()})
		}
		records[i] = r
	}
	return records
}

func seeded(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// asBytes compares bytes at once, null apart from empty: cmp's own way looks at
// each byte by reflection.
var asBytes = cmp.Comparer(func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) })
