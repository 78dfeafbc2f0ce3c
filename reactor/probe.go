package reactor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// gnet has no way to stop reading a socket, so the poller's descriptor is taken out of
// its private fields. That holds for the version in go.mod (a test guards it), and is
// tried out at each start with a real socket. If it doesn't hold, the reactor works
// without: what comes in while a connection is blocked is kept up to heldBytesMax, and
// above that the connection is closed, with a line in the log.

// probe is a connection by which a loop is met and its pausing tried out.
type probe struct {
	gc    gnet.Conn
	peer  *os.File
	bytes atomic.Int64
}

func (p *probe) opened(gc gnet.Conn) gnet.Action {
	p.gc = gc
	return gnet.None
}

func (p *probe) traffic(gc gnet.Conn) {
	b, _ := gc.Next(-1)
	p.bytes.Add(int64(len(b)))
}

func (p *probe) gone(error) {}

// meetLoops finds the event loops, which gnet's client doesn't list, by a connection
// for each: a new one goes to the loop that has the fewest.
func (r *Reactor) meetLoops() error {
	probes := make([]*probe, 0, r.o.Loops)
	defer func() {
		for i, p := range probes {
			r.loops[i].call(func() { _ = p.gc.EventLoop().Close(p.gc) })
			_ = p.peer.Close()
		}
	}()
	for range r.o.Loops {
		p, err := r.newProbe()
		if err != nil {
			return fmt.Errorf("reactor: %w", err)
		}
		probes = append(probes, p)
		r.loops = append(r.loops, newLoop(r, p.gc.EventLoop()))
	}
	r.canPause = true
	for i, p := range probes {
		if err := r.loops[i].tryPause(p); err != nil {
			r.canPause = false
			r.o.Log.Warn("reading can't be paused; a client that sends on while it must wait is cut off",
				zap.Error(err))
			break
		}
	}
	return nil
}

func (r *Reactor) newProbe() (*probe, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	ours, peer := os.NewFile(uintptr(fds[0]), "probe"), os.NewFile(uintptr(fds[1]), "peer")
	defer ours.Close()
	nc, err := net.FileConn(ours)
	if err == nil {
		p := &probe{peer: peer}
		if _, err = r.client.EnrollContext(nc, p); err == nil && p.gc != nil {
			return p, nil
		}
	}
	_ = peer.Close()
	return nil, errors.Join(errors.New("an event loop takes no connection"), err)
}

// tryPause tries both: a byte that comes in while paused isn't read, and afterwards
// it is.
func (l *loop) tryPause(p *probe) error {
	fd, err := pollerFD(l.events)
	if err != nil {
		return err
	}
	l.pauser = pauser{fd}
	var perr error
	if l.call(func() { perr = l.pauser.pause(p.gc.Fd()) }); perr != nil {
		return perr
	}
	if _, err := p.peer.Write([]byte{1}); err != nil {
		return err
	}
	// The byte is ready before the wake-up is, so one turn of the loop would read it.
	// The second is for pollers that don't keep order.
	l.call(func() {})
	l.call(func() {})
	if p.bytes.Load() != 0 {
		return errors.New("a paused socket was read")
	}
	if l.call(func() { perr = l.pauser.resume(p.gc.Fd()) }); perr != nil {
		return perr
	}
	for end := time.Now().Add(time.Second); p.bytes.Load() == 0; l.call(func() {}) {
		if time.Now().After(end) {
			return errors.New("a resumed socket isn't read")
		}
	}
	return nil
}

// pollerFD finds the descriptor of a loop's epoll or kqueue.
func pollerFD(events gnet.EventLoop) (int, error) {
	v := reflect.ValueOf(events)
	for _, name := range []string{"poller", "fd"} {
		if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return 0, fmt.Errorf("gnet has changed: nothing has a field %q", name)
		}
		if v = v.Elem().FieldByName(name); !v.IsValid() {
			return 0, fmt.Errorf("gnet has changed: no field %q", name)
		}
	}
	if !v.CanInt() {
		return 0, errors.New("gnet has changed: fd is no number")
	}
	return int(v.Int()), nil
}
