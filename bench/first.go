package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"millrace/bench/report"
	"millrace/bench/wire"
)

// runFirst starts a process and produces one record as soon as that can be done: connect, create a topic, produce. What
// isn't ready yet is tried again at once, as an impatient client would. The target of the session itself is only
// the example; it is not measured.
func runFirst(ctx context.Context, s *session) (outcome, error) {
	if s.start == nil {
		return outcome{}, s.unsupported("first")
	}
	n := needs(&s.Params)
	n.RetainBytes, n.ShelfBytes, n.NoWait = 8<<20, 1<<20, true
	t, err := s.start(ctx, n)
	if err != nil {
		return outcome{}, err
	}
	defer t.Stop()
	for end := t.Started.Add(time.Minute); ; {
		err = produceOnce(t.Bootstrap, int(s.RecordBytes), int16(s.Acks))
		if err == nil {
			break
		}
		if ctx.Err() != nil || time.Now().After(end) || !t.Alive() {
			return outcome{}, fmt.Errorf("no acknowledged produce: %w: %s", err, t.LogTail())
		}
		time.Sleep(200 * time.Microsecond)
	}
	took := time.Since(t.Started)
	f := report.Figures{"first_ack_ms": float64(took.Microseconds()) / 1000}
	if u := t.Usage(); u.Known {
		f["rss_bytes"], f["threads"] = float64(u.RSSBytes), float64(u.Threads)
	}
	return outcome{figures: f}, nil
}

// produceOnce creates a topic and produces one record to it.
func produceOnce(addr string, recordBytes int, acks int16) error {
	c, err := wire.Dial(addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	const topic = "first"
	t, err := c.Topic(topic)
	if err != nil { // not there yet, or just being made
		if _, err = c.CreateTopics(wire.TopicSpec{Name: topic, Partitions: 1}); err != nil {
			return err
		}
		if t, err = c.Topic(topic); err != nil {
			return err
		}
	}
	batch, err := wire.NewBatch(wire.BatchSpec{Records: 1, RecordBytes: recordBytes, ProducerID: -1, ProducerEpoch: -1,
		TimestampMs: time.Now().UnixMilli()})
	if err != nil {
		return err
	}
	frame, err := wire.NewProduceFrame(topic, 0, max(acks, -1), batch)
	if err != nil {
		return err
	}
	return sendOnce(t.Leaders[0], frame)
}

// sendOnce sends a Produce request and waits for its answer.
func sendOnce(addr string, frame *wire.ProduceFrame) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write(append(frame.Head[:len(frame.Head):len(frame.Head)], frame.Tail...)); err != nil {
		return err
	}
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	body := make([]byte, min(int(head[2])<<8|int(head[3]), 4096))
	if _, err := io.ReadFull(c, body); err != nil {
		return err
	}
	a, err := wire.ParseAck(body)
	if err == nil && a.Code != 0 {
		err = &wire.CodeError{API: "Produce", Code: a.Code}
	}
	return err
}

// runIdle looks at a process that has just started and that nobody talks to.
func runIdle(ctx context.Context, s *session) (outcome, error) {
	settle := 2 * time.Second
	if s.Run < time.Second {
		settle = s.Run
	}
	if err := pause(ctx, settle); err != nil {
		return outcome{}, err
	}
	before, began := s.target.Usage(), time.Now()
	if err := pause(ctx, s.Run); err != nil {
		return outcome{}, err
	}
	now, sec := s.target.Usage(), time.Since(began).Seconds()
	used := now.Since(before)
	f := report.Figures{"rss_bytes": float64(now.RSSBytes), "threads": float64(now.Threads),
		"idle_cpu_ms_per_s":           used.CPU.Seconds() * 1000 / sec,
		"idle_context_switches_per_s": float64(used.Switches) / sec}
	if n, ok := s.target.Goroutines(); ok {
		f["goroutines"] = float64(n)
	}
	return outcome{figures: f}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
