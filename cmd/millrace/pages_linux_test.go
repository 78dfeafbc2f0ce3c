package main

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
)

// TestCleanMappings: only what is the program's, can't be written to and wasn't.
func TestCleanMappings(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "smaps")
	text := "1000-3000 r-xp 00000000 fe:00 1 " + program + "\nRss: 8 kB\nAnonymous:             0 kB\n" +
		"3000-4000 r--p 00002000 fe:00 1 " + program + "\nAnonymous:             4 kB\n" +
		"4000-5000 rw-p 00003000 fe:00 1 " + program + "\nAnonymous:             0 kB\n" +
		"5000-6000 r--p 00000000 fe:00 2 /lib/other\nAnonymous:             0 kB\n" +
		"6000-8000 r--p 00004000 fe:00 1 " + program + "\nAnonymous:             0 kB\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := cleanMappings(path)
	if want := []mapping{{0x1000, 0x3000}, {0x6000, 0x8000}}; err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %x, %v", got, err)
	}
	if own, err := cleanMappings("/proc/self/smaps"); err != nil || len(own) == 0 {
		t.Errorf("this program has %x, %v", own, err)
	}
	forgetStartPages(zap.NewNop())()
}
