package load

import (
	"context"
	"encoding/binary"
	"time"
)

// Echo sends small requests that the floor answers with as little: what a round trip costs. BatchBytes is the size of a
// request; Connections, Depth and Rate are as for Produce.
func Echo(ctx context.Context, s Spec, key int16, answerBytes int) (*Result, error) {
	request := make([]byte, max(s.BatchBytes, 12))
	binary.BigEndian.PutUint32(request, uint32(len(request)-4))
	binary.BigEndian.PutUint16(request[4:], uint16(key))
	return ask(ctx, &s, func(*engine, int) (*asker, error) {
		return &asker{request: request, cut: func(_ *client, b []byte) (used, missing int, answer bool, err error) {
			if len(b) < answerBytes {
				return 0, 0, false, nil
			}
			return answerBytes, 0, true, nil
		}}, nil
	}, nil)
}

// ask runs a load of askers, one for each connection; readers, if any, are told when requests come due.
func ask(ctx context.Context, s *Spec, newAsker func(e *engine, i int) (*asker, error), readers *askReaders) (*Result, error) {
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	defer e.close()
	m := newMeter(s, ownThread)
	if readers != nil {
		if err := readers.dial(e, m); err != nil {
			return nil, err
		}
	}
	var flows []*asker
	for i := range s.Connections {
		f, err := newAsker(e, i)
		if err != nil {
			return nil, err
		}
		f.meter, f.depth, f.credit, f.untimed = m, max(s.Depth, 1), -1, readers != nil
		if f.client, err = e.dial(s.Bootstrap, f); err != nil {
			return nil, err
		}
		flows = append(flows, f)
	}
	w := &window{meter: m}
	if s.FillBytes > 0 {
		w.filled = func() bool { return askedEnough(flows, s) }
	}
	paceAskers(w, e, flows, s.Rate, readers)
	e.tick = w.tick
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	if w.result.Requests == 0 && s.Run > 0 {
		return nil, errNothing
	}
	for _, f := range flows {
		for s.Rate > 0 && f.due.len() > 0 {
			if due := f.due.pop(); !f.untimed {
				m.lost(due, time.Now())
			}
		}
	}
	return w.result, nil
}

// askedEnough says that FillBytes were sent and, before an open loop, all of it was answered.
func askedEnough(flows []*asker, s *Spec) bool {
	var bytes int64
	quiet := true
	for _, f := range flows {
		bytes += int64(f.answered) * int64(len(f.request))
		quiet = quiet && f.flight == 0
	}
	if bytes < s.FillBytes {
		return false
	}
	if s.Rate <= 0 {
		return true
	}
	for _, f := range flows {
		f.credit = 0
	}
	return quiet
}

// asker is the flow of a connection that says one thing again and again.
type asker struct {
	meter    *meter
	client   *client
	greeting []byte // said first
	request  []byte
	// cut finds the end of what the answers begin with; used 0 is an incomplete one. answer is false for what answers no
	// request.
	cut func(c *client, b []byte) (used, missing int, answer bool, err error)

	depth, flight, answered int
	credit                  int // requests that may be sent; −1: no limit but the depth
	due                     queue
	untimed                 bool
}

func (f *asker) fill(c *client) error {
	c.out.Push(f.greeting)
	f.greeting = nil
	for f.flight < f.depth && f.credit != 0 {
		if f.credit > 0 {
			f.credit--
		} else if f.meter.spec.Rate == 0 {
			f.due.push(time.Now())
		}
		c.out.Push(f.request)
		f.flight++
	}
	return nil
}

func (f *asker) receive(c *client, b []byte) (used, missing int, err error) {
	now := time.Now()
	for used < len(b) {
		n, missing, answer, err := f.cut(c, b[used:])
		if err != nil || n == 0 {
			return used, missing, err
		}
		used += n
		if !answer {
			continue
		}
		f.flight--
		f.answered++
		if f.due.len() > 0 {
			if due := f.due.pop(); !f.untimed {
				f.meter.took(due, now)
			}
		}
		f.meter.answered(1, len(f.request))
	}
	return used, 0, nil
}

// paceAskers makes an open loop of the flows if there is a rate.
func paceAskers(w *window, e *engine, flows []*asker, rate float64, readers *askReaders) {
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
		if w.filled != nil {
			return maxWait
		}
		if p == nil {
			p = newPace(now, rate)
		}
		for due := p.due(); !due.After(now); due = p.due() {
			f := flows[turn]
			f.due.push(due)
			f.credit++
			if readers != nil {
				readers.lines[turn].times = append(readers.lines[turn].times, due)
			}
			_ = e.send(f.client) // an error shows at the next event
			turn = (turn + 1) % len(flows)
			p.sent++
		}
		return time.Until(p.due())
	}
	w.drained = func() bool {
		for i, f := range flows {
			if f.due.len() > 0 || readers != nil && readers.seen[i] < int64(len(readers.lines[i].times)) {
				return false
			}
		}
		return true
	}
}

// askReaders are the consuming ends of an end-to-end load: the i-th reads what the i-th asker sends.
type askReaders struct {
	dial  func(e *engine, m *meter) error
	lines []*timeline
	seen  []int64 // messages that have come to each reader
}

func newAskReaders(n int) *askReaders {
	r := &askReaders{seen: make([]int64, n)}
	for range n {
		r.lines = append(r.lines, &timeline{records: 1})
	}
	return r
}

// came notes the arrival of the next message at a reader.
func (r *askReaders) came(m *meter, reader, bytes int, now time.Time) {
	if due, ok := r.lines[reader].at(r.seen[reader]); ok {
		m.took(due, now)
	}
	r.seen[reader]++
	m.read(1, bytes)
}

var _ flow = (*asker)(nil)
