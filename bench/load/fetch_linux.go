package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"millrace/bench/wire"
	"millrace/protocol"
)

// Fetch reads a filled topic: Connections, Depth, FetchBytes. Each request in flight has a partition of its own place
// and asks for the offset behind what came last, as a consumer would; at the end of the log it starts again.
func Fetch(ctx context.Context, s Spec) (*Result, error) {
	return fetch(ctx, s, false)
}

// Drain reads a filled topic once, from its start to the end it has when the load begins.
func Drain(ctx context.Context, s Spec) (*Result, error) {
	s.Warm, s.Rate = 0, 0
	s.Connections = max(min(s.Connections, len(s.Topic.Leaders)), 1)
	s.Depth = (len(s.Topic.Leaders) + s.Connections - 1) / s.Connections * brokers(s.Topic)
	return fetch(ctx, s, true)
}

func fetch(ctx context.Context, s Spec, once bool) (*Result, error) {
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	defer e.close()
	m := newMeter(&s, ownThread)
	w := &window{meter: m}
	flows, err := dialFetchers(e, m, once)
	if err != nil {
		return nil, err
	}
	e.tick = func(now time.Time) (time.Duration, bool, error) {
		if once && m.open && allDone(flows) {
			w.end = now
		}
		return w.tick(now)
	}
	if once {
		// The window opens before the first request, so that nothing is left out.
		m.begin(time.Now())
		w.warm, w.end = time.Now(), time.Now().Add(s.Run)
	}
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	if once && !allDone(flows) && !m.full() {
		return nil, fmt.Errorf("the backlog wasn't read within %v", s.Run)
	}
	if w.result.Requests == 0 {
		return nil, errNothing
	}
	return w.result, nil
}

func allDone(flows []*fetcher) bool {
	for _, f := range flows {
		if f.left > 0 {
			return false
		}
	}
	return true
}

// fetcher is the flow of a connection that fetches.
type fetcher struct {
	meter  *meter
	slots  []fetchSlot
	queued []int // slots whose request is to be sent
	once   bool
	left   int // slots that have not reached the end
	reader wire.FetchReader
}

// fetchSlot is one request in flight. Its number is the correlation id.
type fetchSlot struct {
	frame  *wire.FetchFrame
	offset int64
	start  int64 // of the log
	end    int64 // where a Drain stops
	sent   time.Time
}

// dialFetchers opens the connections and deals the partitions out to their slots. Several slots share a partition if
// there are more slots, but in a Drain.
func dialFetchers(e *engine, m *meter, once bool) ([]*fetcher, error) {
	s := m.spec
	leaders := byLeader(s.Topic)
	var flows []*fetcher
	dealt := map[string]int{}
	for i := range s.Connections {
		l := leaders[i%len(leaders)]
		f := &fetcher{meter: m, once: once}
		for range max(s.Depth, 1) {
			if once && dealt[l.addr] == len(l.partitions) {
				break
			}
			p := l.partitions[dealt[l.addr]%len(l.partitions)]
			dealt[l.addr]++
			frame := wire.NewFetchFrame(wire.FetchSpec{Topic: s.Topic.Name, Partitions: []int32{p}, MaxWaitMs: 500,
				MinBytes: 1, MaxBytes: int32(s.FetchBytes)})
			frame.Stamp(int32(len(f.slots)))
			f.queued = append(f.queued, len(f.slots))
			slot := fetchSlot{frame: frame, start: l.starts[p], offset: l.starts[p], end: l.ends[p]}
			if f.slots = append(f.slots, slot); slot.offset < slot.end {
				f.left++
			}
		}
		if len(f.slots) == 0 {
			continue
		}
		if _, err := e.dial(l.addr, f); err != nil {
			return nil, err
		}
		flows = append(flows, f)
	}
	return flows, nil
}

func (f *fetcher) fill(c *client) error {
	var now time.Time
	for _, i := range f.queued {
		s := &f.slots[i]
		if f.once && s.offset >= s.end {
			continue
		}
		if now.IsZero() {
			now = time.Now()
		}
		s.sent = now
		s.frame.SetOffset(0, s.offset)
		c.out.Push(s.frame.Bytes)
	}
	f.queued = f.queued[:0]
	return nil
}

func (f *fetcher) receive(_ *client, b []byte) (used, missing int, err error) {
	now := time.Now()
	return frames(b, func(response []byte) error { return f.answer(response, now) })
}

func (f *fetcher) answer(response []byte, now time.Time) error {
	i := 0
	if len(response) >= 4 {
		i = int(binary.BigEndian.Uint32(response))
	}
	if i >= len(f.slots) {
		return fmt.Errorf("an answer to request %d of %d", i, len(f.slots))
	}
	s := &f.slots[i]
	if err := f.reader.Reset(response); err != nil {
		return err
	}
	records := 0
	for f.reader.Next() {
		if f.reader.Code != protocol.None {
			return fmt.Errorf("partition %d at offset %d, log %d to %d: %w", f.reader.Index, s.offset, f.reader.LogStart, f.reader.HighWatermark,
				&wire.CodeError{API: "Fetch", Code: f.reader.Code})
		}
		_, count, next, err := wire.WalkBatches(f.reader.Records, s.offset, false)
		if err != nil {
			return fmt.Errorf("partition %d: %w", f.reader.Index, err)
		}
		records += count
		s.offset = next
		if !f.once && s.end > s.start && next >= s.end {
			s.offset = s.start // round again, without asking for what isn't there yet: that would wait
		}
	}
	if err := f.reader.Err(); err != nil {
		return err
	}
	if records > 0 {
		f.meter.answered(records, 4+len(response))
		f.meter.took(s.sent, now)
	}
	if f.once && s.offset >= s.end {
		f.left--
		return nil
	}
	f.queued = append(f.queued, i)
	return nil
}

func brokers(t *wire.Topic) int {
	addrs := map[string]bool{}
	for _, l := range t.Leaders {
		addrs[l] = true
	}
	return len(addrs)
}

var _ flow = (*fetcher)(nil)
