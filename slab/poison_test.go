//go:build race || slabpoison

package slab

import (
	"strings"
	"testing"
)

func TestReleasedSlabIsPoisoned(t *testing.T) {
	p := newPool(t, Options{LimitBytes: mib})
	s := get(t, p, 8*kib, UseRecords)
	b := s.Bytes()
	s.Release()
	for i, c := range b {
		if c != poisonByte {
			t.Fatalf("byte %d is %#x", i, c)
		}
	}
	if got := panics(func() { s.Bytes() }); !strings.Contains(got, "Bytes of a released slab") {
		t.Errorf("Bytes after Release: panic %q", got)
	}
}

func TestWriteAfterReleaseIsFound(t *testing.T) {
	p := NewPool(Options{LimitBytes: mib})
	s := get(t, p, 8*kib, UseRecords)
	b := s.Bytes()
	s.Release()
	b[5000] = 1
	if got := panics(func() { _, _ = p.Get(8*kib, UseRecords) }); !strings.Contains(got, "were written to") {
		t.Errorf("Get after a late write: panic %q", got)
	}
}
