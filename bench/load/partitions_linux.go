package load

import (
	"context"
	"fmt"
	"time"

	"millrace/bench/wire"
	"millrace/protocol"
)

// Partitions produces to all partitions of a topic in turn, while one consumer reads them all, with a fetch session
// where the broker has them: what a request costs where there are many partitions. Connections and Depth are of the
// producers, Rate is theirs together.
func Partitions(ctx context.Context, s Spec) (*Result, error) {
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	defer e.close()
	m := newMeter(&s, ownThread)
	lines := newTimelines(&s)
	var consumers []*sessionReader
	for _, l := range byLeader(s.Topic) {
		r := newSessionReader(m, l, lines)
		consumers = append(consumers, r)
		if _, err := e.dial(l.addr, r); err != nil {
			return nil, err
		}
	}
	producers, err := dialRotating(e, m)
	if err != nil {
		return nil, err
	}
	w := &window{meter: m}
	paceProducers(w, e, producers, s.Rate, func(i int, due time.Time) {
		p := producers[i]
		l := lines[p.rotate[p.scheduled%len(p.rotate)]]
		p.scheduled++
		l.times = append(l.times, due)
	})
	w.drained = func() bool {
		if s.Rate == 0 {
			return true
		}
		for _, r := range consumers {
			if !r.caughtUp() {
				return false
			}
		}
		return true
	}
	e.tick = w.tick
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	r := w.result
	sessions := 1.0
	for _, c := range consumers {
		if c.session == 0 {
			sessions = 0
		}
	}
	r.extra("fetch_sessions", sessions)
	r.extra("records_per_fetch", float64(r.ReadRecords)/float64(max(r.ReadRequests, 1)))
	if r.Requests == 0 || r.ReadRecords == 0 {
		return nil, errNothing
	}
	return r, nil
}

// dialRotating opens producers that share out the partitions of their broker among themselves, so that each partition
// has one producer.
func dialRotating(e *engine, m *meter) ([]*producer, error) {
	s := m.spec
	leaders := byLeader(s.Topic)
	var producers []*producer
	for i := range s.Connections {
		l, share := leaders[i%len(leaders)], i/len(leaders)
		shares := (s.Connections - i%len(leaders) + len(leaders) - 1) / len(leaders)
		var mine []int32
		for j, p := range l.partitions {
			if j%shares == share {
				mine = append(mine, p)
			}
		}
		if len(mine) == 0 {
			continue
		}
		p, err := newProducer(m, mine[0])
		if err != nil {
			return nil, err
		}
		p.rotate, p.untimed = mine, true
		if p.client, err = e.dial(l.addr, p); err != nil {
			return nil, err
		}
		producers = append(producers, p)
	}
	return producers, nil
}

// sessionReader is the flow of a consumer of many partitions. The first request names them all; later ones, within
// the session that the broker opened, only those whose offset has moved. A broker without sessions gets them all
// each time.
type sessionReader struct {
	meter   *meter
	topic   string
	lines   map[int32]*timeline
	indexes []int32
	offsets map[int32]int64

	session, epoch int32
	moved          []int32
	ready          bool
	request        []byte
	answers        wire.FetchReader
}

func newSessionReader(m *meter, l *leader, lines map[int32]*timeline) *sessionReader {
	r := &sessionReader{meter: m, topic: m.spec.Topic.Name, lines: lines, indexes: l.partitions, ready: true,
		offsets: map[int32]int64{}}
	for _, p := range l.partitions {
		r.offsets[p] = lines[p].start
	}
	r.moved = l.partitions
	return r
}

func (r *sessionReader) fill(c *client) error {
	if !r.ready || c.out.Len() > 0 {
		return nil
	}
	r.ready = false
	r.request = wire.AppendSessionFetch(r.request[:0], r.spec(), r.session, r.epoch, r.moved, r.offsets)
	c.out.Push(r.request)
	return nil
}

func (r *sessionReader) spec() wire.FetchSpec {
	return wire.FetchSpec{Topic: r.topic, MaxWaitMs: 500, MinBytes: 1, MaxBytes: int32(max(r.meter.spec.FetchBytes, 1<<20)),
		PartitionMaxBytes: 1 << 20}
}

func (r *sessionReader) receive(_ *client, b []byte) (used, missing int, err error) {
	now := time.Now()
	return frames(b, func(response []byte) error { return r.answer(response, now) })
}

func (r *sessionReader) answer(response []byte, now time.Time) error {
	if err := r.answers.Reset(response); err != nil {
		return err
	}
	if r.session = r.answers.SessionID; r.session == 0 {
		r.epoch, r.moved = 0, r.indexes
	} else {
		r.epoch++
		if len(r.moved) == len(r.indexes) {
			r.moved = nil // was the list of all
		}
		r.moved = r.moved[:0]
	}
	records := 0
	for r.answers.Next() {
		n, err := r.partition(now)
		if err != nil {
			return fmt.Errorf("partition %d: %w", r.answers.Index, err)
		}
		if records += n; n > 0 && r.session != 0 {
			r.moved = append(r.moved, r.answers.Index)
		}
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

func (r *sessionReader) partition(now time.Time) (records int, err error) {
	p := r.answers.Index
	offset, mine := r.offsets[p]
	switch {
	case !mine:
		return 0, fmt.Errorf("not asked for")
	case r.answers.Code != protocol.None:
		return 0, &wire.CodeError{API: "Fetch", Code: r.answers.Code}
	}
	_, records, next, err := wire.WalkBatches(r.answers.Records, offset, false)
	if err != nil || records == 0 {
		return 0, err
	}
	line := r.lines[p]
	for last := offset; last < next; last += int64(line.records) {
		if due, ok := line.at(last); ok {
			r.meter.took(due, now)
		}
	}
	r.offsets[p] = next
	return records, nil
}

func (r *sessionReader) caughtUp() bool {
	for p, offset := range r.offsets {
		if offset < r.lines[p].end() {
			return false
		}
	}
	return true
}

var _ flow = (*sessionReader)(nil)
