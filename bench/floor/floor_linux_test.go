package floor

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/wire"
)

// start runs a floor until the test ends and gives its address.
func start(t *testing.T, o Options) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Addr = ln.Addr().String()
	_ = ln.Close()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	o.Ready = func() { close(ready) }
	go func() { done <- Run(ctx, o) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return o.Addr
}

var small = Options{RetainBytes: 16 << 20, ShelfBytes: 1 << 20, BatchBytes: 4 << 10, RecordBytes: 1 << 10, Partitions: 4}

func TestFranzProducesAndConsumes(t *testing.T) {
	addr := start(t, small)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tests := []struct {
		name string
		opts []kgo.Opt
	}{
		{"idempotent, acks=all", nil},
		{"acks=1", []kgo.Opt{kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck())}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := kgo.NewClient(append(tt.opts, kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("any"))...)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var records []*kgo.Record
			for i := range 100 {
				records = append(records, &kgo.Record{Value: fmt.Append(nil, i)})
			}
			if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		})
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics("any"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fetches := c.PollFetches(ctx)
	if err := fetches.Err(); err != nil || fetches.NumRecords() == 0 {
		t.Errorf("%d records, %v", fetches.NumRecords(), err)
	}
}

// ask sends bytes and reads one frame.
func ask(t *testing.T, c net.Conn, b []byte) []byte {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	return next(t, c)
}

func next(t *testing.T, c net.Conn) []byte {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, int(head[0])<<24|int(head[1])<<16|int(head[2])<<8|int(head[3]))
	if _, err := io.ReadFull(c, body); err != nil {
		t.Fatal(err)
	}
	return body
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func produceFrame(t *testing.T, partition int32, records int) *wire.ProduceFrame {
	t.Helper()
	b, err := wire.NewBatch(wire.BatchSpec{Records: records, RecordBytes: 1000, ProducerID: -1, ProducerEpoch: -1})
	if err != nil {
		t.Fatal(err)
	}
	f, err := wire.NewProduceFrame("any", partition, 1, b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFramesInPieces sends the same requests cut at every place that matters, and expects the same answers.
func TestFramesInPieces(t *testing.T) {
	addr := start(t, small)
	f := produceFrame(t, 1, 3)
	whole := append(append([]byte{}, f.Head...), f.Tail...)
	c, offset := dial(t, addr), int64(0)
	for _, cut := range []int{0, 1, 2, 3, 4, 5, 11, 12, len(f.Head), len(whole) - 1} {
		if _, err := c.Write(whole[:cut]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // likelier to arrive apart; right either way
		a, err := wire.ParseAck(ask(t, c, whole[cut:]))
		if err != nil || a.Code != 0 || a.BaseOffset != offset {
			t.Fatalf("cut at %d: %+v, %v; want offset %d", cut, a, err, offset)
		}
		offset += 3
	}
}

func TestWrongCRCIsRefused(t *testing.T) {
	addr := start(t, small)
	f := produceFrame(t, 0, 1)
	f.Tail[10] ^= 1
	a, err := wire.ParseAck(ask(t, dial(t, addr), append(f.Head, f.Tail...)))
	if err != nil || a.Code != codeCorrupt {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestFetchFollowsOffsets(t *testing.T) {
	addr := start(t, small)
	c := dial(t, addr)
	f := wire.NewFetchFrame(wire.FetchSpec{Topic: "any", Partitions: []int32{0, 3}, MaxBytes: 20 << 10})
	offsets := []int64{0, 400}
	for range 300 { // more than the shelf holds
		f.SetOffset(0, offsets[0])
		f.SetOffset(1, offsets[1])
		var r wire.FetchReader
		if err := r.Reset(ask(t, c, f.Bytes)); err != nil {
			t.Fatal(err)
		}
		for i := 0; r.Next(); i++ {
			_, n, next, err := wire.WalkBatches(r.Records, offsets[i], true)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 && n == 0 {
				t.Fatal("nothing from the first partition")
			}
			offsets[i] = next
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlowReader asks for far more than a socket holds before it reads.
func TestSlowReader(t *testing.T) {
	o := small
	o.BatchBytes, o.ShelfBytes = 1<<20, 4<<20
	addr := start(t, o)
	c := dial(t, addr)
	f := wire.NewFetchFrame(wire.FetchSpec{Topic: "any", Partitions: []int32{0}, MaxBytes: 2 << 20})
	const requests = 40
	for i := range requests {
		f.Stamp(int32(i))
		if _, err := c.Write(f.Bytes); err != nil {
			t.Fatal(err)
		}
	}
	for i := range requests {
		var r wire.FetchReader
		if err := r.Reset(next(t, c)); err != nil || r.Correlation != int32(i) || !r.Next() || len(r.Records) < 1<<20 {
			t.Fatalf("answer %d: %v, correlation %d, %d bytes", i, err, r.Correlation, len(r.Records))
		}
	}
}

func TestRubbishClosesTheConnection(t *testing.T) {
	addr := start(t, small)
	for _, b := range []string{"\x00\x00\x00\x01abc", "\xff\xff\xff\xff\x00\x00\x00\x00", "GET / HTTP/1.1\r\n\r\n",
		"\x00\x00\x00\x0a\x00\x63\x00\x00\x00\x00\x00\x00\x00\x00"} {
		c := dial(t, addr)
		if _, err := c.Write([]byte(b)); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if n, err := c.Read(make([]byte, 10)); err == nil || n > 0 {
			t.Errorf("%q: %d bytes, %v; want a closed connection", b, n, err)
		}
	}
}

func TestRing(t *testing.T) {
	r, err := newRing(3*slabBytes, false)
	if err != nil {
		t.Fatal(err)
	}
	r.take(slabBytes - 10)
	if b, err := r.room(10); err != nil || len(b) != 10 || r.slab != 0 {
		t.Fatalf("%d bytes of slab %d, %v", len(b), r.slab, err)
	}
	r.pins[1]++
	if _, err := r.room(11); err != nil || r.slab != 2 {
		t.Fatalf("slab %d, %v; want 2: 1 is pinned", r.slab, err)
	}
	r.pins[0], r.pins[2] = 1, 1
	r.take(slabBytes)
	if b, err := r.room(1); err != nil || r.slab != 3 || len(b) != slabBytes {
		t.Errorf("%d bytes of slab %d, %v; want a fourth, since all are pinned", len(b), r.slab, err)
	}
	if _, err := newRing(slabBytes, false); err == nil {
		t.Error("a ring of one slab")
	}
}
