package slab

// Copy copies src over dst, which must be as long, past the cache if that is worth it: for bytes that will lie in a slab
// for long, and are more than a few pages.
//
// An ordinary copy first reads the memory that it is about to overwrite, and throws out of the cache what was of use
// there. Measured at 256 MiB retained, CPU of a produce request against an ordinary copy: 0.86 with 64 KiB, 0.88 with
// 16 KiB (1.43 and 1.53 times the floor became 1.22 and 1.36). Consumers that read at the end of the log find the bytes
// in memory and not in the cache; no difference stood out there (0.92 and 1.09 with one group and three). The first bytes
// are copied as ever, since a batch's header is patched there afterwards.
//
// The alternative, to leave the batch where the kernel put it, saves this copy, but a slab of requests stays for as long
// as the last batch in it, and needs evacuating.
func Copy(dst, src []byte) {
	if len(dst) != len(src) {
		panic("slab: copy between different lengths")
	}
	if len(src) >= streamBytesMin {
		n := streamed(dst, src)
		dst, src = dst[n:], src[n:]
	}
	copy(dst, src)
}

// streamBytesMin is the least that is streamed.
const streamBytesMin = 8 << 10
