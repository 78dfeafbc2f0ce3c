//go:build unix && !linux

package slab

import "golang.org/x/sys/unix"

// mapBytes maps n bytes of fresh zero memory; n is a multiple of the page size.
func mapBytes(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

// giveBack lets the system take the pages of b. On the BSDs and on Darwin it takes
// them when it needs them, and until then the old content may still be there.
func giveBack(b []byte) error { return unix.Madvise(b, unix.MADV_FREE) }
