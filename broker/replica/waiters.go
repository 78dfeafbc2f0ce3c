package replica

import "fmt"

// waiter is an acks=all produce whose records are appended and not yet committed.
type waiter struct {
	offset     int64 // the high watermark that it waits for
	deadlineMs int64
	token      any
}

// waiters is the queue of them, by offset: a slice whose front moves. The queue of one partition holds at most what its
// clients have in flight, so it has no limit of its own.
type waiters struct {
	queue []waiter
	front int
}

func (w *waiters) len() int { return len(w.queue) - w.front }

// push puts a waiter in its place, which is the end but for repeated batches.
func (w *waiters) push(x waiter) {
	if w.front > len(w.queue)/2 {
		n := copy(w.queue, w.queue[w.front:])
		clear(w.queue[n:])
		w.queue, w.front = w.queue[:n], 0
	}
	w.queue = append(w.queue, x)
	for i := len(w.queue) - 1; i > w.front && w.queue[i-1].offset > x.offset; i-- {
		w.queue[i-1], w.queue[i] = w.queue[i], w.queue[i-1]
	}
}

// await takes a produce into the queue, or answers it at once. The high watermark only moves while there are enough replicas
// in sync, so a record below it is committed whatever the ISR is now.
func (m *Machine) await(e *Await) {
	if e.Offset > m.end && m.role == Leader {
		panic(fmt.Sprintf("replica: waiting for offset %d with end %d", e.Offset, m.end))
	}
	var err error
	switch {
	case m.role != Leader:
		err = ErrNotLeader
	case e.Offset <= m.high || !ruleAckAtHigh:
	case m.lead.inSync < m.minISR:
		err = ErrNotEnoughReplicasAfterAppend
	case e.DeadlineMs <= m.nowMs:
		err = ErrRequestTimedOut
	default:
		m.acks.push(waiter{e.Offset, e.DeadlineMs, e.Token})
		m.arm(e.DeadlineMs)
		return
	}
	m.emit(Effect{Kind: EffectComplete, Token: e.Token, Err: err})
}

// complete answers those that the high watermark has reached.
func (w *waiters) complete(m *Machine) {
	for w.front < len(w.queue) && w.queue[w.front].offset <= m.high {
		m.emit(Effect{Kind: EffectComplete, Token: w.queue[w.front].token})
		w.queue[w.front] = waiter{}
		w.front++
	}
	w.reuse()
}

func (w *waiters) reuse() {
	if w.front == len(w.queue) {
		w.queue, w.front = w.queue[:0], 0
	}
}

// failAll answers everybody.
func (w *waiters) failAll(m *Machine, err error) {
	for i := w.front; i < len(w.queue); i++ {
		m.emit(Effect{Kind: EffectComplete, Token: w.queue[i].token, Err: err})
		w.queue[i] = waiter{}
	}
	w.front = len(w.queue)
	w.reuse()
}

// expire answers those whose time is over and finds the next deadline. It looks at all, which a queue by deadline would
// spare; but it runs once in a request timeout and not for each request.
func (w *waiters) expire(m *Machine) {
	left := w.queue[w.front:w.front]
	for _, x := range w.queue[w.front:] {
		if x.deadlineMs <= m.nowMs {
			m.emit(Effect{Kind: EffectComplete, Token: x.token, Err: ErrRequestTimedOut})
			continue
		}
		left = append(left, x)
		m.arm(x.deadlineMs)
	}
	clear(w.queue[w.front+len(left):])
	w.queue = w.queue[:w.front+len(left)]
	w.reuse()
}
