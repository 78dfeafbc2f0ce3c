package slab

import (
	"fmt"
	"testing"
	"time"
)

func BenchmarkGetRelease(b *testing.B) {
	p := NewPool(Options{LimitBytes: 1 << 30})
	b.ReportAllocs()
	for b.Loop() {
		s, _ := p.Get(64*kib, UseRecords)
		s.Release()
	}
}

func BenchmarkGetReleaseParallel(b *testing.B) {
	p := NewPool(Options{LimitBytes: 1 << 30})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			s, _ := p.Get(64*kib, UseRecords)
			s.Release()
		}
	})
}

func BenchmarkRetainRelease(b *testing.B) {
	p := NewPool(Options{LimitBytes: 1 << 30})
	s, _ := p.Get(64*kib, UseRecords)
	for b.Loop() {
		s.Retain()
		s.Release()
	}
}

// BenchmarkWrite shows what the first touch costs: "fresh" gives the slab back to the
// system each time, "reused" takes it from the free list.
func BenchmarkWrite(b *testing.B) {
	for _, fresh := range []bool{true, false} {
		name := "reused"
		if fresh {
			name = "fresh"
		}
		b.Run(name, func(b *testing.B) {
			p := NewPool(Options{LimitBytes: 1 << 30})
			src := make([]byte, mib)
			b.SetBytes(mib)
			for b.Loop() {
				s, _ := p.Get(mib, UseRecords)
				copy(s.Bytes(), src)
				s.Release()
				if fresh {
					p.Trim(0, time.Unix(1, 0))
				}
			}
		})
	}
}

// BenchmarkDrop is what a Get pays at the limit when the free slabs have another size:
// each slab given back alone, as one slab in each region is in use.
func BenchmarkDrop(b *testing.B) {
	for _, size := range []int{4 * kib, 64 * kib, mib} {
		b.Run(fmt.Sprintf("%dKiB", size/kib), func(b *testing.B) {
			p := NewPool(Options{LimitBytes: 1 << 30})
			keep, _ := p.Get(size, UseRecords)
			defer keep.Release()
			for b.Loop() {
				s, _ := p.Get(size, UseRecords)
				for i := 0; i < size; i += 4 * kib {
					s.Bytes()[i] = 1
				}
				s.Release()
				p.Trim(0, time.Unix(1, 0))
			}
		})
	}
}
