package replica_test

import (
	"fmt"
	"slices"

	"millrace/broker/replica"
)

// oracle sees everything and checks what must always hold.
type oracle struct {
	w         *world
	violation string   // the first
	kinds     []string // that are looked for; nil: all

	committed  map[int64]record // what lies below any leader's high watermark, ever
	safeEnd    int64            // of what was committed in this loss generation
	trimmedTo  int64
	generation int32
	appendEnd  int64           // of all appends of this and earlier loss generations
	bases      map[int32]int64 // of the loss generations
	highs      map[int32]int64 // the highest high watermark of each epoch's leader
	begins     map[int32]int64 // where each epoch began at its leader
	unhealed   map[int32]uint64
}

func (o *oracle) init(w *world) {
	*o = oracle{w: w, committed: map[int64]record{}, bases: map[int32]int64{}, highs: map[int32]int64{},
		begins: map[int32]int64{}, unhealed: map[int32]uint64{}}
}

func (o *oracle) violate(kind, format string, args ...any) {
	if o.violation == "" && (o.kinds == nil || slices.Contains(o.kinds, kind)) {
		o.violation = kind + ": " + fmt.Sprintf(format, args...)
		o.w.say("  VIOLATION %s", o.violation)
	}
}

// kinds of violations
const (
	lostRecord       = "lost record"
	electable        = "may be elected without a committed record"
	twoValues        = "two values for one offset"
	needlessLoss     = "loss declared without enough crashes"
	reusedOffset     = "offset used twice"
	highWentBack     = "high watermark went back"
	falseAck         = "acknowledged without being committed"
	highBeyondCommit = "high watermark beyond what is committed"
	staleOffsets     = "ListOffsets would go back"
	staleEntry       = "entry of another incarnation"
	stuck            = "does not heal"
	brokenLog        = "log broken"
)

// highMoved: everything below a leader's high watermark is committed, and visible to consumers.
func (o *oracle) highMoved(n *node, to int64) {
	if to < n.high {
		o.violate(highWentBack, "broker %d from %d to %d", n.id, n.high, to)
	}
	m := n.machine
	if to > n.log.end() {
		o.violate(highBeyondCommit, "broker %d has high watermark %d and end %d", n.id, to, n.log.end())
		return
	}
	for at := max(n.high, n.log.start); at < to; at++ {
		r := n.log.at(at)
		was, known := o.committed[at]
		switch {
		case known && was != r:
			o.violate(twoValues, "offset %d is %v and, at broker %d, %v", at, was, n.id, r)
		case !known && m.Role() != replica.Leader:
			o.violate(highBeyondCommit, "broker %d believes offset %d to be committed", n.id, at)
		}
		o.committed[at] = r
	}
	if m.Role() != replica.Leader {
		return
	}
	if m.LossGeneration() == o.generation {
		o.safeEnd = max(o.safeEnd, to)
	}
	o.highs[m.LeaderEpoch()] = max(o.highs[m.LeaderEpoch()], to)
	for epoch, begin := range o.begins {
		if epoch > m.LeaderEpoch() && to > begin {
			o.violate(staleOffsets, "leader of epoch %d commits up to %d, epoch %d began at %d", m.LeaderEpoch(), to, epoch, begin)
		}
	}
}

func (o *oracle) tookRole(n *node, f replica.Effect) {
	if f.Role == replica.Leader && n.self() != o.w.controller.leaderOf(f.LeaderEpoch) && o.w.rules.leaderBound {
		o.violate(staleEntry, "broker %d leads in epoch %d in another life than the one elected", n.id, f.LeaderEpoch)
	}
}

func (c *controller) leaderOf(epoch int32) replica.Member {
	for i := range c.images {
		if c.images[i].leaderEpoch == epoch {
			return c.images[i].leader
		}
	}
	return replica.NoMember
}

func (o *oracle) epochBegan(n *node, f replica.Effect) {
	if f.Offset != n.log.end() {
		o.violate(brokenLog, "epoch %d begins at %d, the log ends at %d", f.LeaderEpoch, f.Offset, n.log.end())
	}
	o.begins[f.LeaderEpoch] = f.Offset
}

func (o *oracle) appending(n *node, offset int64) {
	g := n.machine.LossGeneration()
	if next, ok := o.bases[g+1]; ok && offset >= next || g == o.generation && offset < o.bases[g] {
		o.violate(reusedOffset, "offset %d in loss generation %d", offset, g)
	}
	o.appendEnd = max(o.appendEnd, offset+1)
}

func (o *oracle) completed(n *node, f replica.Effect) {
	p := n.waiting[f.Token]
	if f.Err != nil {
		return
	}
	if r, ok := o.committed[p.offset]; !ok || r.value != p.value {
		o.violate(falseAck, "broker %d acknowledged value %d at offset %d", n.id, p.value, p.offset)
	}
}

func (o *oracle) trimmed(to int64) { o.trimmedTo = max(o.trimmedTo, to) }

// crashed: until the broker is back in the ISR there is a copy less.
func (o *oracle) crashed(n *node) { o.unhealed[n.id] = n.incarnation }

func (w *world) lossDeclared() {
	o := &w.oracle
	if o.safeEnd > o.bases[o.generation] && len(o.unhealed) < w.minISR {
		o.violate(needlessLoss, "%d brokers lost their RAM, min.insync.replicas is %d", len(o.unhealed), w.minISR)
	}
	o.generation++
	o.safeEnd = 0
}

// lossBegan: the next loss generation has its base.
func (o *oracle) lossBegan(base int64) {
	o.bases[o.generation] = base
	if base < o.appendEnd {
		o.violate(reusedOffset, "loss generation %d begins at %d, offsets up to %d were given out", o.generation, base, o.appendEnd)
	}
}

// joining: who joins the ISR does so in the life that is registered.
func (o *oracle) joining(p *image, isr []replica.Member) {
	for _, m := range isr {
		if !has(p.isr, m.Broker) && p.void(m) {
			o.violate(staleEntry, "broker %d joins the ISR", m.Broker)
		}
	}
}

// check looks at what the controller and its leader have, after each action.
func (o *oracle) check() {
	p := o.w.controller.now()
	for id := range o.unhealed {
		if has(p.isr, id) && !p.void(find(p.isr, id)) && o.w.nodes[id].self() == find(p.isr, id) && o.w.nodes[id].alive {
			delete(o.unhealed, id)
		}
	}
	for _, n := range o.w.nodes {
		if n.log != nil && n.log.broken {
			o.violate(brokenLog, "broker %d has epochs that go back", n.id)
		}
	}
	if p.leader.Broker != replica.NoBroker {
		o.checkLeader(o.w.nodes[p.leader.Broker], p)
	}
	for _, m := range o.w.controller.candidates() {
		if n := o.w.nodes[m.Broker]; n.machine != nil && n.self() == m && n.machine.LossGeneration() == o.generation {
			o.checkRecords(n, p, electable)
		}
	}
}

// checkRecords: the broker has everything that was ever committed in this loss generation.
func (o *oracle) checkRecords(n *node, p *image, kind string) {
	if n.log.start > max(o.trimmedTo, p.base) || n.log.end() < o.safeEnd {
		o.violate(kind, "broker %d has %d…%d, committed are %d…%d", n.id, n.log.start, n.log.end(), o.trimmedTo, o.safeEnd)
		return
	}
	for at := n.log.start; at < o.safeEnd; at++ {
		if r, ok := o.committed[at]; ok && r != n.log.at(at) {
			o.violate(kind, "broker %d has %v at %d, committed was %v", n.id, n.log.at(at), at, r)
			return
		}
	}
}

// checkLeader looks at a leader that has begun to lead. What it lacks is gone.
func (o *oracle) checkLeader(n *node, p *image) {
	m := n.machine
	if m == nil || m.Role() != replica.Leader || m.LeaderEpoch() != p.leaderEpoch || m.LossGeneration() != o.generation {
		return
	}
	o.checkRecords(n, p, lostRecord)
	if m.CheckOffsets() != nil {
		return
	}
	for epoch, high := range o.highs {
		if epoch < m.LeaderEpoch() && high > m.HighWatermark() && high > o.bases[o.generation] {
			o.violate(staleOffsets, "leader %d answers %d, in epoch %d it was %d", n.id, m.HighWatermark(), epoch, high)
		}
	}
}
