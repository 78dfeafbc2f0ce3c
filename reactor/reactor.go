package reactor

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"millrace/jobs"
	"millrace/slab"

	"github.com/panjf2000/gnet/v2"
	"go.uber.org/zap"
)

const (
	// readBufferBytes is what gnet reads before it asks us; what it reads is copied,
	// what we read ourselves is not. Against 64 KiB: 0.8 times the CPU with a frame of
	// 64 KiB on each of 1,000 connections, 0.97 with 1 KiB frames eight at a time, no
	// difference that stands out at 16 and 64 KiB eight at a time. 16 KiB: 0.94.
	readBufferBytes = 4 << 10

	inFlightBytesDefault     = 64 << 20
	outboundBytesDefault     = 256 << 20
	connOutboundBytesDefault = 1 << 20
	sweepIntervalDefault     = 500 * time.Millisecond
)

// Options of a reactor. Zero means the default.
type Options struct {
	// Loops is the number of event loops. Default: half of GOMAXPROCS, at least 1. A
	// loop can fill a core, and the workers and the clients want some, too.
	Loops int
	// Slabs is where frames are received. It must be there and outlive the reactor.
	Slabs *slab.Pool
	// Log gets one line per event that an operator acts on. Default: nothing.
	Log *zap.Logger
	// InFlightBytesMax bounds the frames (and 256 bytes for each) that were handed to
	// handlers and aren't answered, over all connections. At the limit all reading
	// stops until half of it is answered. Default 64 MiB.
	InFlightBytesMax int64
	// OutboundBytesMax bounds the answers that sockets haven't taken, over all
	// connections. Above it, connections that have unsent bytes start no request.
	// Default 256 MiB.
	OutboundBytesMax int64
	// ConnOutboundBytesMax is the same for a single connection. An answer may exceed
	// it; the next request then waits. Default 1 MiB.
	ConnOutboundBytesMax int64
	// SweepInterval is how often timeouts are looked at, and so their grain.
	// Default 500 ms.
	SweepInterval time.Duration
}

func (o *Options) setDefaults() error {
	if o.Slabs == nil {
		return errors.New("reactor: Options.Slabs is missing")
	}
	if o.Loops < 0 || o.InFlightBytesMax < 0 || o.OutboundBytesMax < 0 ||
		o.ConnOutboundBytesMax < 0 || o.SweepInterval < 0 {
		return errors.New("reactor: an option is negative")
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	setDefault(&o.Loops, max(1, runtime.GOMAXPROCS(0)/2))
	setDefault(&o.InFlightBytesMax, inFlightBytesDefault)
	setDefault(&o.OutboundBytesMax, outboundBytesDefault)
	setDefault(&o.ConnOutboundBytesMax, connOutboundBytesDefault)
	setDefault(&o.SweepInterval, sweepIntervalDefault)
	return nil
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// Reactor is a set of event loops that listeners share.
type Reactor struct {
	o      Options
	client *gnet.Client
	loops  []*loop
	gate   *jobs.Gate
	begun  time.Time

	outbound atomic.Int64 // bytes that sockets haven't taken
	conns    atomic.Int64
	lastID   atomic.Uint64
	canPause bool // the poller passed the test; see probe.go
	writable *writable

	mu        sync.Mutex
	listeners map[*Listener]struct{}
	closed    bool

	sweepStop chan struct{}
	sweepDone chan struct{}
}

// Start starts the loops. They have nothing to do until Listen.
func Start(o Options) (*Reactor, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	r := &Reactor{
		o: o, gate: jobs.NewGate(o.InFlightBytesMax), begun: time.Now(),
		listeners: map[*Listener]struct{}{},
		sweepStop: make(chan struct{}), sweepDone: make(chan struct{}),
	}
	var err error
	// TCPDelay keeps gnet from setting TCP_NODELAY itself (net has done so), because it
	// leaks the descriptor when that fails on a connection that is already gone.
	r.client, err = gnet.NewClient(&handler{}, gnet.WithNumEventLoop(o.Loops), gnet.WithReadBufferCap(readBufferBytes),
		gnet.WithTCPNoDelay(gnet.TCPDelay), gnet.WithLogger(quietLogger{o.Log.Named("gnet").Sugar()}))
	if err != nil {
		return nil, fmt.Errorf("reactor: %w", err)
	}
	if err := r.client.Start(); err != nil {
		return nil, fmt.Errorf("reactor: event loops: %w", err)
	}
	if err := r.meetLoops(); err != nil {
		_ = r.client.Stop()
		return nil, err
	}
	if r.writable, err = newWritable(); err != nil {
		_ = r.client.Stop()
		return nil, fmt.Errorf("reactor: %w", err)
	}
	go r.sweep()
	return r, nil
}

// Close closes all listeners with their connections and stops the loops. It returns
// when nothing of the reactor runs any more. Not to be called from a Handler, which
// runs on a loop. A second call does nothing.
func (r *Reactor) Close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.closed = true
	open := make([]*Listener, 0, len(r.listeners))
	for ln := range r.listeners {
		open = append(open, ln)
	}
	r.mu.Unlock()

	for _, ln := range open {
		ln.Close()
	}
	close(r.sweepStop)
	<-r.sweepDone
	r.writable.close()
	for _, l := range r.loops {
		l.stop()
	}
	_ = r.client.Stop()
	for _, l := range r.loops {
		l.arena.drop()
	}
}

// Stats of a reactor at one moment.
type Stats struct {
	Connections   int64
	InFlightBytes int64 // frames handed to handlers, not yet answered
	OutboundBytes int64 // answers that sockets haven't taken
	CanPause      bool  // false: a client that sends on while it must wait is cut off at 4 MiB
}

// Stats returns figures for an operator.
func (r *Reactor) Stats() Stats {
	return Stats{Connections: r.conns.Load(), InFlightBytes: r.gate.InFlight(),
		OutboundBytes: r.outbound.Load(), CanPause: r.canPause}
}

// loopOf finds the loop of a connection. There are few, so a scan beats a map.
func (r *Reactor) loopOf(events gnet.EventLoop) *loop {
	for _, l := range r.loops {
		if l.events == events {
			return l
		}
	}
	panic("reactor: a connection on an unknown event loop")
}

// resident is what lives in a gnet connection's context and takes its events.
type resident interface {
	opened(gc gnet.Conn) gnet.Action
	traffic(gc gnet.Conn)
	gone(err error)
}

// handler passes gnet's events on to whom they concern.
type handler struct{ gnet.BuiltinEventEngine }

func (handler) OnOpen(gc gnet.Conn) ([]byte, gnet.Action) {
	return nil, gc.Context().(resident).opened(gc)
}

func (handler) OnTraffic(gc gnet.Conn) gnet.Action {
	gc.Context().(resident).traffic(gc)
	return gnet.None
}

func (handler) OnClose(gc gnet.Conn, err error) gnet.Action {
	gc.Context().(resident).gone(err)
	return gnet.None
}

// quietLogger takes what gnet says. Its warnings are about events of connections that
// were closed a moment ago, which is nobody's concern.
type quietLogger struct{ log *zap.SugaredLogger }

func (q quietLogger) Debugf(f string, a ...any) { q.log.Debugf(f, a...) }
func (q quietLogger) Infof(f string, a ...any)  { q.log.Debugf(f, a...) }
func (q quietLogger) Warnf(f string, a ...any)  { q.log.Debugf(f, a...) }
func (q quietLogger) Errorf(f string, a ...any) { q.log.Warnf(f, a...) }
func (q quietLogger) Fatalf(f string, a ...any) { q.log.Fatalf(f, a...) }
