package reactor

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Thousands of connections come and go and leave nothing behind.
func TestManyConnections(t *testing.T) {
	conns := 5000
	if room := fileLimit()/2 - 200; room < conns {
		conns = room
	}
	f := start(t, Options{})
	h := &funcs{}
	ln := f.listen(ListenerOptions{Handler: h})
	dial(t, ln).Close()
	eventually(t, "one has gone", func() bool { return h.closes.Load() == 1 })
	fds, goroutines := openFDs(), runtime.NumGoroutine()

	cs := make([]net.Conn, conns)
	for i := range cs {
		nc, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		cs[i] = nc
	}
	eventually(t, "all are there", func() bool { return ln.Connections() == conns })
	if n := runtime.NumGoroutine(); n > goroutines+5 {
		t.Errorf("%d goroutines with %d connections, %d with none", n, conns, goroutines)
	}
	for i, nc := range cs {
		switch i % 4 {
		case 0:
			_, _ = nc.Write(request(0, i, 100))
		case 1:
			_, _ = nc.Write(request(0, i, 100)[:30])
		case 2:
			_ = nc.(*net.TCPConn).SetLinger(0)
		}
		nc.Close()
	}
	eventually(t, "all are gone", func() bool { return h.closes.Load() == int64(conns)+1 })
	eventually(t, "their descriptors are closed", func() bool { return openFDs() <= fds })
	if n := runtime.NumGoroutine(); n > goroutines+5 {
		t.Errorf("%d goroutines afterwards, %d before", n, goroutines)
	}
}

// Without descriptors the listener waits, with one line, and then goes on.
func TestNoDescriptors(t *testing.T) {
	f := start(t, Options{})
	ln := f.listen(ListenerOptions{Handler: &funcs{}})
	fds := openFDs()
	warm := dial(t, ln)
	warm.send(request(0, 1, 8))
	warm.want(request(0, 1, 8))
	// Accepting takes two descriptors for a moment, and a connection that gets only one
	// is closed. So wait until the second is given back, or there is one left too many.
	eventually(t, "the connection has one descriptor at each end", func() bool { return openFDs() == fds+2 })

	// The client's descriptor is there before there are none left.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "client")
	defer file.Close()
	giveBack := exhaustFiles(t)
	defer giveBack()
	sa := &syscall.SockaddrInet4{Port: ln.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
	if err := syscall.Connect(fd, sa); err != nil {
		t.Fatal(err)
	}
	line := "can't accept connections"
	eventually(t, "a line tells", func() bool { return f.logs.FilterMessageSnippet(line).Len() > 0 })
	warm.send(request(0, 2, 8))
	warm.want(request(0, 2, 8))
	time.Sleep(100 * time.Millisecond) // several attempts
	giveBack()
	if _, err := file.Write(request(0, 3, 8)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 12)
	if _, err := file.Read(got); err != nil || string(got) != string(request(0, 3, 8)) {
		t.Errorf("%x, %v; lines %v", got, err, f.logs.All())
	}
	if n := f.logs.FilterMessageSnippet(line).Len(); n != 1 {
		t.Errorf("%d lines, want one", n)
	}
}

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
		// All at once: with a single descriptor a connection could be accepted, but not
		// handed to its loop.
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
		for _, fd := range fds {
			_ = syscall.Close(fd)
		}
		fds = nil
	}
}
