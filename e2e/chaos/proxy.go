package main

import (
	"net"
	"sync"
	"time"
)

// proxy stands in a connection's way and holds back what passes, in both directions: it is the delay that the kernel has not.
type proxy struct {
	listener net.Listener
	target   string
	delay    time.Duration

	mu     sync.Mutex
	conns  map[net.Conn]bool // guarded by mu; nil once it is closed
	wait   sync.WaitGroup
	dialer net.Dialer
}

// openProxy listens on a free port of an address.
func openProxy(address, target string, delay time.Duration) (*proxy, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, delay: delay, conns: map[net.Conn]bool{}, dialer: net.Dialer{Timeout: 2 * time.Second}}
	p.wait.Go(p.accept)
	return p, nil
}

func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// close ends it and every connection through it.
func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
	p.mu.Unlock()
	p.wait.Wait()
}

// keep remembers connections to close; false if it is too late.
func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.conns == nil {
			_ = c.Close()
		} else {
			p.conns[c] = true
		}
	}
	return p.conns != nil
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wait.Go(func() { p.join(c) })
	}
}

func (p *proxy) join(in net.Conn) {
	out, err := p.dialer.Dial("tcp", p.target)
	if err != nil {
		reset(in) // as the target would have
		return
	}
	if p.keep(in, out) {
		p.wait.Go(func() { p.carry(in, out) })
		p.carry(out, in)
	}
}

// reset closes a connection so that the other side sees a reset.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// piece is what was read, and when it may go on.
type piece struct {
	bytes []byte
	due   time.Time
}

// carry passes on what one side sends, delayed, in its order. What is on its way is bounded, as in a wire.
func (p *proxy) carry(from, to net.Conn) {
	line := make(chan piece, 256)
	p.wait.Go(func() {
		defer func() { _ = to.Close() }()
		for b := range line {
			time.Sleep(time.Until(b.due))
			if _, err := to.Write(b.bytes); err != nil {
				_ = from.Close()
				break
			}
		}
		for range line { // so that the reader isn't stuck
		}
	})
	defer close(line)
	for {
		b := make([]byte, 32<<10)
		n, err := from.Read(b)
		if n > 0 {
			line <- piece{b[:n], time.Now().Add(p.delay)}
		}
		if err != nil {
			return
		}
	}
}
