// Package slab hands out memory that lies outside the Go heap.
//
// Messages live for hours and there are gigabytes of them. On the heap they would
// double the memory (the collector waits until the heap has grown by half or more)
// and be a reason to collect. A Slab is a piece of anonymous mmap with a count of its
// references: the heap holds a small descriptor, the collector never sees the bytes.
//
// # Types
//
// A Pool owns the memory and one budget. A Slab is a piece of it with a Use, which
// says on whose account it is. Sizes are rounded up to classes of 4, 16, 64, 256 KiB,
// 1 MiB and 4 MiB; above that a slab is a mapping of its own, exact to the page.
// Classes below 1 MiB are cut from regions of 1 MiB.
//
// # Ownership
//
// Get returns a slab with one reference, which is the caller's. Whoever keeps a
// slice of Bytes beyond the life of somebody else's reference calls Retain first and
// Release afterwards. The last Release gives the slab back to the pool: from that
// moment its bytes belong to someone else. A count below zero panics.
//
// # Budget
//
// Three sums of bytes matter: used (handed out), free (given back, still resident)
// and the limit. The pool keeps used + free ≤ limit always, so the limit is a ceiling
// on resident memory and not only on what is handed out. Each use has claimed the
// larger of its reserve and what it uses, and the sum of the claims never exceeds
// the limit. So a use inside its reserve is never refused, and records, which have
// no reserve, are refused first.
//
// # Reuse
//
// The first touch of a fresh page costs more than all other work on a record, so
// free slabs are used again before fresh ones are touched, the one freed last first.
// What nobody wanted for a while goes back to the system in Trim.
//
// # Finding use after release
//
// In builds with -race or the tag slabpoison the pool overwrites a released slab,
// reuses the one freed longest ago first, and panics when it finds that someone wrote
// to a free slab. The race detector itself is blind to memory outside the Go heap.
package slab
