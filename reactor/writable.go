package reactor

import (
	"fmt"
	"sync"
)

// writable waits for room in sockets, which gnet tells nobody about: a second poller
// with one goroutine for all connections of the reactor. Few sockets are full at a
// time, so what counts is that the others cost nothing.
type writable struct {
	poll waitPoller
	done chan struct{}

	mu    sync.Mutex
	conns map[int]*Conn // by descriptor; guarded by mu
}

func newWritable() (*writable, error) {
	w := &writable{conns: map[int]*Conn{}, done: make(chan struct{})}
	if err := w.poll.open(); err != nil {
		return nil, fmt.Errorf("poller for room in sockets: %w", err)
	}
	go w.run()
	return w, nil
}

// await has the connection go on when its socket has room, once; without output only
// when it breaks, where the poller can tell that.
func (w *writable) await(c *Conn, output bool) error {
	w.mu.Lock()
	known := w.conns[c.fd] == c
	w.conns[c.fd] = c
	w.mu.Unlock()
	return w.poll.arm(c.fd, known, output)
}

// forget must come before the descriptor is closed. An event that was on its way may
// then find another connection under the same number, which does no harm.
func (w *writable) forget(c *Conn) {
	w.mu.Lock()
	known := w.conns[c.fd] == c
	if known {
		delete(w.conns, c.fd)
	}
	w.mu.Unlock()
	if known {
		w.poll.disarm(c.fd)
	}
}

func (w *writable) run() {
	defer close(w.done)
	var fds []int
	for {
		var more bool
		if fds, more = w.poll.wait(fds[:0]); !more {
			return
		}
		for _, fd := range fds {
			w.mu.Lock()
			c := w.conns[fd]
			w.mu.Unlock()
			if c != nil {
				c.hasRoom.Store(true)
				c.notify()
			}
		}
	}
}

func (w *writable) close() {
	w.poll.interrupt()
	<-w.done
	w.poll.close()
}
