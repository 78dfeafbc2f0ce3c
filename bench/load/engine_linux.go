package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"millrace/bench/proc"
	"millrace/bench/sock"
)

// flow is what one connection says and how it understands the answers.
type flow interface {
	// fill queues what may be sent now.
	fill(c *client) error
	// receive gets what has arrived and wasn't used yet. It gives how many bytes it used, and how many more it knows
	// to be on their way for the answer at hand (0: it can't tell).
	receive(c *client, b []byte) (used, missing int, err error)
}

// client is one connection.
type client struct {
	out  sock.Outbox
	fd   int
	in   []byte // arrived and not yet used
	need int    // missing of the answer at hand
	flow flow
}

// readAhead is how much is read when nothing is known of the next answer. Beyond an answer at hand less is read, so
// that little has to be moved to the front.
const (
	readAhead    = 64 << 10
	readAheadMin = 4 << 10
)

// receive reads until the socket is drained.
func (c *client) receive() error {
	for {
		ahead := readAhead
		if c.need > 0 {
			ahead = max(c.need, readAheadMin)
		}
		if cap(c.in)-len(c.in) < ahead {
			c.in = append(make([]byte, 0, 2*(len(c.in)+ahead)), c.in...)
		}
		n, errno := sock.Read(c.fd, c.in[len(c.in):][:ahead])
		switch {
		case errno == sock.Again:
			return nil
		case errno == sock.Interrupted:
			continue
		case errno != 0:
			return fmt.Errorf("read: %w", errno)
		case n == 0:
			return fmt.Errorf("the server closed the connection")
		}
		c.in = c.in[:len(c.in)+n]
		used, missing, err := c.flow.receive(c, c.in)
		if err != nil {
			return err
		}
		c.in = c.in[:copy(c.in, c.in[used:])]
		c.need = missing
		if n < ahead {
			return nil
		}
	}
}

// send lets the flow fill the outbox and sends it, as long as both go on. again asks for another turn though nothing
// may arrive: a flow that wants no answers could keep the loop to itself.
func (c *client) send() (again bool, err error) {
	for range 16 {
		if err := c.flow.fill(c); err != nil {
			return false, err
		}
		if c.out.Len() == 0 {
			return false, nil
		}
		if _, err := c.out.Flush(c.fd); err != nil {
			return false, fmt.Errorf("write: %w", err)
		}
		if c.out.Len() > 0 {
			return false, nil // the socket is full
		}
	}
	return true, nil
}

// frames calls f with each whole frame of b, its size cut off.
func frames(b []byte, f func(frame []byte) error) (used, missing int, err error) {
	for len(b)-used >= 4 {
		total := 4 + int(binary.BigEndian.Uint32(b[used:]))
		if total > 256<<20 {
			return used, 0, fmt.Errorf("a frame of %d bytes", total)
		}
		if len(b)-used < total {
			return used, total - (len(b) - used), nil
		}
		if err := f(b[used+4 : used+total]); err != nil {
			return used, 0, err
		}
		used += total
	}
	return used, 0, nil
}

// engine runs the connections of a load on one thread.
type engine struct {
	poller  *sock.Poller
	clients []*client
	// tick is called before each wait. It gives how long to wait at most, and whether to go on.
	tick  func(now time.Time) (wait time.Duration, more bool, err error)
	again []*client // want another turn
}

func newEngine() (*engine, error) {
	p, err := sock.NewPoller()
	if err != nil {
		return nil, err
	}
	return &engine{poller: p}, nil
}

// dial opens a connection for a flow.
func (e *engine) dial(addr string, f flow) (*client, error) {
	fd, err := sock.Dial(addr)
	if err != nil {
		return nil, err
	}
	c := &client{fd: fd, flow: f}
	if err := e.poller.Add(fd, int32(len(e.clients)), sock.In|sock.Out|sock.Edge); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	e.clients = append(e.clients, c)
	return c, nil
}

// close ends all connections. It resets them, so that thousands of runs leave no ports waiting.
func (e *engine) close() {
	for _, c := range e.clients {
		sock.Close(c.fd)
	}
	e.poller.Close()
}

// maxWait is how often ctx is looked at.
const maxWait = 50 * time.Millisecond

// run goes on until tick says no more. It locks its thread, whose CPU clock is the client's cost.
func (e *engine) run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sock.Punctual()
	for _, c := range e.clients {
		if err := e.send(c); err != nil {
			return err
		}
	}
	for {
		wait, more, err := e.tick(time.Now())
		if err != nil || !more {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(e.again) > 0 {
			wait = 0
		}
		events, err := e.poller.Wait(max(min(wait, maxWait), 0))
		if err != nil {
			return err
		}
		if err := e.turns(events); err != nil {
			return err
		}
	}
}

// turns gives each connection that has news, or asked for it, its turn.
func (e *engine) turns(events []sock.Event) error {
	asked := len(e.again)
	for _, ev := range events {
		c := e.clients[ev.Token]
		if ev.In {
			if err := c.receive(); err != nil {
				return err
			}
		}
		if err := e.send(c); err != nil {
			return err
		}
	}
	for _, c := range e.again[:asked] {
		if err := e.send(c); err != nil {
			return err
		}
	}
	e.again = e.again[:copy(e.again, e.again[asked:])]
	return nil
}

func (e *engine) send(c *client) error {
	again, err := c.send()
	if again {
		e.again = append(e.again, c)
	}
	return err
}

// window is the tick of a load with a fill, a warm-up and a measured time; before is called first and may shorten the
// wait. done is called when the window closes.
type window struct {
	meter   *meter
	filled  func() bool // nil: nothing to fill
	before  func(now time.Time) (wait time.Duration)
	drained func() bool // after the window: everything outstanding has come; nil: don't wait
	result  *Result

	warm, end, last time.Time
}

// drainMax is how long answers are waited for after the window of an open loop.
const drainMax = 2 * time.Second

func (w *window) tick(now time.Time) (time.Duration, bool, error) {
	wait := maxWait
	switch {
	case w.result != nil:
		return wait, !w.drained() && now.Before(w.last), nil
	case w.filled != nil:
		if w.filled() {
			w.filled = nil
		}
	case w.warm.IsZero():
		w.warm = now.Add(w.meter.spec.Warm)
	case !w.meter.open:
		if !now.Before(w.warm) {
			w.end = now.Add(w.meter.spec.Run)
			w.meter.begin(now)
		}
	case w.over(now):
		w.result = w.meter.end()
		w.last = now.Add(drainMax)
		return 0, w.drained != nil, nil
	}
	if w.before != nil {
		wait = min(wait, w.before(now))
	}
	return wait, true, nil
}

// over says that the window may close: at its end or with its bytes. On a machine with no time to spare it stays open
// until something was answered, or for long enough to say that nothing is.
func (w *window) over(now time.Time) bool {
	if w.meter.full() {
		return true
	}
	return !now.Before(w.end) && (w.meter.result.Requests > 0 || w.meter.spec.Run == 0 || now.Sub(w.end) > silenceMax)
}

// silenceMax is how long a server may say nothing.
const silenceMax = 10 * time.Second

// ownThread is the clock of the raw clients.
func ownThread() time.Duration { return proc.OwnThread() }
