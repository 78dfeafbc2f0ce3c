package reactor

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestStartOptions(t *testing.T) {
	if _, err := Start(Options{}); err == nil || !strings.Contains(err.Error(), "Slabs") {
		t.Errorf("without slabs: %v", err)
	}
	f := start(t, Options{})
	for _, o := range []ListenerOptions{{}, {Handler: &funcs{}, Framing: 7}, {Handler: &funcs{}, ConnectionsMax: -1}} {
		if _, err := f.Listen("127.0.0.1:0", o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestListenErrors(t *testing.T) {
	f := start(t, Options{})
	o := ListenerOptions{Handler: &funcs{}}
	ln := f.listen(o)
	addr := ln.Addr().String()
	if netip.MustParseAddrPort(addr).Port() == 0 {
		t.Errorf("port 0 became %s", addr)
	}
	_, err := f.Listen(addr, o)
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), addr+" is taken") {
		t.Errorf("taken port: %v", err)
	}
	ln.Close()
	again, err := f.Listen(addr, o)
	if err != nil {
		t.Fatalf("the port is free again, but: %v", err)
	}
	again.Close()
	for _, bad := range []string{"", "x", "127.0.0.1:99999", "203.0.113.77:0", "nowhere.invalid:0"} {
		if ln, err := f.Listen(bad, o); err == nil && bad != "" {
			t.Errorf("%q was taken as %v", bad, ln.Addr())
		}
	}
	f.Close()
	if _, err := f.Listen("127.0.0.1:0", o); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// [::] takes both families, 0.0.0.0 only its own, and both tell the address that the
// client reached.
func TestFamilies(t *testing.T) {
	for _, tc := range []struct {
		listen, dial string
		ok           bool
	}{
		{"[::]:0", "127.0.0.1", true},
		{"[::]:0", "::1", true},
		{":0", "127.0.0.1", true},
		{"0.0.0.0:0", "127.0.0.1", true},
		{"0.0.0.0:0", "::1", false},
		{"[::1]:0", "::1", true},
	} {
		t.Run(tc.listen+" from "+tc.dial, func(t *testing.T) {
			f := start(t, Options{})
			local := make(chan netip.AddrPort, 1)
			ln, err := f.Listen(tc.listen, ListenerOptions{Handler: &funcs{open: func(c *Conn) any {
				local <- c.LocalAddr()
				return nil
			}}})
			if err != nil {
				t.Skip("no such family here: ", err)
			}
			_, port, _ := net.SplitHostPort(ln.Addr().String())
			nc, err := net.Dial("tcp", net.JoinHostPort(tc.dial, port))
			if !tc.ok {
				if err == nil {
					nc.Close()
					t.Error("reached")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if got := (<-local).String(); got != net.JoinHostPort(tc.dial, port) {
				t.Errorf("LocalAddr is %s", got)
			}
		})
	}
}

// Closing a listener while requests are pending: its connections end, the handler is
// told, answers that come later do no harm, and other listeners go on.
func TestCloseWhilePending(t *testing.T) {
	for _, loops := range []int{1, 3} {
		t.Run(name("loops=", loops), func(t *testing.T) {
			f := start(t, Options{Loops: loops})
			p := newPile()
			h := &funcs{serve: p.add, overlaps: always}
			ln, other := f.listen(ListenerOptions{Handler: h}), f.listen(ListenerOptions{Handler: &funcs{}})
			const conns, each = 20, 10
			var cs []*client
			for i := range conns {
				c := dial(t, ln)
				for j := range each {
					c.send(request(0, i*each+j, 8<<10))
				}
				cs = append(cs, c)
			}
			rs := p.take(conns * each)
			var wg sync.WaitGroup
			for k := range 4 { // while it closes
				wg.Go(func() {
					for _, r := range rs[k*40 : (k+1)*40] {
						r.Reply(echo(r.Frame()))
					}
				})
			}
			ln.Close()
			if n := h.closes.Load(); n != conns || ln.Connections() != 0 {
				t.Errorf("Close was called %d times, %d connections are left", n, ln.Connections())
			}
			wg.Wait()
			for i, r := range rs[160:] { // after it has closed
				switch i % 3 {
				case 0:
					r.Reply(echo(r.Frame()))
				case 1:
					r.Drop()
				default:
					r.Fail("too late")
				}
			}
			for _, c := range cs {
				for { // some were answered before the end
					if _, err := c.tryNext(); err != nil {
						break
					}
				}
			}
			c := dial(t, other)
			c.send(request(0, 1, 8))
			c.want(request(0, 1, 8))
			ln.Close() // again
		})
	}
}

// A request that is parked when its client goes is dropped by Handler.Close.
func TestClientGoesWhileParked(t *testing.T) {
	for _, reset := range []bool{false, true} {
		t.Run(name("reset=", reset), func(t *testing.T) {
			f := start(t, Options{})
			type session struct{ parked []*Request }
			h := &funcs{open: func(*Conn) any { return new(session) }}
			h.serve = func(r *Request) { s := r.Session().(*session); s.parked = append(s.parked, r) }
			h.close = func(s any) {
				for _, r := range s.(*session).parked {
					r.Drop()
				}
			}
			ln := f.listen(ListenerOptions{Handler: h})
			for i := range 30 {
				c := dial(t, ln)
				c.send(request(0, i, 8<<10))
				if reset {
					_ = c.Conn.(*net.TCPConn).SetLinger(0)
				}
				c.Close()
			}
			began := time.Now()
			eventually(t, "all are gone", func() bool { return h.opens.Load() == 30 && ln.Connections() == 0 })
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// Fail and Close end a connection behind the answers before them, with one line.
func TestFailAndClose(t *testing.T) {
	const good, fail, shut = 1, 2, 3
	for _, key := range []int16{fail, shut} {
		f := start(t, Options{})
		p := newPile()
		ln := f.listen(ListenerOptions{Handler: &funcs{overlaps: always, serve: p.add}})
		c := dial(t, ln)
		c.send(append(append(request(good, 1, 8), request(key, 2, 8)...), request(good, 3, 8)...))
		rs := p.take(3)
		rs[2].Reply(echo(rs[2].Frame()))
		if key == fail {
			rs[1].Fail("no such thing")
			rs[0].Reply(echo(rs[0].Frame()))
		} else {
			rs[0].Reply(echo(rs[0].Frame()))
			rs[1].Conn().Close("no such thing")
		}
		c.want(request(good, 1, 8))
		c.wantEnd()
		if key == shut {
			eventually(t, "it is gone", func() bool { return ln.Connections() == 0 })
			rs[1].Drop()
		}
		if n := f.logs.FilterMessageSnippet("no such thing").Len(); n != 1 {
			t.Errorf("%d lines", n)
		}
	}
}

// Answering twice is a programmer's error.
func TestAnsweredTwice(t *testing.T) {
	f := start(t, Options{})
	p := newPile()
	ln := f.listen(ListenerOptions{Handler: &funcs{overlaps: always, serve: p.add}})
	c := dial(t, ln)
	c.send(append(request(0, 1, 8), request(0, 2, 8)...))
	rs := p.take(2)
	rs[1].Drop()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		rs[1].Drop()
	}()
	rs[0].Drop()
}

// Who comes before Begin waits, and is served then; Close turns away who still waits.
func TestHeld(t *testing.T) {
	f, h := start(t, Options{}), &funcs{}
	ln := f.listen(ListenerOptions{Handler: h, Held: true})
	early, asked := dial(t, ln), request(1, 7, 20)
	early.send(asked)
	if n := ln.Connections(); n != 0 || h.opens.Load() != 0 {
		t.Errorf("%d connections before Begin", n)
	}
	ln.Begin()
	ln.Begin()
	early.want(asked)
	late := dial(t, ln)
	late.send(asked)
	late.want(asked)

	never := f.listen(ListenerOptions{Handler: h, Held: true})
	waiting := dial(t, never)
	never.Close()
	waiting.wantEnd()
	if n := h.opens.Load(); n != 2 {
		t.Errorf("%d connections were opened, want 2", n)
	}
}
