package record

import (
	"bytes"
	"fmt"
	"testing"
)

// The cost of Check per batch of 16 KiB, beside its CRC alone.
func BenchmarkCheck(b *testing.B) {
	for _, valueBytes := range []int{20, 100, 1000} {
		var builder Builder
		builder.Reset(Options{})
		for i := int64(0); builder.SizeBytes() < 16<<10; i++ {
			builder.Append(Record{Timestamp: testMs + i, Key: []byte("key"), Value: bytes.Repeat([]byte("v"), valueBytes)})
		}
		batch := builder.Bytes()
		b.Run(fmt.Sprintf("check/value=%d", valueBytes), func(b *testing.B) {
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				if err := batch.Check(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("crc/value=%d", valueBytes), func(b *testing.B) {
			b.SetBytes(int64(len(batch)))
			for b.Loop() {
				if batch.ComputeCRC() != batch.CRC() {
					b.Fatal("wrong")
				}
			}
		})
		b.Run(fmt.Sprintf("each/value=%d", valueBytes), func(b *testing.B) {
			b.SetBytes(int64(len(batch)))
			s := new(Scratch)
			for b.Loop() {
				if err := batch.Each(s, func(Record) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, codec := range codecs {
		b.Run(codec.String(), func(b *testing.B) {
			var builder Builder
			value := bytes.Repeat([]byte("value "), 20)
			b.ReportAllocs()
			for b.Loop() {
				builder.Reset(Options{Codec: codec})
				for i := range int64(100) {
					builder.Append(Record{Timestamp: testMs + i, Key: value[:8], Value: value})
				}
				b.SetBytes(int64(builder.SizeBytes()))
				builder.Bytes()
			}
		})
	}
}
