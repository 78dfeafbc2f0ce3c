package reactor

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/protocol"
	"millrace/slab"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestMain(m *testing.M) {
	// gnet starts its worker pool when it is imported.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

const patience = 20 * time.Second

// fixture is a reactor whose memory and gate must be empty at the end.
type fixture struct {
	*Reactor
	t    testing.TB
	pool *slab.Pool
	logs *observer.ObservedLogs
}

func start(t testing.TB, o Options) *fixture {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	o.Log = zap.New(core)
	if o.Slabs == nil {
		o.Slabs = slab.NewPool(slab.Options{LimitBytes: 512 << 20})
	}
	if o.SweepInterval == 0 {
		o.SweepInterval = 10 * time.Millisecond
	}
	r, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Reactor: r, t: t, pool: o.Slabs, logs: logs}
	t.Cleanup(func() {
		r.Close()
		if s := r.Stats(); s.Connections != 0 || s.InFlightBytes != 0 || s.OutboundBytes != 0 {
			t.Errorf("after Close: %+v", s)
		}
		if n := f.pool.Close(); n != 0 {
			t.Errorf("%d slabs are still out", n)
		}
	})
	return f
}

func (f *fixture) listen(o ListenerOptions) *Listener {
	f.t.Helper()
	ln, err := f.Listen("127.0.0.1:0", o)
	if err != nil {
		f.t.Fatal(err)
	}
	return ln
}

// funcs is a Handler of functions; those left out do the obvious.
type funcs struct {
	open     func(c *Conn) any
	overlaps func(session any, frame []byte) bool
	serve    func(r *Request)
	close    func(session any)

	opens, closes atomic.Int64
}

func (f *funcs) Open(c *Conn) any {
	f.opens.Add(1)
	if f.open != nil {
		return f.open(c)
	}
	return c
}

func (f *funcs) Overlaps(session any, frame []byte) bool {
	return f.overlaps != nil && f.overlaps(session, frame)
}

func (f *funcs) Serve(r *Request) {
	if f.serve != nil {
		f.serve(r)
		return
	}
	r.Reply(echo(r.Frame()))
}

func (f *funcs) Close(session any) {
	f.closes.Add(1)
	if f.close != nil {
		f.close(session)
	}
}

func always(any, []byte) bool { return true }

// echo answers a frame with itself.
func echo(frame []byte) protocol.Reply {
	p := protocol.NewReply()
	p.Buf.B = binary.BigEndian.AppendUint32(p.Buf.B, uint32(len(frame)))
	p.Buf.B = append(p.Buf.B, frame...)
	return p
}

// request is a frame with its size: key, version and number, then filled to n bytes
// (without the size) with bytes that depend on number and place.
func request(key int16, number, n int) []byte {
	b := make([]byte, sizeBytes+max(n, frameBytesMin))
	binary.BigEndian.PutUint32(b, uint32(len(b)-sizeBytes))
	binary.BigEndian.PutUint16(b[4:], uint16(key))
	binary.BigEndian.PutUint16(b[6:], 1)
	binary.BigEndian.PutUint32(b[8:], uint32(number))
	for i := sizeBytes + frameBytesMin; i < len(b); i++ {
		b[i] = byte(i*7 + number)
	}
	return b
}

func numberOf(frame []byte) int { return int(binary.BigEndian.Uint32(frame[4:])) }

// client is a raw socket.
type client struct {
	net.Conn
	t  testing.TB
	in *bufio.Reader
}

func dial(t testing.TB, ln *Listener) *client {
	t.Helper()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = nc.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { nc.Close() })
	return &client{Conn: nc, t: t, in: bufio.NewReaderSize(nc, 64<<10)}
}

func (c *client) send(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// next reads one frame, without its size.
func (c *client) next() []byte {
	c.t.Helper()
	b, err := c.tryNext()
	if err != nil {
		c.t.Fatalf("receive: %v", err)
	}
	return b
}

func (c *client) tryNext() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(c.in, b)
	return b, err
}

// want reads one frame and compares it with a request.
func (c *client) want(request []byte) {
	c.t.Helper()
	if got := c.next(); string(got) != string(request[sizeBytes:]) {
		c.t.Fatalf("got a frame of %d bytes, number %d; want %d, number %d", len(got), numberOf(got),
			len(request)-sizeBytes, numberOf(request[sizeBytes:]))
	}
}

// wantEnd waits for the end of the connection, by FIN or RST.
func (c *client) wantEnd() {
	c.t.Helper()
	n, err := io.Copy(io.Discard, c.in)
	if n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("got %d bytes, %v; want the end", n, err)
	}
}

// eventually waits for something that happens on other goroutines. It is no
// synchronisation: what it waits for must be final, and time decides nothing.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("in vain: " + what)
		}
	}
}

// pile collects requests that wait for their answer.
type pile struct {
	mu sync.Mutex
	rs []*Request
	in chan struct{}
}

func newPile() *pile { return &pile{in: make(chan struct{}, 1<<20)} }

func (p *pile) add(r *Request) {
	p.mu.Lock()
	p.rs = append(p.rs, r)
	p.mu.Unlock()
	p.in <- struct{}{}
}

// take waits for n requests and takes all that are there.
func (p *pile) take(n int) []*Request {
	for range n {
		<-p.in
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rs := p.rs
	p.rs = nil
	return rs
}

func (p *pile) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.rs)
}

// setReset makes Close send a reset.
func setReset(c *client) { _ = c.Conn.(*net.TCPConn).SetLinger(0) }

func name(v ...any) string { return fmt.Sprint(v...) }
