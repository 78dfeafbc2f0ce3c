// Package proc reads what a process costs, from the kernel's own accounts, and the shape of the machine it runs on.
//
//	a := proc.Read(pid)          CPU clock, RSS, context switches, threads, read and write calls
//	… load …
//	used := proc.Read(pid).Since(a)
//
// The CPU clock of a process counts nanoseconds over all its threads, finished ones too, and needs no cooperation: it
// is the figure that survives a noisy machine, because time spent waiting for a core isn't in it. (Cold caches are, so
// ratios still need runs that alternate.)
//
// Counting all system calls needs perf, or strace, which slows its subject down tenfold: so CountCalls is for a moment
// of its own beside the measured one, and says by which of them it counted, or that neither can be used here.
//
// # Where it works
//
// Everything here reads /proc, so on systems other than Linux Read gives nothing and says so by Known = false; the
// harness then leaves those columns empty.
//
// # Invariants
//
//   - A process that is gone reads as zeros with Known = false, never as an error: it may end at any time.
//   - Counters only grow; Since never gives less than zero.
package proc
