package reactor

import (
	"net"
	"runtime"
	"syscall"
	"testing"
)

// An idle connection costs about a kilobyte of heap, and no slab.
func TestIdleMemory(t *testing.T) {
	const bytesMax = 2 << 10
	conns := min(2000, fileLimit()/2-200)
	f := start(t, Options{})
	h := &funcs{}
	ln := f.listen(ListenerOptions{Handler: h})
	sa := &syscall.SockaddrInet4{Port: ln.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
	before := heap()
	q, answer := request(0, 1, 100), make([]byte, 104)
	for range conns {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Close(fd) }()
		if err := syscall.Connect(fd, sa); err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Write(fd, q); err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Read(fd, answer); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / int64(conns)
	t.Logf("%d bytes of heap for each of %d idle connections", each, conns)
	if each > bytesMax {
		t.Errorf("%d bytes for each idle connection, %d at most", each, bytesMax)
	}
	if used := f.pool.Stats().UsedTotal(); used > int64(len(f.loops))*slabBytes {
		t.Errorf("%d bytes of slabs", used)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
