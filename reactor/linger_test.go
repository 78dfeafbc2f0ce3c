package reactor

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A client that sends requests and shuts down its sending side still gets all answers:
// those that are being worked on, those that wait for others, those that the socket
// didn't take, and those whose requests weren't even read.
func TestHalfClose(t *testing.T) {
	for _, tc := range []struct {
		name    string
		n, size int
		overlap bool
		delay   bool // answers come when the end has been seen
	}{
		{"at once", 3, 100, false, false},
		{"parked", 1, 100, false, true},
		{"parked overlapping", 20, 2000, true, true},
		{"one by one", 20, 2000, false, true},
		{"unread", 100, 50 << 10, false, true},
		{"unread, overlapping", 2000, 5 << 10, true, true},
		{"large answers", 10, 1 << 20, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := start(t, Options{InFlightBytesMax: 4 << 20})
			work := make(chan *Request, tc.n)
			h := &funcs{overlaps: func(any, []byte) bool { return tc.overlap },
				serve: func(r *Request) { work <- r }}
			ln := f.listen(ListenerOptions{Handler: h, SendBufferBytes: 64 << 10})
			c := dial(t, ln)
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				for i := range tc.n {
					if _, err := c.Write(request(0, i, tc.size)); err != nil {
						return
					}
				}
				_ = c.Conn.(*net.TCPConn).CloseWrite()
			}()
			var wg sync.WaitGroup
			wg.Go(func() {
				if tc.delay {
					select {
					case <-sent:
					case <-time.After(50 * time.Millisecond): // it is more than the sockets take
					}
					time.Sleep(20 * time.Millisecond) // so that the end is mostly seen first
				}
				for range tc.n {
					r := <-work
					r.Reply(echo(r.Frame()))
				}
			})
			for i := range tc.n {
				c.want(request(0, i, tc.size))
			}
			if n, err := io.Copy(io.Discard, c.in); n != 0 || err != nil {
				t.Errorf("after the answers: %d bytes, %v; want FIN", n, err)
			}
			wg.Wait()
			eventually(t, "it is gone", func() bool { return h.closes.Load() == 1 && ln.Connections() == 0 })
		})
	}
}

// Requests without an answer (acks=0) are carried out although the client has gone,
// also those that were not read.
func TestSentAndGone(t *testing.T) {
	f := start(t, Options{InFlightBytesMax: 1 << 20})
	p := newPile()
	ln := f.listen(ListenerOptions{Handler: &funcs{overlaps: always, serve: p.add}})
	c := dial(t, ln)
	const n, size = 200, 20 << 10
	done := make(chan struct{})
	go func() {
		for i := range n {
			if _, err := c.Write(request(0, i, size)); err != nil {
				break
			}
		}
		c.Close()
		close(done)
	}()
	for i := 0; i < n; {
		for _, r := range p.take(1) {
			if numberOf(r.Frame()) != i {
				t.Fatalf("number %d, want %d", numberOf(r.Frame()), i)
			}
			r.Drop()
			i++
		}
		for range p.len() {
			<-p.in
		}
	}
	<-done
	eventually(t, "it is gone", func() bool { return ln.Connections() == 0 })
}

// A client that died while its request is parked doesn't stay for long, although it
// can't be told from one that waits.
func TestLingerEnds(t *testing.T) {
	f := start(t, Options{})
	p := newPile()
	ln := f.listen(ListenerOptions{Handler: &funcs{serve: p.add}})
	c := dial(t, ln)
	c.send(request(0, 1, 100))
	r := p.take(1)[0]
	began := time.Now()
	c.Close()
	eventually(t, "it is gone", func() bool { return ln.Connections() == 0 })
	if took := time.Since(began); took > halfCloseDefault+5*time.Second {
		t.Errorf("it took %v", took)
	}
	r.Reply(echo(r.Frame()))
}

// The reactor can be closed while connections linger.
func TestCloseWhileLingering(t *testing.T) {
	f := start(t, Options{})
	p := newPile()
	ln := f.listen(ListenerOptions{Handler: &funcs{serve: p.add}})
	for i := range 10 {
		c := dial(t, ln)
		c.send(request(0, i, 100))
		_ = c.Conn.(*net.TCPConn).CloseWrite()
	}
	rs := p.take(10)
	f.Close()
	for _, r := range rs {
		r.Reply(echo(r.Frame()))
	}
}
