package load

import (
	"context"
	"fmt"
	"time"

	"millrace/bench/wire"
	"millrace/protocol"
)

// EndToEnd produces and consumes at once: each of Connections has its own partition and a reader of it that waits for
// more. With a Rate the latency is from the time a request was due to the arrival of its last record.
func EndToEnd(ctx context.Context, s Spec) (*Result, error) {
	s.Groups = 1
	return tail(ctx, s, true)
}

// Fanout produces to a topic that each of Groups readers reads whole, as far as the raw client knows groups: a
// connection for each reader and broker, waiting for all partitions there in one request.
func Fanout(ctx context.Context, s Spec) (*Result, error) {
	return tail(ctx, s, false)
}

func tail(ctx context.Context, s Spec, alone bool) (*Result, error) {
	// One producer for each partition: then the order of sending is the order of offsets.
	s.Connections = min(s.Connections, len(s.Topic.Leaders))
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	defer e.close()
	m := newMeter(&s, ownThread)
	lines := newTimelines(&s)
	readers, err := dialReaders(e, m, lines, alone)
	if err != nil {
		return nil, err
	}
	producers, err := dialProducers(e, m)
	if err != nil {
		return nil, err
	}
	for _, p := range producers {
		p.untimed = true
	}
	w := &window{meter: m}
	paceProducers(w, e, producers, s.Rate, func(i int, due time.Time) {
		l := lines[producers[i].partition]
		l.times = append(l.times, due)
	})
	w.drained = func() bool { return s.Rate == 0 || caughtUp(readers) }
	e.tick = w.tick
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	for _, r := range readers {
		r.lose(time.Now())
	}
	r := w.result
	r.extra("delivered_records_per_s", float64(r.ReadRecords)/r.Span.Seconds())
	r.extra("delivered_bytes_per_s", float64(r.ReadBytes)/r.Span.Seconds())
	if r.Requests == 0 || r.ReadRecords == 0 {
		return nil, errNothing
	}
	return r, nil
}

// newTimelines makes a timeline for each partition, from its end on.
func newTimelines(s *Spec) map[int32]*timeline {
	lines := map[int32]*timeline{}
	for _, l := range byLeader(s.Topic) {
		for _, p := range l.partitions {
			lines[p] = &timeline{start: l.ends[p], records: s.records()}
		}
	}
	return lines
}

// reader is the flow of a connection that waits for what comes.
type reader struct {
	meter   *meter
	lines   map[int32]*timeline
	frame   *wire.FetchFrame
	place   map[int32]int // of a partition in the request
	offsets []int64
	ready   bool // the request is to be sent
	answers wire.FetchReader
}

func dialReaders(e *engine, m *meter, lines map[int32]*timeline, alone bool) ([]*reader, error) {
	s := m.spec
	var readers []*reader
	add := func(addr string, partitions []int32) error {
		r := &reader{meter: m, lines: lines, ready: true, place: map[int32]int{}}
		r.frame = wire.NewFetchFrame(wire.FetchSpec{Topic: s.Topic.Name, Partitions: partitions, MaxWaitMs: 500,
			MinBytes: 1, MaxBytes: int32(max(s.FetchBytes, 1<<20))})
		for i, p := range partitions {
			r.place[p] = i
			r.offsets = append(r.offsets, lines[p].start)
		}
		readers = append(readers, r)
		_, err := e.dial(addr, r)
		return err
	}
	for range max(s.Groups, 1) {
		for _, l := range byLeader(s.Topic) {
			if !alone {
				if err := add(l.addr, l.partitions); err != nil {
					return nil, err
				}
				continue
			}
			for _, p := range l.partitions {
				if int(p) < s.Connections {
					if err := add(l.addr, []int32{p}); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return readers, nil
}

func (r *reader) fill(c *client) error {
	if !r.ready {
		return nil
	}
	r.ready = false
	for i, offset := range r.offsets {
		r.frame.SetOffset(i, offset)
	}
	c.out.Push(r.frame.Bytes)
	return nil
}

func (r *reader) receive(_ *client, b []byte) (used, missing int, err error) {
	now := time.Now()
	return frames(b, func(response []byte) error { return r.answer(response, now) })
}

func (r *reader) answer(response []byte, now time.Time) error {
	if err := r.answers.Reset(response); err != nil {
		return err
	}
	records := 0
	for r.answers.Next() {
		n, err := r.partition(now)
		if err != nil {
			return fmt.Errorf("partition %d: %w", r.answers.Index, err)
		}
		records += n
	}
	if err := r.answers.Err(); err != nil {
		return err
	}
	if records > 0 {
		r.meter.read(records, 4+len(response))
	}
	r.ready = true
	return nil
}

func (r *reader) partition(now time.Time) (records int, err error) {
	i, mine := r.place[r.answers.Index]
	switch {
	case !mine:
		return 0, fmt.Errorf("not asked for")
	case r.answers.Code != protocol.None:
		return 0, &wire.CodeError{API: "Fetch", Code: r.answers.Code}
	}
	_, records, next, err := wire.WalkBatches(r.answers.Records, r.offsets[i], false)
	if err != nil {
		return 0, err
	}
	line := r.lines[r.answers.Index]
	// A request is there when its last record is.
	for last := r.offsets[i] - (r.offsets[i]-line.start)%int64(line.records) + int64(line.records) - 1; last < next; {
		if due, ok := line.at(last); ok {
			r.meter.took(due, now)
		}
		last += int64(line.records)
	}
	r.offsets[i] = next
	return records, nil
}

// caughtUp says that every reader has all that was ever due.
func caughtUp(readers []*reader) bool {
	for _, r := range readers {
		for p, i := range r.place {
			if r.offsets[i] < r.lines[p].end() {
				return false
			}
		}
	}
	return true
}

// lose counts what didn't come.
func (r *reader) lose(now time.Time) {
	for p, i := range r.place {
		for offset := r.offsets[i]; offset < r.lines[p].end(); offset += int64(r.lines[p].records) {
			if due, ok := r.lines[p].at(offset); ok {
				r.meter.lost(due, now)
			}
		}
	}
}

var _ flow = (*reader)(nil)
