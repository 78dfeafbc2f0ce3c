package plog

import (
	"fmt"
	"testing"

	"millrace/protocol"
	"millrace/protocol/record"
	"millrace/slab"
)

// benchLog is a log that keeps 64 MiB, filled once over: its pages have been
// touched.
func benchLog(b *testing.B, batch record.Batch) *Log {
	c := DefaultConfig()
	c.RetentionBytes = 64 << 20
	pool := slab.NewPool(slab.Options{LimitBytes: 256 << 20})
	l := New(pool, c, 0)
	b.Cleanup(func() {
		l.Close()
		pool.Close()
	})
	for l.EndOffset()*int64(len(batch)) < 130<<20 {
		appendOne(b, l, batch)
	}
	return l
}

func appendOne(b *testing.B, l *Log, batch record.Batch) {
	if _, err := l.Append(batch, 0, testMs); err != nil {
		b.Fatal(err)
	}
	l.Retain(testMs, forAll)
}

// Append with retention at work, into pages that have been touched before.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 1000, 16 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			batch := sized(record.None, size-80, testMs)
			l := benchLog(b, batch)
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				appendOne(b, l, batch)
			}
		})
	}
}

// Read of up to 1 MiB at the tail and somewhere in a log of small batches.
func BenchmarkRead(b *testing.B) {
	batch := sized(record.None, 100, testMs)
	l := benchLog(b, batch)
	for _, c := range []struct {
		name     string
		back     int64
		maxBytes int
	}{
		{"last batch", 1, 1 << 20},
		{"tail of 10", 10, 1 << 20},
		{"tail of 300", 300, 1 << 20},
		{"1 MiB in the middle", 200_000, 1 << 20},
		{"16 KiB in the middle", 200_001, 16 << 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			views := make([]protocol.View, 0, 8)
			b.ReportAllocs()
			for b.Loop() {
				var err error
				views, _, err = l.Read(l.EndOffset()-c.back, c.maxBytes, l.EndOffset(), true, views[:0])
				if err != nil || len(views) == 0 {
					b.Fatal(err)
				}
				release(views)
			}
		})
	}
}

func BenchmarkOffsetForTime(b *testing.B) {
	l := benchLog(b, sized(record.None, 100, testMs))
	for i := range int64(1000) {
		appendOne(b, l, sized(record.None, 100, testMs+1000+i))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, found := l.OffsetForTime(testMs+1500, forAll); !found {
			b.Fatal("nothing found")
		}
	}
}
