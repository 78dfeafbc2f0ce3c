package slab

import "golang.org/x/sys/unix"

// mapBytes maps n bytes of fresh zero memory; n is a multiple of the page size.
//
// NORESERVE: the pool's own limit is the budget, and a region that is only partly
// handed out shall not count against the system's overcommit limit. DONTDUMP: no
// message byte may reach a disk in a core dump. NOHUGEPAGE: a first touch would zero
// 2 MiB, measured at more than twice the cost per byte of small pages, and giving back
// a single slab would split the page again. The advices may be unknown to the kernel
// (NOHUGEPAGE is EINVAL where huge pages are compiled out); memory is good without them.
func mapBytes(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(b, unix.MADV_DONTDUMP)
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	return b, nil
}

// giveBack lets the system take the pages of b; they read as zero afterwards.
func giveBack(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) }
