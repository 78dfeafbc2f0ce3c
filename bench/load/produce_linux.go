package load

import (
	"context"
	"fmt"
	"time"

	"millrace/bench/wire"
	"millrace/protocol"
)

// Produce sends batches, all alike, and waits for their acknowledgements: Connections, Depth, RecordBytes, BatchBytes,
// Acks, Codec, Idempotent, Rate. Each connection has a partition of the topic, the i-th the i-th, in turn.
func Produce(ctx context.Context, s Spec) (*Result, error) {
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	defer e.close()
	m := newMeter(&s, ownThread)
	flows, err := dialProducers(e, m)
	if err != nil {
		return nil, err
	}
	w := &window{meter: m}
	if s.FillBytes > 0 {
		w.filled = func() bool { return filled(flows, &s) }
	}
	paceProducers(w, e, flows, s.Rate, nil)
	e.tick = w.tick
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	return finish(w, flows)
}

// Fill produces FillBytes and measures nothing.
func Fill(ctx context.Context, s Spec) error {
	s.Warm, s.Run, s.Rate = 0, 0, 0
	_, err := Produce(ctx, s)
	return err
}

// filled says that FillBytes were sent. Before an open loop starts everything must be answered too.
func filled(flows []*producer, s *Spec) bool {
	var bytes int64
	quiet := true
	for _, f := range flows {
		bytes += int64(f.acked) * int64(f.frame.Bytes())
		quiet = quiet && f.sent == f.acked
	}
	if bytes < s.FillBytes {
		return false
	}
	if s.Rate > 0 {
		for _, f := range flows {
			f.credit = 0
		}
		return quiet
	}
	return true
}

func finish(w *window, flows []*producer) (*Result, error) {
	r := w.result
	now := time.Now()
	for _, f := range flows {
		if w.meter.spec.Rate > 0 {
			for f.due.len() > 0 {
				w.meter.lost(f.due.pop(), now)
			}
		}
	}
	if r.Requests == 0 && w.meter.spec.Run > 0 {
		return nil, errNothing
	}
	return r, nil
}

// paceProducers makes an open loop of the flows if there is a rate. Each request that comes due is the next
// connection's; note, if any, is told.
func paceProducers(w *window, e *engine, flows []*producer, rate float64, note func(i int, due time.Time)) {
	if rate <= 0 {
		return
	}
	if w.filled == nil {
		for _, f := range flows {
			f.credit = 0
		}
	}
	var p *pace
	turn := 0
	w.before = func(now time.Time) time.Duration {
		if w.filled != nil { // filling goes as fast as it can
			return maxWait
		}
		if p == nil {
			p = newPace(now, rate)
		}
		for due := p.due(); !due.After(now); due = p.due() {
			flows[turn].due.push(due)
			flows[turn].credit++
			if note != nil {
				note(turn, due)
			}
			if again, err := flows[turn].client.send(); again && err == nil {
				e.again = append(e.again, flows[turn].client)
			}
			turn = (turn + 1) % len(flows)
			p.sent++
		}
		return time.Until(p.due())
	}
	w.drained = func() bool {
		for _, f := range flows {
			if f.due.len() > 0 {
				return false
			}
		}
		return true
	}
}

// producer is the flow of a connection that produces.
type producer struct {
	meter  *meter
	client *client
	frame  *wire.ProduceFrame
	heads  []byte // one for each request in flight
	depth  int
	silent bool // acks=0: no answers

	sent, acked int
	credit      int     // requests that may be sent; −1: no limit but the depth
	due         queue   // of what was not answered yet: when it was due, or sent
	sequence    int32   // −1: not idempotent
	rotate      []int32 // partitions that requests go to in turn; nil: always the same
	scheduled   int     // requests that came due, where someone counts
	untimed     bool    // latency is taken elsewhere

	partition int32
	next      int64 // the offset that the next answer must have; −1: any
	exclusive bool  // nobody else produces to the partition
}

func dialProducers(e *engine, m *meter) ([]*producer, error) {
	s := m.spec
	var flows []*producer
	exclusive := s.Connections <= len(s.Topic.Leaders)
	for i := range s.Connections {
		f, err := newProducer(m, int32(i%len(s.Topic.Leaders)))
		if err != nil {
			return nil, err
		}
		f.exclusive = exclusive
		if f.client, err = e.dial(s.Topic.Leaders[f.partition], f); err != nil {
			return nil, err
		}
		flows = append(flows, f)
	}
	return flows, nil
}

func newProducer(m *meter, partition int32) (*producer, error) {
	s := m.spec
	f := &producer{meter: m, depth: max(s.Depth, 1), partition: partition, silent: s.Acks == 0, sequence: -1, next: -1,
		credit: -1}
	b := wire.BatchSpec{Records: s.records(), RecordBytes: s.recordBytes(), Codec: s.Codec, ProducerID: -1,
		ProducerEpoch: -1, TimestampMs: time.Now().UnixMilli()}
	if s.Idempotent {
		c, err := wire.Dial(s.Bootstrap, 10*time.Second)
		if err != nil {
			return nil, err
		}
		b.ProducerID, b.ProducerEpoch, err = c.InitProducerID()
		_ = c.Close()
		if err != nil {
			return nil, err
		}
		f.sequence = 0
	}
	batch, err := wire.NewBatch(b)
	if err != nil {
		return nil, err
	}
	if f.frame, err = wire.NewProduceFrame(s.Topic.Name, partition, s.Acks, batch); err != nil {
		return nil, err
	}
	for range f.depth {
		f.heads = append(f.heads, f.frame.Head...)
	}
	return f, nil
}

func (f *producer) fill(c *client) error {
	if f.silent {
		if c.out.Len() > 0 {
			return nil
		}
		f.assumeAcked() // all of it is with the kernel now
	}
	var now time.Time
	for f.sent-f.acked < f.depth && f.credit != 0 {
		if f.credit > 0 {
			f.credit--
		} else if f.meter.spec.Rate == 0 {
			if now.IsZero() {
				now = time.Now()
			}
			f.due.push(now)
		}
		n := len(f.frame.Head)
		head := f.heads[f.sent%f.depth*n:][:n]
		f.frame.Stamp(head, int32(f.sent&0x7fffffff), f.sequence)
		if f.rotate != nil {
			f.frame.SetPartition(head, f.rotate[f.sent%len(f.rotate)])
		}
		if f.sequence >= 0 {
			f.sequence = int32((int64(f.sequence) + int64(f.frame.Batch.Records)) & 0x7fffffff)
		}
		c.out.Push(head)
		c.out.Push(f.frame.Tail)
		f.sent++
	}
	return nil
}

func (f *producer) assumeAcked() {
	now := time.Now()
	for f.acked < f.sent {
		f.count(now)
	}
}

// count counts one acknowledged request.
func (f *producer) count(now time.Time) {
	f.acked++
	if f.due.len() > 0 {
		if due := f.due.pop(); !f.untimed {
			f.meter.took(due, now)
		}
	}
	f.meter.answered(f.frame.Batch.Records, f.frame.Bytes())
}

func (f *producer) receive(_ *client, b []byte) (used, missing int, err error) {
	now := time.Now()
	return frames(b, func(response []byte) error {
		a, err := wire.ParseAck(response)
		switch {
		case err != nil:
			return err
		case a.Code != protocol.None:
			return fmt.Errorf("partition %d of %s: %w", f.partition, f.frame.Topic, &wire.CodeError{API: "Produce",
				Code: a.Code})
		case a.Correlation != int32(f.acked&0x7fffffff):
			return fmt.Errorf("answer %d where %d was due: out of order", a.Correlation, f.acked)
		case f.rotate != nil:
		case f.next >= 0 && (a.BaseOffset < f.next || f.exclusive && a.BaseOffset != f.next):
			return fmt.Errorf("partition %d of %s: offset %d where %d was due", f.partition, f.frame.Topic,
				a.BaseOffset, f.next)
		}
		f.next = a.BaseOffset + int64(f.frame.Batch.Records)
		f.count(now)
		return nil
	})
}

var _ flow = (*producer)(nil)
