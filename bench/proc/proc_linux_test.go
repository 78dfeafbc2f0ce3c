package proc

import (
	"os"
	"testing"
	"time"
)

func TestReadOwnProcess(t *testing.T) {
	before := Read(os.Getpid())
	if !before.Known || before.RSSBytes <= 0 || before.Threads < 1 {
		t.Fatalf("own process reads as %+v", before)
	}
	sink := 0
	for Read(os.Getpid()).Since(before).CPU < 5*time.Millisecond {
		for i := range 100000 {
			sink += i
		}
	}
	used := Read(os.Getpid()).Since(before)
	if !used.Known || used.ReadCalls <= 0 {
		t.Errorf("used: %+v (%d)", used, sink)
	}
	if OwnThread() <= 0 || Busy() <= 0 {
		t.Error("own thread and machine have used no time")
	}
}

func TestReadNobody(t *testing.T) {
	for _, pid := range []int{0, -5, 1 << 24, 1 << 30} {
		if u := Read(pid); u != (Usage{}) {
			t.Errorf("Read(%d) = %+v, want nothing", pid, u)
		}
	}
}

func TestDescribe(t *testing.T) {
	m := Describe()
	if m.Cores < 1 || m.MemoryBytes < 1<<20 || m.Kernel == "" || m.Go == "" {
		t.Errorf("machine: %+v", m)
	}
}

func TestCounts(t *testing.T) {
	tests := []struct {
		name string
		f    func([]byte) (int64, bool)
		in   string
		want int64
		ok   bool
	}{
		{"perf", perfCount, "12345,,raw_syscalls:sys_enter,1000,100.00,,\n", 12345, true},
		{"perf, process gone", perfCount, "<not counted>,,raw_syscalls:sys_enter,0,100.00,,\n", 0, false},
		{"perf, not allowed", perfCount, "Error:\nAccess to performance monitoring …\n", 0, false},
		{"strace", straceCount, "% time seconds usecs/call calls errors syscall\n 60.0 0.1 3 30 read\n" +
			"100.00    0.185302           6     28862      1021 total\n", 28862, true},
		{"strace, no errors", straceCount, "100.00    0.1           6     28 total\n", 28, true},
		{"nothing", straceCount, "", 0, false},
	}
	for _, tt := range tests {
		if got, ok := tt.f([]byte(tt.in)); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %d, %v; want %d, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}
