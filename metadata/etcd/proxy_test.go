//go:build !noembed

package etcd

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// proxy is an endpoint that a test can cut or freeze.
type proxy struct {
	listener net.Listener
	network  string
	target   string
	wg       sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	thawed chan struct{} // closed while bytes pass
	closed bool
}

// newProxy makes one for an endpoint of an Embedded.
func newProxy(t *testing.T, endpoint string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme, target, _ := strings.Cut(endpoint, "://")
	p := &proxy{listener: l, network: "tcp", target: target, conns: make(map[net.Conn]bool), thawed: make(chan struct{})}
	if scheme == "unix" {
		p.network = "unix"
	}
	close(p.thawed)
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) endpoint() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(c) })
	}
}

func (p *proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	if !p.hold(c) {
		return
	}
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	to, err := net.Dial(p.network, target)
	if err != nil || !p.hold(to) {
		return
	}
	defer to.Close()
	p.wg.Go(func() { p.copy(c, to) })
	p.copy(to, c)
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		thawed := p.thawed
		p.mu.Unlock()
		<-thawed
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err == io.EOF || err != nil {
			return
		}
	}
}

// cut closes every connection. New ones may be made.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

// freeze keeps what comes until thaw. Connections stay, and new ones are taken.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thawed = make(chan struct{})
}

func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
	default:
		close(p.thawed)
	}
}

func (p *proxy) close() {
	p.thaw()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.listener.Close()
	p.cut()
	p.wg.Wait()
}
