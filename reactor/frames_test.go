package reactor

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"millrace/jobs"
	"millrace/slab"

	"go.uber.org/zap"
)

// Frames that come byte by byte, and in two pieces cut at each place.
func TestSplitFrames(t *testing.T) {
	f := start(t, Options{})
	ln := f.listen(ListenerOptions{Handler: &funcs{}})
	c := dial(t, ln)
	stream := slices.Concat(request(1, 1, 8), request(2, 2, 9), request(3, 3, 30))
	want := func() {
		t.Helper()
		c.want(request(1, 1, 8))
		c.want(request(2, 2, 9))
		c.want(request(3, 3, 30))
	}
	for i := range stream {
		c.send(stream[i : i+1])
	}
	want()
	for i := range stream {
		c.send(stream[:i])
		c.send(stream[i:])
		want()
	}
}

// Frames of all sizes at which something changes, in a stream that walks over the ends
// of slabs.
func TestFrameSizes(t *testing.T) {
	sizes := []int{8, 9, 255, copyBytesMax - 1, copyBytesMax, copyBytesMax + 1, ownBytesMax, ownBytesMax + 1,
		growBytesMin - 1, growBytesMin, growBytesMin + 1, readBufferBytes - sizeBytes, readBufferBytes,
		sharedBytesMax - 1, sharedBytesMax, sharedBytesMax + 1, 4*growBytesMin + 1, slabBytes - 1, slabBytes,
		slabBytes + 1, 4<<20 + 5, 17 << 20}
	for _, overlap := range []bool{true, false} {
		t.Run(name("overlap=", overlap), func(t *testing.T) {
			f := start(t, Options{})
			ln := f.listen(ListenerOptions{Handler: &funcs{
				overlaps: func(any, []byte) bool { return overlap }}})
			c := dial(t, ln)
			rnd := rand.New(rand.NewPCG(3, 4))
			var order []int
			for range 3 {
				order = append(order, sizes...)
			}
			rnd.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			go func() {
				for i, n := range order {
					if _, err := c.Write(request(0, i, n)); err != nil {
						return
					}
				}
			}()
			for i, n := range order {
				c.want(request(0, i, n))
			}
		})
	}
}

// A claimed size is only a claim: memory is charged as bytes come in.
func TestClaimedSize(t *testing.T) {
	f := start(t, Options{})
	h := &funcs{}
	ln := f.listen(ListenerOptions{Handler: h})
	const conns = 50
	claim := request(0, 1, 100)[:100]
	binary.BigEndian.PutUint32(claim, 90<<20)
	for range conns {
		dial(t, ln).send(claim)
	}
	eventually(t, "all have sent", func() bool { return h.opens.Load() == conns })
	time.Sleep(3 * f.o.SweepInterval)
	if used := f.pool.Stats().UsedTotal(); used > conns*growBytesMin+4<<20 {
		t.Errorf("%d connections that claim 90 MiB each and sent 100 bytes have %d KiB", conns, used>>10)
	}
}

// Halves of frames must not hold the slabs that they began in.
func TestHalfFramesHoldLittle(t *testing.T) {
	f := start(t, Options{Loops: 1})
	h := &funcs{overlaps: always}
	ln := f.listen(ListenerOptions{Handler: h, RequestsMax: 1 << 20})
	p := newPile()
	other := f.listen(ListenerOptions{Handler: &funcs{overlaps: always, serve: p.add}})
	turner := dial(t, other)
	const conns = 30
	for i := range conns {
		dial(t, ln).send(request(0, 1, 50<<10)[:2000])
		turner.send(request(0, i, 100<<10)) // walks the cursor on
	}
	for _, r := range p.take(conns) {
		r.Drop()
	}
	eventually(t, "halves were moved out", func() bool { return f.pool.Stats().UsedTotal() <= conns*16<<10+slabBytes })
}

// rig is a connection without sockets, for tests of the framing.
type rig struct {
	*Conn
	got  [][]byte
	held []*Request
	park func() bool // whether to answer the next request later
}

func newRig(o ListenerOptions) *rig {
	g := &rig{park: func() bool { return false }}
	r := &Reactor{gate: jobs.NewGate(1 << 40), begun: time.Now()}
	r.o = Options{Slabs: slab.NewPool(slab.Options{LimitBytes: 256 << 20}), Log: zap.NewNop()}
	_ = r.o.setDefaults()
	l := newLoop(r, nil)
	l.awake.Store(true)
	o.Handler = &funcs{overlaps: func(_ any, frame []byte) bool { return len(frame)%2 == 0 },
		serve: func(q *Request) {
			g.got = append(g.got, bytes.Clone(q.Frame()))
			if g.park() {
				g.held = append(g.held, q)
			} else {
				q.Drop()
			}
		}}
	_ = o.setDefaults()
	g.Conn = &Conn{listener: &Listener{r: r, o: o, log: r.o.Log}, loop: l, fd: -1}
	return g
}

// feed gives the connection a chunk as one of the two ways of reading does.
func (g *rig) feed(chunk []byte, direct bool) {
	if !direct || len(g.rest) > 0 || g.blocked() {
		g.receive(chunk)
		g.goOn()
		return
	}
	for len(chunk) > 0 && !g.doomed {
		n := g.feedDirect(chunk)
		chunk = chunk[n:]
		if len(g.rest) > 0 || g.blocked() {
			g.feed(chunk, false)
			return
		}
	}
}

// feedDirect stands for readv: what pullOnce offers is filled from the chunk.
func (g *rig) feedDirect(chunk []byte) int {
	p := &g.part
	var missing, room []byte
	if p.size > 0 {
		g.grow()
		missing = p.frame[len(p.frame):cap(p.frame)]
	}
	held := 0
	if p.size == 0 || cap(p.frame) == p.size {
		room, _ = g.loop.arena.room(pullRoomMin)
		if p.size == 0 && g.listener.o.Framing == Frames {
			held = copy(room, p.head[:p.nhead])
		}
	}
	n := copy(missing, chunk)
	n += copy(room[held:], chunk[n:])
	g.pulled(n, held, len(missing), room)
	return n
}

// answer lets up to n parked requests go.
func (g *rig) answer(n int) {
	for ; n > 0 && len(g.held) > 0; n-- {
		q := g.held[0]
		g.held = g.held[1:]
		q.Drop()
		g.turns, g.noMemory = 0, false
		g.collect()
		g.goOn()
	}
}

func (g *rig) end(t *testing.T) {
	t.Helper()
	g.park = func() bool { return false }
	for len(g.held) > 0 || g.turns > 0 {
		g.answer(1)
		g.turns = 0
		g.goOn()
	}
	if len(g.rest) > 0 && !g.doomed {
		t.Fatalf("%d bytes are held for nothing", len(g.rest))
	}
	g.part.drop()
	g.dropRest()
	for r := g.first; r != nil; r = r.next {
		r.free()
	}
	if g.waiting != nil {
		g.waiting.free()
	}
	g.loop.arena.drop()
	if n := g.loop.r.o.Slabs.Close(); n != 0 {
		t.Fatalf("%d slabs are still out", n)
	}
}

// reference cuts a stream as simply as can be.
func reference(stream []byte, frameBytesMax int) (frames [][]byte) {
	for len(stream) >= sizeBytes {
		head := stream[:min(len(stream), headBytes)]
		if garbage(head, frameBytesMax) != "" || len(stream) < sizeBytes+frameSize(stream) {
			break
		}
		n := sizeBytes + frameSize(stream)
		frames = append(frames, stream[sizeBytes:n])
		stream = stream[n:]
	}
	return frames
}

// FuzzFraming: whatever way a stream is split, read, blocked and let go on, the frames
// are the same.
func FuzzFraming(f *testing.F) {
	f.Add(slices.Concat(request(1, 1, 8), request(2, 2, 30)), []byte{1, 2, 3, 200})
	f.Add(request(0, 1, 300), []byte{5, 7, 0x80, 9, 255})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte{3})
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0}, []byte{4, 0x81})
	f.Add(slices.Concat(request(0, 1, 2000), request(0, 2, 8), request(0, 3, 1500)), []byte{255, 130, 66})
	f.Fuzz(func(t *testing.T, stream, splits []byte) {
		const limit = 1 << 20
		want := reference(stream, limit)
		g := newRig(ListenerOptions{FrameBytesMax: limit})
		runSplits(g, stream, splits)
		g.end(t)
		if len(g.got) != len(want) {
			t.Fatalf("%d frames, want %d", len(g.got), len(want))
		}
		for i := range want {
			if !bytes.Equal(g.got[i], want[i]) {
				t.Fatalf("frame %d differs", i)
			}
		}
	})
}

// runSplits feeds the stream in pieces; each byte of splits tells how long a piece is,
// which way it comes, and whether requests wait meanwhile.
func runSplits(g *rig, stream, splits []byte) {
	i := 0
	next := func() byte {
		if len(splits) == 0 {
			return 0x15
		}
		i++
		return splits[i%len(splits)]
	}
	for len(stream) > 0 {
		k := next()
		n := 1 + int(k&0x3f)
		if k&0x40 != 0 {
			n *= 2500
		}
		n = min(n, len(stream))
		g.park = func() bool { return k&3 == 1 }
		g.feed(stream[:n], k&0x80 != 0)
		stream = stream[n:]
		if k&4 == 0 {
			g.answer(1 + int(k&2))
		}
		g.turns = 0
		g.goOn()
	}
}

// The same with long streams of frames of all sizes, which a fuzzer doesn't find.
func TestFramingRandomly(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		var stream []byte
		for i := range 40 {
			n := 8 + rnd.IntN(200)
			switch rnd.IntN(8) {
			case 0:
				n = rnd.IntN(300 << 10)
			case 1, 2:
				n = rnd.IntN(10 << 10)
			}
			stream = append(stream, request(0, i, n)...)
		}
		splits := binary.BigEndian.AppendUint64(nil, rnd.Uint64())
		splits = binary.BigEndian.AppendUint64(splits, rnd.Uint64())
		want := reference(stream, 1<<20)
		g := newRig(ListenerOptions{FrameBytesMax: 1 << 20})
		runSplits(g, stream, splits)
		g.end(t)
		if !slices.EqualFunc(g.got, want, bytes.Equal) {
			t.Fatalf("splits %x: frames differ (%d, want %d)", splits, len(g.got), len(want))
		}
	}
}
