package reactor

import (
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/protocol"
	"millrace/slab"
)

// flood writes requests until the socket has taken none of them for a while, and
// returns how many went out whole. A sender that is being read would never stop.
func flood(c *client, size, most int) (whole int) {
	c.t.Helper()
	_ = c.Conn.(*net.TCPConn).SetWriteBuffer(64 << 10)
	for i := range most {
		q := request(0, i, size)
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := c.Write(q)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			_ = c.SetWriteDeadline(time.Now().Add(patience))
			rest := q[n:]
			// The last one goes on when the server reads again.
			go func() { _, _ = c.Write(rest) }()
			return i + 1
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
	c.t.Fatalf("the server took all %d requests", most)
	return 0
}

// A client that doesn't read its answers isn't read either, and what waits for it is
// bounded. Later it gets everything.
func TestSlowReader(t *testing.T) {
	const answer, limit = 100 << 10, 1 << 20
	for _, overlap := range []bool{false, true} {
		t.Run(name("overlap=", overlap), func(t *testing.T) {
			f := start(t, Options{ConnOutboundBytesMax: limit})
			var served atomic.Int64
			ln := f.listen(ListenerOptions{ReceiveBufferBytes: 64 << 10, Handler: &funcs{
				overlaps: func(any, []byte) bool { return overlap },
				serve: func(r *Request) {
					served.Add(1)
					r.Reply(echo(append(append([]byte(nil), r.Frame()...), make([]byte, answer-len(r.Frame()))...)))
				}}})
			c := dial(t, ln)
			const size = 2000
			n := flood(c, size, 1<<17)
			if got := f.Stats().OutboundBytes; got > limit+2*answer {
				t.Errorf("%d bytes wait for the client, the limit is %d", got, limit)
			}
			before := served.Load()
			if before >= int64(n) {
				t.Errorf("all %d requests were served", n)
			}
			for i := range n {
				if got := c.next(); numberOf(got) != i || len(got) != answer {
					t.Fatalf("answer %d is number %d of %d bytes", i, numberOf(got), len(got))
				}
			}
		})
	}
}

// The sum over all connections is bounded, too: above it only those get answers who
// take them.
func TestSlowReadersInSum(t *testing.T) {
	const answer, sum, conns = 64 << 10, 2 << 20, 10
	f := start(t, Options{OutboundBytesMax: sum, ConnOutboundBytesMax: 16 << 20})
	ln := f.listen(ListenerOptions{SendBufferBytes: 64 << 10, Handler: &funcs{
		serve: func(r *Request) { r.Reply(echo(make([]byte, answer))) }}})
	var cs []*client
	for range conns {
		c := dial(t, ln)
		cs = append(cs, c)
		go func() {
			for i := range 2000 {
				if _, err := c.Write(request(0, i, 100)); err != nil {
					return
				}
			}
		}()
	}
	eventually(t, "the sum is reached", func() bool { return f.Stats().OutboundBytes >= sum })
	time.Sleep(100 * time.Millisecond) // for what should not happen
	if got := f.Stats().OutboundBytes; got > sum+conns*answer {
		t.Errorf("%d bytes wait, the limit is %d", got, sum)
	}
	reader := dial(t, ln)
	for i := range 10 {
		reader.send(request(0, i, 100))
		if len(reader.next()) != answer {
			t.Fatal("wrong answer")
		}
	}
	for _, c := range cs {
		for range 100 {
			c.next()
		}
	}
}

// Requests that wait for one before them stop the reading: the sender blocks, and the
// server holds little.
func TestPausedReading(t *testing.T) {
	f := start(t, Options{})
	if !f.canPause {
		t.Fatal("the poller can't pause")
	}
	p := newPile()
	var first sync.Once
	h := &funcs{serve: func(r *Request) {
		parked := false
		first.Do(func() { parked = true; p.add(r) })
		if !parked {
			r.Reply(echo(r.Frame()))
		}
	}}
	ln := f.listen(ListenerOptions{Handler: h, ReceiveBufferBytes: 256 << 10})
	c := dial(t, ln)
	n := flood(c, 50<<10, 4000)
	if used := f.pool.Stats().UsedTotal(); used > 8<<20 {
		t.Errorf("%d KiB are held for a connection that waits", used>>10)
	}
	r := p.take(1)[0]
	r.Reply(echo(r.Frame()))
	for i := range n {
		c.want(request(0, i, 50<<10))
	}
}

// Where the poller can't pause, what comes in is held up to a bound, and above it the
// connection is closed with a line that says so.
func TestWithoutPausing(t *testing.T) {
	f := start(t, Options{})
	f.canPause = false
	p := newPile()
	ln := f.listen(ListenerOptions{Handler: &funcs{serve: p.add}})
	c := dial(t, ln)
	const little = 30
	for i := range little {
		c.send(request(0, i, 50<<10))
	}
	for i := range little {
		r := p.take(1)[0]
		r.Reply(echo(r.Frame()))
		c.want(request(0, i, 50<<10))
	}
	var err error
	for i := 0; err == nil; i++ {
		_, err = c.Write(request(0, i, 50<<10))
	}
	for _, r := range p.take(1) {
		r.Drop()
	}
	eventually(t, "a line tells", func() bool {
		return f.logs.FilterMessageSnippet("can't stop it").Len() == 1
	})
}

// The gate stops all connections when too many bytes are in flight, and lets them go
// on when half of them are answered.
func TestFullGate(t *testing.T) {
	const limit, size, conns, each = 1 << 20, 64 << 10, 8, 100
	for _, loops := range []int{1, 2} {
		t.Run(name("loops=", loops), func(t *testing.T) {
			f := start(t, Options{Loops: loops, InFlightBytesMax: limit})
			p := newPile()
			ln := f.listen(ListenerOptions{Handler: &funcs{overlaps: always, serve: p.add}})
			var wg sync.WaitGroup
			for range conns {
				c := dial(t, ln)
				go func() {
					for i := range each {
						if _, err := c.Write(request(0, i, size)); err != nil {
							return
						}
					}
				}()
				wg.Go(func() {
					for i := range each {
						c.want(request(0, i, size))
					}
				})
			}
			high := int64(0)
			for left := conns * each; left > 0; {
				rs := p.take(1)
				for range len(rs) - 1 {
					<-p.in
				}
				high = max(high, f.Stats().InFlightBytes)
				left -= len(rs)
				for _, r := range rs {
					r.Reply(echo(r.Frame()))
				}
			}
			wg.Wait()
			if high > limit+int64(loops)*(size+requestBytes) {
				t.Errorf("%d bytes were in flight, the limit is %d", high, limit)
			}
		})
	}
}

// Without memory a connection waits until there is some.
func TestNoMemory(t *testing.T) {
	f := start(t, Options{Loops: 1, Slabs: slab.NewPool(slab.Options{LimitBytes: 6 << 20})})
	p := newPile()
	ln := f.listen(ListenerOptions{Handler: &funcs{overlaps: always, serve: p.add}})
	const conns, size = 20, 900 << 10
	var cs []*client
	for i := range conns {
		c := dial(t, ln)
		cs = append(cs, c)
		go func() { _, _ = c.Write(request(0, i, size)) }()
	}
	for left := conns; left > 0; {
		rs := p.take(1)
		for range len(rs) - 1 {
			<-p.in
		}
		left -= len(rs)
		for _, r := range rs {
			r.Reply(echo(r.Frame()))
		}
	}
	for i, c := range cs {
		c.want(request(0, i, size))
	}
	if f.pool.Stats().Refused == 0 {
		t.Error("memory was never short; the test shows nothing")
	}
}

// Memory that stays short ends in a line and not in connections that wait for each
// other's halves.
func TestNoMemoryForLong(t *testing.T) {
	f := start(t, Options{Loops: 1, Slabs: slab.NewPool(slab.Options{LimitBytes: 11 << 18})})
	p := newPile()
	ln := f.listen(ListenerOptions{HalfRequestTimeout: time.Second,
		Handler: &funcs{overlaps: always, serve: p.add}})
	const size = 900 << 10 // three take more than there is, also when the loop has given its slab back
	for i := range 2 {     // held by the handler
		dial(t, ln).send(request(0, i, size))
	}
	rs := p.take(2)
	c := dial(t, ln)
	go func() { _, _ = c.Write(request(0, 2, size)) }()
	c.wantEnd()
	if f.logs.FilterMessageSnippet("no memory").Len() != 1 {
		t.Errorf("lines: %v", f.logs.All())
	}
	for _, r := range rs {
		r.Drop()
	}
}

// A frame that waits behind a parked request holds no more than it needs, and neither
// do the bytes behind it.
func TestWaitingHoldsLittle(t *testing.T) {
	f := start(t, Options{Loops: 1})
	p := newPile()
	ln := f.listen(ListenerOptions{Handler: &funcs{serve: p.add,
		overlaps: func(_ any, frame []byte) bool { return frame[1] == 1 }}})
	turn := dial(t, f.listen(ListenerOptions{Handler: &funcs{overlaps: always}}))
	const conns = 20
	var cs []*client
	for i := range conns {
		c := dial(t, ln)
		c.send(slices.Concat(request(0, 1, 100), request(1, 2, 3000), request(1, 3, 3000)))
		turn.send(request(1, i, 100<<10)) // walks the cursor on
		turn.want(request(1, i, 100<<10))
		cs = append(cs, c)
	}
	rs := p.take(conns)
	eventually(t, "what waits was moved out", func() bool {
		return f.pool.Stats().UsedTotal() <= conns*16<<10+slabBytes
	})
	for _, r := range rs {
		r.Reply(echo(r.Frame()))
	}
	for range 2 * conns {
		for _, r := range p.take(1) {
			r.Reply(echo(r.Frame()))
		}
	}
	for _, c := range cs {
		c.want(request(0, 1, 100))
		c.want(request(1, 2, 3000))
		c.want(request(1, 3, 3000))
	}
}

// A handler that retains a frame's slab may keep the frame when it has answered.
func TestKeptFrame(t *testing.T) {
	f := start(t, Options{Loops: 1})
	type kept struct {
		frame []byte
		s     *slab.Slab
	}
	var all []kept
	ln := f.listen(ListenerOptions{Handler: &funcs{overlaps: always, serve: func(r *Request) {
		if s := r.Slab(); s != nil && numberOf(r.Frame())%3 == 0 {
			s.Retain()
			all = append(all, kept{r.Frame(), s})
		}
		r.Reply(echo(r.Frame()[:8]))
	}}})
	c := dial(t, ln)
	const n, size = 300, 20 << 10
	for i := range n {
		c.send(request(0, i, size))
		c.next()
	}
	ln.Close()
	if len(all) != n/3 {
		t.Errorf("%d frames lie in slabs, want %d", len(all), n/3)
	}
	for i, k := range all {
		if string(k.frame) != string(request(0, i*3, size)[sizeBytes:]) {
			t.Fatalf("frame %d has changed", i*3)
		}
		k.s.Release()
	}
}

// Unanswered requests of one connection are bounded by number.
func TestRequestsMax(t *testing.T) {
	f := start(t, Options{})
	p := newPile()
	const most = 10
	ln := f.listen(ListenerOptions{Handler: &funcs{overlaps: always, serve: p.add}, RequestsMax: most})
	c := dial(t, ln)
	const n = 5000
	go func() {
		for i := range n {
			if _, err := c.Write(request(0, i, 20)); err != nil {
				return
			}
		}
	}()
	high := 0
	for i := 0; i < n; {
		rs := p.take(1)
		for range len(rs) - 1 {
			<-p.in
		}
		high = max(high, len(rs))
		for _, r := range rs {
			r.Reply(echo(r.Frame()))
			i++
		}
	}
	for i := range n {
		c.want(request(0, i, 20))
	}
	if high > most {
		t.Errorf("%d requests were unanswered at a time, the limit is %d", high, most)
	}
}

// Views go out from where they lie, and their slabs are held until the socket has
// taken them.
func TestViews(t *testing.T) {
	f := start(t, Options{})
	const pieces = 3000 // more than one writev takes
	s, err := f.pool.Get(1<<20, slab.UseRecords)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Bytes() {
		s.Bytes()[i] = byte(i >> 8)
	}
	ln := f.listen(ListenerOptions{Handler: &funcs{serve: func(r *Request) {
		p := protocol.NewReply()
		p.Buf.B = append(p.Buf.B, 0, 0, 0, 0)
		for i := range pieces {
			p.View(s.Bytes()[i*300:i*300+300], s)
			if i%3 == 0 {
				p.Buf.B = append(p.Buf.B, byte(i))
			}
		}
		n := p.Len() - 4
		p.Buf.B[0], p.Buf.B[1], p.Buf.B[2], p.Buf.B[3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
		r.Reply(p)
	}}})
	c := dial(t, ln)
	const rounds = 8
	for i := range rounds {
		c.send(request(0, i, 8))
	}
	eventually(t, "the socket is full", func() bool { return f.Stats().OutboundBytes > 0 })
	if s.Refs() < 2 {
		t.Error("nothing holds the slab while its bytes wait")
	}
	for range rounds {
		b := c.next()
		for i := range pieces {
			for j, x := range b[:300] {
				if x != byte((i*300+j)>>8) {
					t.Fatalf("piece %d, byte %d: %x", i, j, x)
				}
			}
			if b = b[300:]; i%3 == 0 {
				if b[0] != byte(i) {
					t.Fatalf("text after piece %d: %x", i, b[0])
				}
				b = b[1:]
			}
		}
	}
	eventually(t, "all is given back", func() bool { return s.Refs() == 1 })
	s.Release()
}
