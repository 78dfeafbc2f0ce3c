package slab

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// TestMappingAdvice looks at how the kernel sees a region: no core dump, no huge pages,
// no share in the overcommit account.
func TestMappingAdvice(t *testing.T) {
	p := newPool(t, Options{LimitBytes: 16 * mib})
	s := get(t, p, 4*mib, UseRecords)
	defer s.Release()
	flags := vmFlags(t, uintptr(unsafe.Pointer(&s.Bytes()[0])))
	for _, want := range []string{"dd", "nr"} {
		if !strings.Contains(flags, " "+want) {
			t.Errorf("VmFlags %q lack %s", flags, want)
		}
	}
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err == nil && !strings.Contains(flags, " nh") {
		t.Errorf("VmFlags %q lack nh", flags)
	}
}

// vmFlags returns the flags of the mapping that holds an address.
func vmFlags(t *testing.T, addr uintptr) string {
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	within := false
	for line := range strings.Lines(string(smaps)) {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &lo, &hi); n == 2 {
			within = lo <= addr && addr < hi
		} else if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && within {
			return strings.TrimRight(flags, "\n")
		}
	}
	t.Skip("no VmFlags for the address")
	return ""
}

// TestTrimmedMemoryIsGone sees that the system took the pages: they read as zero.
func TestTrimmedMemoryIsGone(t *testing.T) {
	p := newPool(t, Options{LimitBytes: mib})
	kept, s := get(t, p, 1, UseRecords), get(t, p, 1, UseRecords)
	defer kept.Release()
	b := s.Bytes()
	b[0], kept.Bytes()[0] = 1, 1
	s.Release()
	p.Trim(0, time.Unix(1, 0))
	if b[0] != 0 || kept.Bytes()[0] != 1 {
		t.Fatalf("trimmed byte %d, kept byte %d", b[0], kept.Bytes()[0])
	}
}
