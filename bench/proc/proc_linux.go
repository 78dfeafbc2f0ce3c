package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Read reads the accounts of a process.
func Read(pid int) Usage {
	var u Usage
	cpu, ok := cpuClock(pid)
	if !ok {
		return u
	}
	u.Known, u.CPU = true, cpu
	dir := "/proc/" + strconv.Itoa(pid)
	if f := strings.Fields(readString(dir + "/statm")); len(f) > 1 {
		u.RSSBytes = number(f[1]) * int64(os.Getpagesize())
	}
	tasks, _ := filepath.Glob(dir + "/task/*/status")
	u.Threads = len(tasks)
	for _, t := range tasks {
		s := readString(t)
		u.Switches += field(s, "voluntary_ctxt_switches:") + field(s, "nonvoluntary_ctxt_switches:")
	}
	io := readString(dir + "/io")
	u.ReadCalls, u.WriteCalls = field(io, "syscr:"), field(io, "syscw:")
	return u
}

// CPU reads only the CPU clock of a process: one system call.
func CPU(pid int) time.Duration {
	d, _ := cpuClock(pid)
	return d
}

// cpuClock reads another process's CPU clock. Its id is made as clock_getcpuclockid(3) makes it.
func cpuClock(pid int) (time.Duration, bool) {
	var ts unix.Timespec
	const scheduler, pidMax = 2, 1 << 22
	if pid <= 0 || pid > pidMax { // an id that overflows would name a clock of our own
		return 0, false
	}
	if unix.ClockGettime(int32(^pid<<3|scheduler), &ts) != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// OwnThread is the CPU time of the calling thread.
func OwnThread() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

// Describe gives the shape of this machine.
func Describe() Machine {
	m := Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	for _, line := range strings.Split(readString("/proc/cpuinfo"), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	m.MemoryBytes = field(readString("/proc/meminfo"), "MemTotal:") << 10
	m.Congestion = strings.TrimSpace(readString("/proc/sys/net/ipv4/tcp_congestion_control"))
	return m
}

// Busy is the time that all cores together have worked since the machine started.
func Busy() time.Duration {
	line, _, _ := strings.Cut(readString("/proc/stat"), "\n")
	var ticks int64
	for i, f := range strings.Fields(line) {
		if i > 0 && i != 4 && i != 5 && i < 9 { // neither idle nor waiting for a disk, and guests count as user
			ticks += number(f)
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// CountCalls counts the system calls of a process for a while.
func CountCalls(ctx context.Context, pid int, span time.Duration) (Calls, error) {
	seconds := strconv.FormatFloat(span.Seconds(), 'f', 2, 64)
	ctx, cancel := context.WithTimeout(ctx, span+5*time.Second)
	defer cancel()
	perf := exec.CommandContext(ctx, "perf", "stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p", strconv.Itoa(pid),
		"--", "sleep", seconds)
	out, err := perf.CombinedOutput()
	if err == nil {
		if total, ok := perfCount(out); ok {
			return Calls{By: "perf", Total: total, Span: span}, nil
		}
		err = errors.New("perf counted nothing")
	}
	strace := exec.CommandContext(ctx, "timeout", "-s", "INT", seconds, "strace", "-f", "-qq", "-c", "-p",
		strconv.Itoa(pid))
	out, serr := strace.CombinedOutput()
	if total, ok := straceCount(out); ok {
		return Calls{By: "strace", Total: total, Span: span}, nil
	}
	return Calls{}, fmt.Errorf("system calls can't be counted: perf: %w; strace: %w", err, serr)
}

// perfCount reads perf's line "COUNT,,raw_syscalls:sys_enter,…".
func perfCount(out []byte) (int64, bool) {
	for line := range bytes.Lines(out) {
		count, rest, _ := bytes.Cut(line, []byte(","))
		if bytes.Contains(rest, []byte("raw_syscalls:sys_enter")) {
			n, err := strconv.ParseInt(string(count), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// straceCount reads the calls column of strace's line "100.00 SECONDS USECS CALLS [ERRORS] total".
func straceCount(out []byte) (int64, bool) {
	for line := range bytes.Lines(out) {
		f := strings.Fields(string(line))
		if len(f) >= 5 && f[len(f)-1] == "total" {
			n, err := strconv.ParseInt(f[3], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

func readString(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// field is the number after a name at the start of a line.
func field(s, name string) int64 {
	for line := range strings.Lines(s) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			f, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			return number(f)
		}
	}
	return 0
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
