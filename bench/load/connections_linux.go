package load

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/bench/proc"
	"millrace/bench/sock"
	"millrace/bench/wire"
)

// Held is a number of open connections, each of which has asked for ApiVersions and now says nothing.
type Held struct {
	fds       []int
	addr      string
	opened    time.Duration
	serverCPU time.Duration
}

// perAddress is how many connections go out from one loopback address, which has some 28,000 ports to give.
const perAddress = 20000

// Hold opens n connections to a Kafka broker; hello is what each says first and must be answered (nil: nothing).
func Hold(ctx context.Context, addr string, n int, hello []byte, usage func() proc.Usage) (*Held, error) {
	h := &Held{addr: addr}
	before, start := usage(), time.Now()
	for i := range n {
		if err := ctx.Err(); err != nil {
			h.Close()
			return nil, err
		}
		fd, err := open(addr, i, hello)
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("connection %d of %d: %w", i+1, n, err)
		}
		h.fds = append(h.fds, fd)
	}
	h.opened, h.serverCPU = time.Since(start), usage().Since(before).CPU
	return h, nil
}

// Close ends them all.
func (h *Held) Close() {
	for _, fd := range h.fds {
		sock.Close(fd)
	}
	h.fds = nil
}

// Hello is an ApiVersions request, as a Kafka client begins.
func Hello() []byte {
	r := kmsg.NewPtrApiVersionsRequest()
	r.SetVersion(3)
	r.ClientSoftwareName, r.ClientSoftwareVersion = "millrace-bench", "1"
	return wire.AppendRequest(nil, r, 1)
}

// open makes a connection, says hello and waits for some of the answer.
func open(addr string, i int, hello []byte) (int, error) {
	var from net.IP
	if i >= perAddress {
		from = net.IPv4(127, 0, 1, byte(i/perAddress))
	}
	fd, err := sock.DialFrom(addr, from)
	if err != nil || hello == nil {
		return fd, err
	}
	if _, errno := sock.Write(fd, hello); errno != 0 {
		sock.Close(fd)
		return -1, errno
	}
	if err := drain(fd); err != nil {
		sock.Close(fd)
		return -1, err
	}
	return fd, nil
}

// drain waits for an answer and reads it away.
func drain(fd int) error {
	var b [4096]byte
	for end := time.Now().Add(10 * time.Second); ; {
		n, errno := sock.Read(fd, b[:])
		switch {
		case errno == 0 && n > 0:
			return nil
		case errno == 0:
			return fmt.Errorf("closed by the server")
		case errno != sock.Again && errno != sock.Interrupted:
			return errno
		case time.Now().After(end):
			return fmt.Errorf("no answer within 10 s")
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// Connections opens many connections (Connections) and holds them, then lets some produce (Active), then opens and
// closes others for as long as the rest took. idle is called while all are open and quiet.
func Connections(ctx context.Context, s Spec, hello []byte, idle func(held int)) (*Result, error) {
	before := s.Usage()
	h, err := Hold(ctx, s.Bootstrap, s.Connections, hello, s.Usage)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	settled := settle(ctx, s.Usage)
	if idle != nil {
		idle(s.Connections)
	}
	r := &Result{Requests: int64(s.Connections), Span: h.opened}
	if s.Active > 0 && s.Topic != nil {
		work := s
		work.Connections = s.Active
		if r, err = Produce(ctx, work); err != nil {
			return nil, fmt.Errorf("with %d connections open: %w", s.Connections, err)
		}
	}
	r.RSSBytes = settled.RSSBytes
	r.extra("rss_bytes_per_connection", float64(settled.RSSBytes-before.RSSBytes)/float64(s.Connections))
	r.extra("connects_per_s", float64(s.Connections)/h.opened.Seconds())
	r.extra("server_cpu_us_per_connect", float64(h.serverCPU.Microseconds())/float64(s.Connections))
	return r, churn(ctx, &s, hello, r)
}

// settle waits until the server's memory stays as it is, a few seconds at most.
func settle(ctx context.Context, usage func() proc.Usage) proc.Usage {
	last := usage()
	for range 8 {
		select {
		case <-ctx.Done():
			return last
		case <-time.After(250 * time.Millisecond):
		}
		now := usage()
		if d := now.RSSBytes - last.RSSBytes; d < 64<<10 && d > -64<<10 {
			return now
		}
		last = now
	}
	return last
}

// churn opens a connection, says hello and closes it, again and again.
func churn(ctx context.Context, s *Spec, hello []byte, r *Result) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n, before, start := 0, s.Usage(), time.Now()
	for time.Since(start) < s.Run && ctx.Err() == nil {
		fd, err := open(s.Bootstrap, 0, hello)
		if err != nil {
			return fmt.Errorf("churn, connection %d: %w", n+1, err)
		}
		sock.Close(fd)
		n++
	}
	span := time.Since(start)
	r.extra("churn_connections_per_s", float64(n)/span.Seconds())
	r.extra("churn_server_cpu_us_per_connection", float64(s.Usage().Since(before).CPU.Microseconds())/float64(max(n, 1)))
	return ctx.Err()
}
