package link

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// WatchOptions say whom to watch and whom to tell. Up and Refused are called on the watcher's goroutine, one at a time,
// in the order of what happened; they must not block, and must not call Close.
type WatchOptions struct {
	Address string // host:port
	// Up: the broker has answered on a new connection. It comes again after each redial that worked.
	Up func()
	// Refused: the broker had answered, its connection broke, and nobody listens at its address any more: on a machine that
	// is alive, so the process is gone. Told once until the broker answers again.
	Refused func()
	// Listens: it is known that somebody listened at the address, so a refusal counts though no broker has answered yet.
	Listens bool
	Dial    Dial        // nil: plain TCP
	Log     *zap.Logger // nil: none
}

// Watcher keeps a connection to a broker to see it die. See WatchOptions.
//
// The connection carries one request, ApiVersions, and then nothing. When it ends, the next is dialled at once; the
// broker's closing of idle connections is an end like any other, and the redial then works. What fails is tried again
// with pauses that double, and a refusal is one failure more: whoever has the watcher decides for how long it is of use.
type Watcher struct {
	o     WatchOptions
	ctx   context.Context
	stop  context.CancelFunc
	ended chan struct{}
}

// Watch begins to watch a broker.
func Watch(o WatchOptions) *Watcher {
	if o.Dial == nil {
		o.Dial = dialTCP
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	w := &Watcher{o: o, ended: make(chan struct{})}
	w.ctx, w.stop = context.WithCancel(context.Background())
	go w.run()
	return w
}

// Close ends the watching. When it returns nobody is told of anything any more.
func (w *Watcher) Close() {
	w.stop()
	<-w.ended
}

func (w *Watcher) run() {
	defer close(w.ended)
	var pause pause
	seen := w.o.Listens // or has answered since it was last refused
	for w.ctx.Err() == nil {
		began := time.Now()
		up, err := w.hold()
		if w.ctx.Err() != nil {
			return
		}
		w.o.Log.Debug("connection to a broker ended", zap.String("address", w.o.Address), zap.Bool("answered", up), zap.Error(err))
		seen = seen || up
		if seen && errors.Is(err, syscall.ECONNREFUSED) {
			seen = false
			w.o.Refused()
		}
		if up && time.Since(began) >= redialSteady {
			pause.reset()
		}
		pause.wait(w.ctx)
	}
}

// hold keeps one connection until it ends. up: the broker answered on it.
func (w *Watcher) hold() (up bool, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, dialTimeout)
	conn, err := w.o.Dial(ctx, w.o.Address)
	cancel()
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer context.AfterFunc(w.ctx, func() { conn.Close() })()
	if err := w.greet(conn); err != nil {
		return false, err
	}
	w.o.Up()
	var rest [512]byte
	for {
		if _, err := conn.Read(rest[:]); err != nil {
			return true, err
		}
	}
}

// greet shows that there is a broker behind the connection, and not only a kernel or a proxy that accepts.
func (w *Watcher) greet(conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(greetTimeout))
	if _, err := conn.Write(greeting); err != nil {
		return err
	}
	var first [1]byte
	if _, err := conn.Read(first[:]); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

// pause is how long to wait before the next attempt: not at all, then longer and longer.
type pause struct{ next time.Duration }

func (p *pause) reset() { p.next = 0 }

func (p *pause) wait(ctx context.Context) {
	if d := p.next; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	p.next = min(max(2*p.next, redialPauseMin), redialPauseMax)
}
