package reactor

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// What probe.go, pause_*.go and linger.go know of gnet's inside was read in this
// version. Before it is raised here, read: Client.EnrollContext, eventloop.close, read
// and register0, conn.processIO, Poller.Trigger and Close.
func TestGnetVersion(t *testing.T) {
	const version = "v2.10.0"
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "github.com/panjf2000/gnet/v2 "+version) {
		t.Errorf("go.mod has another gnet than %s", version)
	}
}

// The poller is found in all loops, and what isn't gnet's is refused.
func TestPollerFD(t *testing.T) {
	f := start(t, Options{Loops: 3})
	seen := map[int]bool{}
	for _, l := range f.loops {
		fd, err := pollerFD(l.events)
		if err != nil || seen[fd] {
			t.Errorf("fd %d, %v", fd, err)
		}
		seen[fd] = true
	}
	type wrong struct {
		gnet.EventLoop
		poller *struct{ fd string }
	}
	for _, events := range []gnet.EventLoop{nil, &wrong{}, &wrong{poller: &struct{ fd string }{}},
		&struct{ gnet.EventLoop }{}} {
		if fd, err := pollerFD(events); err == nil {
			t.Errorf("%T: fd %d", events, fd)
		}
	}
	if !f.Stats().CanPause {
		t.Error("pausing isn't possible")
	}
}

// A reset is noticed although the socket is paused, and so is the end of the stream.
func TestGoneWhilePaused(t *testing.T) {
	f := start(t, Options{})
	p := newPile()
	ln := f.listen(ListenerOptions{Handler: &funcs{serve: p.add}, IdleTimeout: -1})
	for i, reset := range []bool{true, false} {
		c := dial(t, ln)
		for j := range 3 {
			c.send(request(0, j, 100))
		}
		rs := p.take(1)
		time.Sleep(20 * time.Millisecond) // mostly paused then
		if reset {
			setReset(c)
		}
		c.Close()
		if reset {
			eventually(t, name("reset ", i), func() bool { return ln.Connections() == 0 })
			rs[0].Drop()
			continue
		}
		rs[0].Drop()
		for range 2 {
			p.take(1)[0].Drop()
		}
		eventually(t, name("end ", i), func() bool { return ln.Connections() == 0 })
	}
}
