package sim

import "millrace/metadata"

// After all faults have been taken away the cluster must be whole within healMs: every partition is led, all replicas are in
// the ISR and have the same, every producer gets through.
const (
	healMs  = 3000
	roundMs = 10

	// roundMessages is more than any cluster sends in a round that comes to rest, beside what is on its way already.
	roundMessages = 2000
)

// heal lets everything work again and waits.
func (w *world) heal() {
	w.say("heal")
	w.store.down = false
	w.cut = nil
	for _, n := range w.processes[1:] {
		n.leaving = false
		n.paused = false
		n.fullAfter = -1
		for _, c := range w.processes[1:] {
			if n.alive && c.alive {
				c.central.detector.Connected(n.member())
			}
		}
	}
	offsets := w.committer.acked
	acked := make([]int, len(w.producers))
	for i, p := range w.producers {
		acked[i] = p.acked
	}
	for ms := 0; ms < healMs; ms += roundMs {
		w.round()
		if w.violation != "" || w.healed(acked, offsets) {
			w.readable()
			return
		}
	}
	for _, o := range w.oracles {
		o.violate(stuck, "%s", showPartition(w.truth(o.part)))
	}
}

// healed tells whether all is well, and all who wait for acknowledgements have got some since.
func (w *world) healed(acked []int, offsets int) bool {
	for _, o := range w.oracles {
		if !o.whole() {
			return false
		}
	}
	if w.cluster.groups && w.committer.acked == offsets {
		return false
	}
	for i, p := range w.producers {
		if p.acks == acksAll && (p.acked == acked[i] || p.current != nil) {
			return false
		}
	}
	return true
}

// round is some milliseconds of a cluster in which everything works.
func (w *world) round() {
	w.nowMs += roundMs
	w.store.expire()
	for _, n := range w.processes[1:] {
		if !n.alive {
			n.start()
		}
		n.keep()
		n.stay()
		n.learn(1)
		n.tick()
		for _, p := range n.parts {
			if p != nil {
				p.sendFetch()
			}
		}
		w.after()
	}
	for i, p := range w.producers {
		if p.current != nil || w.nowMs/roundMs%8 == 0 {
			p.produce(int32(1+i%w.cluster.brokers), 1)
		}
	}
	if w.cluster.groups && w.nowMs/roundMs%8 == 0 {
		w.committer.commit(int32(1 + w.nowMs/roundMs%int64(w.cluster.brokers)))
	}
	for n, most := 0, roundMessages+4*len(w.net); len(w.net) > 0; n++ {
		if n == most {
			w.oracles[0].violate(stuck, "%d messages in a round", n)
			return
		}
		w.deliver(w.take(0))
		w.after()
	}
}

// stay takes back that the broker is to leave.
func (n *process) stay() {
	if n.central.img == nil {
		return
	}
	if b := n.central.img.Broker(n.id); b != nil && b.Draining {
		n.once(&command{name: "stay", plan: func(img *metadata.Image) []metadata.Delta {
			deltas, _ := n.w.policy.CancelDrain(img, n.member())
			return deltas
		}})
	}
}

// readable: consumers get to the end of all that was committed.
func (w *world) readable() {
	for _, c := range w.consumers {
		o := w.oracles[c.part]
		for range 1000 {
			if c.offset >= o.safeEnd && c.generation == o.generation || w.violation != "" {
				break
			}
			n := w.member(w.truth(c.part).LeaderMember())
			c.known = -1
			if n == nil || !c.consume(n.id) {
				break
			}
			w.deliver(w.take(len(w.net) - 1))
			for len(w.net) > 0 {
				w.deliver(w.take(0))
			}
		}
		if w.violation == "" && (c.offset < o.safeEnd || c.generation != o.generation) {
			o.violate(stuck, "a consumer stays at %d, committed is %d", c.offset, o.safeEnd)
		}
	}
}
