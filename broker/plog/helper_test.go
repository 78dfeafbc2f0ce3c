package plog

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"millrace/protocol"
	"millrace/protocol/record"
	"millrace/slab"
)

const (
	testMs = int64(1_700_000_000_000)
	forAll = math.MaxInt64
)

func newPool(t testing.TB, limitBytes int64) *slab.Pool {
	p := slab.NewPool(slab.Options{LimitBytes: limitBytes})
	t.Cleanup(func() {
		if n := p.Close(); n != 0 {
			t.Errorf("%d slabs were not released", n)
		}
	})
	return p
}

func newLog(t testing.TB, c Config) *Log {
	l := New(newPool(t, 256<<20), c, 0)
	t.Cleanup(l.Close)
	return l
}

// batch makes a batch with one record per timestamp.
func batch(codec record.Codec, timestamps ...int64) record.Batch {
	return sized(codec, 10, timestamps...)
}

func sized(codec record.Codec, valueBytes int, timestamps ...int64) record.Batch {
	var b record.Builder
	b.Reset(record.Options{Codec: codec})
	for i, ms := range timestamps {
		b.Append(record.Record{Timestamp: ms, Key: fmt.Appendf(nil, "k%d", i), Value: bytes.Repeat([]byte{'v'}, valueBytes)})
	}
	return b.Bytes()
}

func mustAppend(t testing.TB, l *Log, b record.Batch, epoch int32, nowMs int64) Appended {
	t.Helper()
	a, err := l.Append(b, epoch, nowMs)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// fill appends n batches of one record each, of about sizeBytes.
func fill(t testing.TB, l *Log, n, sizeBytes int, ms int64) {
	t.Helper()
	for range n {
		mustAppend(t, l, sized(record.None, sizeBytes-80, ms), 0, ms)
	}
}

// read returns what Read finds as one piece, and gives the views back.
func read(l *Log, from int64, maxBytes int, upTo int64, atLeastOne bool) ([]byte, error) {
	views, n, err := l.Read(from, maxBytes, upTo, atLeastOne, nil)
	var out []byte
	for _, v := range views {
		if v.At != 0 || len(v.Bytes) == 0 {
			panic(fmt.Sprintf("view at %d of %d bytes", v.At, len(v.Bytes)))
		}
		out = append(out, v.Bytes...)
	}
	release(views)
	if n != len(out) {
		panic(fmt.Sprintf("Read says %d bytes, the views hold %d", n, len(out)))
	}
	return out, err
}

func release(views []protocol.View) {
	for _, v := range views {
		v.Slab.Release()
	}
}

// offsets are the base offsets of the batches in b.
func offsets(t testing.TB, b []byte) []int64 {
	t.Helper()
	out := []int64{}
	for len(b) > 0 {
		one, rest, err := record.Next(b)
		if err != nil {
			t.Fatal(err)
		}
		if one.CRC() != one.ComputeCRC() {
			t.Fatalf("batch at %d: wrong CRC", one.BaseOffset())
		}
		out = append(out, one.BaseOffset())
		b = rest
	}
	return out
}

func seeded(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
