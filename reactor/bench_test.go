package reactor

import (
	"io"
	"net"
	"testing"
	"time"

	"millrace/protocol"

	"golang.org/x/sys/unix"
)

// roundTrip sends requests and reads as many answer bytes, without allocating.
type roundTrip struct {
	fd      int
	out, in []byte
}

func newRoundTrip(t testing.TB, ln *Listener, requests, size, answer int) *roundTrip {
	t.Helper()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	file, err := nc.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	t.Cleanup(func() { file.Close() })
	rt := &roundTrip{fd: int(file.Fd()), in: make([]byte, requests*answer)} // Fd makes it blocking
	for i := range requests {
		rt.out = append(rt.out, request(0, i, size)...)
	}
	return rt
}

func (rt *roundTrip) do() error {
	for out := rt.out; len(out) > 0; {
		n, err := unix.Write(rt.fd, out)
		if err != nil {
			return err
		}
		out = out[n:]
	}
	for in := rt.in; len(in) > 0; {
		n, err := unix.Read(rt.fd, in)
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		in = in[n:]
	}
	return nil
}

var ack = []byte{0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8}

// acknowledge answers without a pooled buffer, so that what is counted is the
// reactor's. A reply owns its array of views; this one is free again when Serve has
// returned, as the answer is taken at once.
func acknowledge() func(*Request) {
	views := make([]protocol.View, 1)
	return func(r *Request) {
		views[0] = protocol.View{Bytes: ack}
		r.Reply(protocol.Reply{Views: views})
	}
}

// In the steady state a request costs no allocation, whatever way it takes: in the
// request's own memory, in the loop's slab, in a slab of its own; read by gnet or
// pulled; overlapping or not.
func TestAllocs(t *testing.T) {
	for _, tc := range []struct {
		n, size int
		overlap bool
	}{
		{1, 100, false}, {1, 100, true}, {50, 100, true}, {20, 3000, false}, {20, 3000, true},
		{4, 60 << 10, true}, {16, 64<<10 + 100, true}, {2, 300 << 10, true}, {2, 1<<20 - 1, false},
	} {
		f := start(t, Options{Loops: 1, SweepInterval: time.Hour})
		ln := f.listen(ListenerOptions{Handler: &funcs{serve: acknowledge(),
			overlaps: func(any, []byte) bool { return tc.overlap }}})
		rt := newRoundTrip(t, ln, tc.n, tc.size, len(ack))
		round := func() {
			if err := rt.do(); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			round()
		}
		const rounds = 200
		if avg := testing.AllocsPerRun(rounds, round); avg != 0 {
			t.Errorf("%d requests of %d bytes, overlap %v: %v allocations", tc.n, tc.size, tc.overlap, avg)
		}
	}
}

// BenchmarkEcho is a round trip of pipelined requests with short answers.
func BenchmarkEcho(b *testing.B) {
	for _, bc := range []struct{ depth, size int }{
		{1, 64}, {64, 64}, {16, 1 << 10}, {8, 16 << 10}, {8, 64 << 10}, {2, 1 << 20},
	} {
		b.Run(name("depth=", bc.depth, "/size=", bc.size), func(b *testing.B) {
			f := start(b, Options{Loops: 1})
			ln := f.listen(ListenerOptions{Handler: &funcs{overlaps: always, serve: acknowledge()}})
			rt := newRoundTrip(b, ln, bc.depth, bc.size, len(ack))
			b.SetBytes(int64(bc.depth * bc.size))
			b.ReportAllocs()
			for b.Loop() {
				if err := rt.do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*bc.depth)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// BenchmarkViews is a round trip whose answer is a large view, as a fetch.
func BenchmarkViews(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20} {
		b.Run(name("size=", size), func(b *testing.B) {
			f := start(b, Options{Loops: 1})
			body := make([]byte, size)
			ln := f.listen(ListenerOptions{Handler: &funcs{overlaps: always, serve: func(r *Request) {
				p := protocol.NewReply()
				p.View(body, nil)
				r.Reply(p)
			}}})
			rt := newRoundTrip(b, ln, 4, 64, size)
			b.SetBytes(int64(4 * size))
			b.ReportAllocs()
			for b.Loop() {
				if err := rt.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
