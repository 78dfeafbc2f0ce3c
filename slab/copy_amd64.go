package slab

import "unsafe"

// headBytes is what is copied into the cache all the same.
const headBytes = 128

// streamed copies all but the last bytes, and returns how many that were.
func streamed(dst, src []byte) int {
	head := headBytes + int(-uintptr(unsafe.Pointer(unsafe.SliceData(dst)))&63)
	body := (len(src) - head) &^ 63
	copy(dst[:head], src[:head])
	stream(&dst[head], &src[head], body)
	return head + body
}

// stream copies n bytes, a multiple of 64 above 0, with stores that don't go through the cache, and waits until others
// can see them. dst is aligned to 16 bytes. SSE2, which every amd64 has, is as fast here as AVX.
//
//go:noescape
func stream(dst, src *byte, n int)
