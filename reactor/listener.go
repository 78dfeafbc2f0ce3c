package reactor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// Framing is how requests are told apart.
type Framing uint8

const (
	// Frames are Kafka's: a size of four bytes, big endian, then as many bytes.
	Frames Framing = iota
	// Lines are UTF-8 text that ends in LF or CRLF.
	Lines
)

func (f Framing) language() string {
	if f == Lines {
		return "a console command"
	}
	return "a Kafka request"
}

const (
	frameBytesDefault   = 100 << 20 // Kafka's socket.request.max.bytes
	lineBytesDefault    = 64 << 10
	requestsDefault     = 1024
	idleDefault         = 10 * time.Minute // Kafka's connections.max.idle.ms
	firstRequestDefault = time.Minute
	halfRequestDefault  = 30 * time.Second
	halfCloseDefault    = time.Second
)

// ListenerOptions of one listener. Zero means the default; a negative timeout means
// never.
type ListenerOptions struct {
	Framing Framing
	Handler Handler
	// Held leaves connections in the kernel's queue until Begin: the port is taken, its number is known, and whoever
	// comes early waits instead of being turned away.
	Held bool
	// FrameBytesMax is the largest frame (without its size) or line. Default 100 MiB,
	// 64 KiB for lines. A larger frame closes the connection, a longer line is
	// answered with an error and skipped.
	FrameBytesMax int
	// RequestsMax bounds the started requests of one connection that aren't answered.
	// At the limit its socket isn't read. Default 1024.
	RequestsMax int
	// IdleTimeout closes a connection on which nothing moved and for which nothing is
	// being worked on, and one that doesn't take its answers. Default 10 minutes.
	IdleTimeout time.Duration
	// FirstRequestTimeout closes a connection that never sent a whole request.
	// Default: a minute, for lines never.
	FirstRequestTimeout time.Duration
	// HalfRequestTimeout closes a connection that stops in the middle of a request.
	// Default: 30 seconds, for lines never.
	HalfRequestTimeout time.Duration
	// HalfCloseGrace is how long a connection stays whose client has shut down its
	// sending side, while nothing moves and answers are still to come. A client that
	// died while it waited looks just like it, and what is parked for that should be
	// dropped at once. Default: a second; for lines, where a push would find out about
	// the dead, IdleTimeout.
	HalfCloseGrace time.Duration
	// ConnectionsMax and ConnectionsPerIPMax close what is over them at once. 0: none.
	ConnectionsMax, ConnectionsPerIPMax int
	// SendBufferBytes and ReceiveBufferBytes are SO_SNDBUF and SO_RCVBUF. 0 leaves
	// them to the kernel, which is nearly always better.
	SendBufferBytes, ReceiveBufferBytes int
	// BadLine makes the answer to a line that is too long or isn't UTF-8. Default:
	// "ERROR <reason>\n".
	BadLine func(reason string) []byte
}

func (o *ListenerOptions) setDefaults() error {
	if o.Handler == nil {
		return errors.New("ListenerOptions.Handler is missing")
	}
	if o.Framing > Lines || o.FrameBytesMax < 0 || o.RequestsMax < 0 || o.ConnectionsMax < 0 ||
		o.ConnectionsPerIPMax < 0 {
		return errors.New("an option is out of range")
	}
	setDefault(&o.RequestsMax, requestsDefault)
	setDefault(&o.IdleTimeout, idleDefault)
	if o.Framing == Lines {
		setDefault(&o.FrameBytesMax, lineBytesDefault)
		setDefault(&o.HalfCloseGrace, o.IdleTimeout)
	} else {
		setDefault(&o.HalfCloseGrace, halfCloseDefault)
		setDefault(&o.FrameBytesMax, frameBytesDefault)
		setDefault(&o.FirstRequestTimeout, firstRequestDefault)
		setDefault(&o.HalfRequestTimeout, halfRequestDefault)
	}
	if o.BadLine == nil {
		o.BadLine = func(reason string) []byte { return []byte("ERROR " + reason + "\n") }
	}
	return nil
}

// Listener is an open port.
type Listener struct {
	r   *Reactor
	o   ListenerOptions
	log *zap.Logger
	nl  net.Listener

	begun    chan struct{} // closed when connections may be accepted
	begin    sync.Once
	accepted chan struct{} // closed when the accept goroutine has ended
	closing  chan struct{}
	once     sync.Once
	over     rateLimit // of the line about caps
	stuck    rateLimit // of the line about failing to accept

	mu    sync.Mutex
	conns int // admitted and not finished
	perIP map[netip.Addr]int
	none  *sync.Cond // conns has become 0
}

// Listen opens a port: "host:port", port 0 for any free one, which Addr then tells.
// The empty host and "[::]" take IPv4 and IPv6, "0.0.0.0" takes IPv4 only. The error
// wraps the system's (errors.Is(err, syscall.EADDRINUSE): the port is taken).
func (r *Reactor) Listen(addr string, o ListenerOptions) (*Listener, error) {
	if err := o.setDefaults(); err != nil {
		return nil, fmt.Errorf("reactor: listen on %s: %w", addr, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fmt.Errorf("reactor: listen on %s: %w", addr, net.ErrClosed)
	}
	// The keep-alive of net's default finds peers that vanished without a word.
	nl, err := new(net.ListenConfig).Listen(context.Background(), network(addr), addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("reactor: %s is taken by another listener or program: %w", addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reactor: %w", err)
	}
	ln := &Listener{
		r: r, o: o, nl: nl, log: r.o.Log.With(zap.Stringer("listener", nl.Addr())),
		begun: make(chan struct{}), accepted: make(chan struct{}), closing: make(chan struct{}), perIP: map[netip.Addr]int{},
	}
	if !o.Held {
		ln.Begin()
	}
	ln.none = sync.NewCond(&ln.mu)
	r.listeners[ln] = struct{}{}
	go ln.accept()
	return ln, nil
}

// network keeps net from widening 0.0.0.0 to both families.
func network(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "tcp" // Listen will say what is wrong
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}

// Addr returns the address that the listener has, with its real port.
func (ln *Listener) Addr() net.Addr { return ln.nl.Addr() }

// Begin has a listener that is Held accept connections, those first that wait already. More calls do nothing.
func (ln *Listener) Begin() { ln.begin.Do(func() { close(ln.begun) }) }

// Connections returns the number of open connections.
func (ln *Listener) Connections() int {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.conns
}

// Close closes the port and its connections, and returns when Handler.Close was called
// for each. Requests that handlers still work on stay valid until they are answered.
// Not to be called on a loop, so not by a Handler. A second call waits like the first.
func (ln *Listener) Close() {
	ln.once.Do(func() {
		close(ln.closing)
		_ = ln.nl.Close()
		ln.r.mu.Lock()
		delete(ln.r.listeners, ln)
		ln.r.mu.Unlock()
	})
	<-ln.accepted // so that no connection comes in behind us
	for _, l := range ln.r.loops {
		l.call(func() {
			l.each(func(c *Conn) {
				if c.listener == ln {
					c.kill()
				}
			})
		})
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	for ln.conns > 0 {
		ln.none.Wait()
	}
}

// accept takes connections for as long as the port is open.
func (ln *Listener) accept() {
	defer close(ln.accepted)
	select {
	case <-ln.begun:
	case <-ln.closing:
		return
	}
	var pause backoff
	for {
		nc, err := ln.nl.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			err = ln.admit(nc.(*net.TCPConn))
		}
		if err == nil {
			pause.reset()
			continue
		}
		// No descriptors, no buffers: it will not get better by asking at once.
		if n, ok := ln.stuck.allow(time.Now(), 10*time.Second); ok {
			ln.log.Error("can't accept connections, trying again", zap.Error(err), zap.Int("failures", n))
		}
		select {
		case <-time.After(pause.next()):
		case <-ln.closing:
		}
	}
}

// admit hands a connection to a loop, or closes it if it is over a cap. The error says
// that the system lacks something.
func (ln *Listener) admit(nc *net.TCPConn) error {
	c := &Conn{listener: ln, id: ln.r.lastID.Add(1), opening: true,
		local: addrPort(nc.LocalAddr()), remote: addrPort(nc.RemoteAddr())}
	if limit := ln.reserve(c.remote.Addr()); limit != "" {
		_ = nc.Close()
		if n, ok := ln.over.allow(time.Now(), time.Second); ok {
			ln.log.Warn("refused a connection: "+limit, zap.Stringer("client", c.remote),
				zap.Int("refused_since_last_line", n))
		}
		return nil
	}
	if n := ln.o.SendBufferBytes; n > 0 {
		_ = nc.SetWriteBuffer(n)
	}
	if n := ln.o.ReceiveBufferBytes; n > 0 {
		_ = nc.SetReadBuffer(n)
	}
	_, err := ln.r.client.EnrollContext(nc, c)
	// EnrollContext has waited for the loop, so opening can be read. It doesn't tell
	// when the poller refuses the descriptor.
	if c.opening {
		ln.release(c.remote.Addr())
		if err == nil {
			err = errors.New("the event loop refused the connection")
		}
	}
	return err
}

func addrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := t.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// Limit sets ConnectionsMax and ConnectionsPerIPMax anew. Connections that are over them already stay.
func (ln *Listener) Limit(connectionsMax, connectionsPerIPMax int) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.o.ConnectionsMax, ln.o.ConnectionsPerIPMax = connectionsMax, connectionsPerIPMax
}

// reserve counts a connection, or names the cap that forbids it.
func (ln *Listener) reserve(ip netip.Addr) (limit string) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if m := ln.o.ConnectionsMax; m > 0 && ln.conns >= m {
		return fmt.Sprintf("more than %d connections", m)
	}
	if m := ln.o.ConnectionsPerIPMax; m > 0 && ln.perIP[ip] >= m {
		return fmt.Sprintf("more than %d connections from one address", m)
	}
	ln.conns++
	ln.perIP[ip]++
	return ""
}

func (ln *Listener) release(ip netip.Addr) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.perIP[ip]--; ln.perIP[ip] == 0 {
		delete(ln.perIP, ip)
	}
	if ln.conns--; ln.conns == 0 {
		ln.none.Broadcast()
	}
}

// backoff doubles a pause from 5 ms to a second.
type backoff struct{ d time.Duration }

func (b *backoff) reset() { b.d = 0 }

func (b *backoff) next() time.Duration {
	b.d = min(max(2*b.d, 5*time.Millisecond), time.Second)
	return b.d
}

// rateLimit lets one line in a while through and counts the rest. Accept goroutine only.
type rateLimit struct {
	last  time.Time
	count int
}

func (r *rateLimit) allow(now time.Time, every time.Duration) (n int, ok bool) {
	r.count++
	if now.Sub(r.last) < every {
		return 0, false
	}
	n, r.count, r.last = r.count, 0, now
	return n, true
}
