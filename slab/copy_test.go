package slab

import (
	"bytes"
	"fmt"
	"testing"
)

func TestCopy(t *testing.T) {
	for _, n := range []int{0, 1, 127, streamBytesMin - 1, streamBytesMin, streamBytesMin + 1, 64<<10 + 61, 1 << 20} {
		for at := range 67 {
			src, dst := make([]byte, n+100), make([]byte, n+200)
			for i := range src {
				src[i] = byte(i*7 + i>>8)
			}
			want := make([]byte, n+200)
			copy(want[at:], src[at/3:at/3+n])
			Copy(dst[at:at+n], src[at/3:at/3+n])
			if !bytes.Equal(dst, want) {
				t.Fatalf("%d bytes to %d differ, or something beside them does", n, at)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("different lengths pass")
		}
	}()
	Copy(make([]byte, 3), make([]byte, 4))
}

// Where the bytes come from is in the cache, where they go isn't, as when records are appended.
func BenchmarkCopy(b *testing.B) {
	pool := NewPool(Options{LimitBytes: 300 << 20})
	var slabs []*Slab
	for range 256 {
		s, err := pool.Get(1<<20, UseRecords)
		if err != nil {
			b.Fatal(err)
		}
		clear(s.Bytes())
		slabs = append(slabs, s)
	}
	src := bytes.Repeat([]byte{1}, 1<<20)
	for _, size := range []int{4 << 10, 8 << 10, 16 << 10, 64 << 10} {
		for name, f := range map[string]func(dst, src []byte){
			"ordinary": func(dst, src []byte) { copy(dst, src) }, "past the cache": Copy,
		} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, name), func(b *testing.B) {
				b.SetBytes(int64(size))
				for at := 0; b.Loop(); at += size {
					from, to := at%(512<<10), at%(1<<20)
					f(slabs[(at>>20)%len(slabs)].Bytes()[to:to+size], src[from:from+size])
				}
			})
		}
	}
	for _, s := range slabs {
		s.Release()
	}
	pool.Close()
}
