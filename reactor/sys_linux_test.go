package reactor

import (
	"os"
	"syscall"
	"testing"
)

// openFDs counts the descriptors of this process.
func openFDs() int {
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(es)
}

func fileLimit() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1024
	}
	return int(l.Cur)
}

// exhaustFiles opens descriptors until there are no more.
func exhaustFiles(t *testing.T) (giveBack func()) {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	low := l
	low.Cur = uint64(openFDs() + 20)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	var fds []int
	for {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	return func() {
		for _, fd := range fds {
			_ = syscall.Close(fd)
		}
		fds = nil
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
	}
}
