package reactor

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"millrace/slab"
)

// A panic in a handler ends the process, and says where it came from.
func TestPanicIsNotSwallowed(t *testing.T) {
	const key = "REACTOR_TEST_PANIC"
	if os.Getenv(key) != "" {
		panicInHandler(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPanicIsNotSwallowed$")
	cmd.Env = append(os.Environ(), key+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: a programmer's error") ||
		!strings.Contains(string(out), "panicInHandler") {
		t.Errorf("%v\n%s", err, out)
	}
}

func panicInHandler(t *testing.T) {
	r, err := Start(Options{Slabs: slab.NewPool(slab.Options{LimitBytes: 64 << 20})})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := r.Listen("127.0.0.1:0", ListenerOptions{Handler: &funcs{serve: func(*Request) {
		panic("a programmer's error")
	}}})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = nc.Write(request(0, 1, 8))
	_, _ = nc.Read(make([]byte, 1))
}
