package load

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// NATSProduce publishes messages of RecordBytes to JetStream streams in memory and waits for their acknowledgements:
// Connections (each has its own stream), Depth, Rate. RetainBytes is the streams' max_bytes together.
func NATSProduce(ctx context.Context, s Spec) (*Result, error) {
	if err := natsStreams(&s); err != nil {
		return nil, err
	}
	return natsPublish(ctx, &s, nil)
}

func natsPublish(ctx context.Context, s *Spec, readers *askReaders) (*Result, error) {
	value := letters(s.RecordBytes)
	return ask(ctx, s, func(_ *engine, i int) (*asker, error) {
		// Subjects are the whole server's: every connection needs an inbox of its own.
		return &asker{greeting: fmt.Appendf(nil, "%sSUB ack.%d 1\r\n", natsConnect, i),
			request: fmt.Appendf(nil, "PUB %s ack.%d %d\r\n%s\r\n", natsSubject(i), i, len(value), value), cut: natsAck}, nil
	}, readers)
}

// NATSFetch reads filled streams by pull consumers that acknowledge nothing: Connections, Depth (each with a consumer
// of its own), as many messages at once as FetchBytes hold. FillBytes are published first.
func NATSFetch(ctx context.Context, s Spec) (*Result, error) {
	s.RetainBytes = 2 * s.FillBytes
	if err := natsStreams(&s); err != nil {
		return nil, err
	}
	fill := s
	fill.Warm, fill.Run, fill.Rate = 0, 0, 0
	if _, err := natsPublish(ctx, &fill, nil); err != nil {
		return nil, fmt.Errorf("fill: %w", err)
	}
	s.FillBytes = 0
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	defer e.close()
	m := newMeter(&s, ownThread)
	for i := range s.Connections {
		f := &natsPuller{meter: m, stream: i, batch: max(s.FetchBytes/max(s.RecordBytes, 1), 1),
			slots: make([]natsSlot, max(s.Depth, 1))}
		if f.held, err = natsMessages(s.Bootstrap, i); err != nil {
			return nil, err
		}
		f.batch = min(f.batch, f.held)
		if _, err := e.dial(s.Bootstrap, f); err != nil {
			return nil, err
		}
	}
	w := &window{meter: m}
	e.tick = w.tick
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	if w.result.Requests == 0 {
		return nil, errNothing
	}
	return w.result, nil
}

// NATSEndToEnd publishes at a rate; a push consumer of each stream delivers without acknowledgements.
func NATSEndToEnd(ctx context.Context, s Spec) (*Result, error) {
	if err := natsStreams(&s); err != nil {
		return nil, err
	}
	readers := newAskReaders(s.Connections)
	readers.dial = func(e *engine, m *meter) error {
		for i := range s.Connections {
			if _, err := e.dial(s.Bootstrap, &natsTail{meter: m, readers: readers, index: i}); err != nil {
				return err
			}
		}
		return nil
	}
	return natsPublish(ctx, &s, readers)
}

// natsPuller is the flow of a connection whose every slot has a pull consumer of its own on one stream.
type natsPuller struct {
	meter  *meter
	stream int
	held   int // messages in the stream
	batch  int
	slots  []natsSlot
	begun  bool
	queued []byte
}

type natsSlot struct {
	generation int // of its consumer: at the end of the stream a new one begins again
	read       int // of the stream by this consumer
	due        int // messages of the request in flight
	sent       time.Time
}

func (f *natsPuller) fill(c *client) error {
	if !f.begun {
		f.begun = true
		f.queued = append(f.queued, natsConnect...)
		for i := range f.slots {
			f.queued = fmt.Appendf(f.queued, "SUB %s %d\r\n", f.inbox(i), i+1)
			f.create(i)
		}
	}
	if len(f.queued) > 0 {
		c.out.Push(bytes.Clone(f.queued))
		f.queued = f.queued[:0]
	}
	return nil
}

func (f *natsPuller) consumer(i int) string {
	return fmt.Sprintf("%s.c%d_%d", natsStream(f.stream), i, f.slots[i].generation)
}

func (f *natsPuller) inbox(i int) string { return fmt.Sprintf("pull.%d.%d", f.stream, i) }

// create asks for a slot's next consumer. The answer comes to the slot's subject and begins with a brace.
func (f *natsPuller) create(i int) {
	s := &f.slots[i]
	s.generation++
	s.read, s.due = 0, 0
	_, name, _ := strings.Cut(f.consumer(i), ".")
	body := fmt.Sprintf(`{"stream_name":%q,"config":{"name":%q,"ack_policy":"none","deliver_policy":"all",`+
		`"mem_storage":true,"inactive_threshold":60000000000}}`, natsStream(f.stream), name)
	f.queued = fmt.Appendf(f.queued, "PUB $JS.API.CONSUMER.CREATE.%s %s %d\r\n%s\r\n", f.consumer(i), f.inbox(i), len(body),
		body)
}

func (f *natsPuller) request(i int) {
	s := &f.slots[i]
	s.due, s.sent = min(f.batch, f.held-s.read), time.Now()
	body := strconv.Itoa(s.due)
	f.queued = fmt.Appendf(f.queued, "PUB $JS.API.CONSUMER.MSG.NEXT.%s %s %d\r\n%s\r\n", f.consumer(i), f.inbox(i), len(body),
		body)
}

func (f *natsPuller) receive(_ *client, b []byte) (used, missing int, err error) {
	now := time.Now()
	for used < len(b) {
		m, n, missing, err := natsNext(b[used:])
		if err != nil || n == 0 {
			return used, missing, err
		}
		used += n
		if m.ping {
			f.queued = append(f.queued, "PONG\r\n"...)
		}
		if m.sid < 1 || m.sid > len(f.slots) {
			continue
		}
		if err := f.message(m, n, now); err != nil {
			return used, 0, err
		}
	}
	return used, 0, nil
}

func (f *natsPuller) message(m natsMessage, bytesOnWire int, now time.Time) error {
	i := m.sid - 1
	s := &f.slots[i]
	if s.due == 0 { // the answer to create
		if bytes.Contains(m.payload, []byte(`"error"`)) {
			return fmt.Errorf("nats: consumer: %s", m.payload)
		}
		f.request(i)
		return nil
	}
	if m.headers {
		return fmt.Errorf("nats: pull: %q", m.payload[:min(len(m.payload), 60)])
	}
	s.read++
	s.due--
	f.meter.messages(1, bytesOnWire)
	if s.due > 0 {
		return nil
	}
	f.meter.answered(0, 0)
	f.meter.took(s.sent, now)
	if s.read == f.held {
		f.create(i)
	} else {
		f.request(i)
	}
	return nil
}

// natsTail is the flow of a connection that a push consumer delivers to.
type natsTail struct {
	meter   *meter
	readers *askReaders
	index   int
	begun   bool
	pong    bool
}

func (f *natsTail) fill(c *client) error {
	if !f.begun {
		f.begun = true
		body := fmt.Sprintf(`{"stream_name":%q,"config":{"deliver_subject":"deliver.%d","ack_policy":"none",`+
			`"deliver_policy":"all","mem_storage":true}}`, natsStream(f.index), f.index)
		c.out.Push(fmt.Appendf(nil, "%sSUB deliver.%d 1\r\nSUB made.%d 2\r\nPUB $JS.API.CONSUMER.CREATE.%s made.%d %d\r\n%s\r\n",
			natsConnect, f.index, f.index, natsStream(f.index), f.index, len(body), body))
	}
	if f.pong {
		f.pong = false
		c.out.Push([]byte("PONG\r\n"))
	}
	return nil
}

func (f *natsTail) receive(_ *client, b []byte) (used, missing int, err error) {
	now := time.Now()
	for used < len(b) {
		m, n, missing, err := natsNext(b[used:])
		if err != nil || n == 0 {
			return used, missing, err
		}
		used += n
		f.pong = f.pong || m.ping
		switch {
		case m.sid == 1:
			f.readers.came(f.meter, f.index, n, now)
		case m.sid == 2 && bytes.Contains(m.payload, []byte(`"error"`)):
			return used, 0, fmt.Errorf("nats: consumer: %s", m.payload)
		}
	}
	return used, 0, nil
}

// natsAck cuts what a publisher gets: acknowledgements, and pings, which it answers at once.
func natsAck(c *client, b []byte) (used, missing int, answer bool, err error) {
	m, n, missing, err := natsNext(b)
	if err != nil || n == 0 {
		return 0, missing, false, err
	}
	if m.ping {
		c.out.Push([]byte("PONG\r\n"))
	}
	if m.sid == 1 && (bytes.Contains(m.payload, []byte(`"error"`)) || m.headers) {
		return n, 0, false, fmt.Errorf("nats: publish: %s", m.payload)
	}
	return n, 0, m.sid == 1, nil
}

var _ = []flow{(*natsPuller)(nil), (*natsTail)(nil)}
