package sim

import (
	"fmt"
	"maps"
	"slices"

	"millrace/broker/replica"
	"millrace/metadata"
	"millrace/protocol/record"
)

// oracle sees everything of one partition and checks what must always hold.
type oracle struct {
	w    *world
	part int

	committed map[int64]entry // what lies below any leader's high watermark, ever
	safeEnd   int64           // of what was committed in this loss generation
	trimmedTo int64
	appendEnd int64 // of all appends ever

	generation int32
	bases      []int64             // of the loss generations
	highs      []int64             // by leader epoch: the leader's highest high watermark; −1: none
	begins     []int64             // by leader epoch: where it began at its leader; −1: it didn't
	leaders    []metadata.Member   // by leader epoch
	unhealed   map[int32]bool      // brokers that lost their RAM, and are not back in the ISR
	copies     int                 // that there are at least of what is committed, but for those of the brokers in unhealed
	sequences  map[producing]int32 // the last committed one
	latest     map[string]int64    // by key, if logs are compacted: what must not go away, in this loss generation
	offset     int64               // that the group was promised to have committed, in this loss generation
	dirty      bool                // there is something new to look at
	reassigned int                 // how often replicas have moved
}

// producing is a producer in one loss generation.
type producing struct {
	pid        int64
	epoch      int16
	generation int32
}

func newOracle(w *world, part int) *oracle {
	return &oracle{w: w, part: part, committed: map[int64]entry{}, unhealed: map[int32]bool{}, sequences: map[producing]int32{},
		latest: map[string]int64{}}
}

// kinds of violations
const (
	lostRecord       = "lost record"
	electable        = "may be elected without a committed record"
	twoValues        = "two values for one offset"
	needlessLoss     = "loss declared without enough crashes"
	reusedOffset     = "offset used twice"
	beyondCeiling    = "offset above the ceiling"
	highWentBack     = "high watermark went back"
	falseAck         = "acknowledged without being committed"
	highBeyondCommit = "high watermark beyond what is committed"
	staleOffsets     = "ListOffsets would go back"
	staleEntry       = "entry of another incarnation"
	epochFell        = "an epoch went back"
	brokenLog        = "log broken"
	gap              = "gap"
	duplicate        = "duplicate of an idempotent producer"
	stuck            = "does not heal"
	panicked         = "panic"
)

func (o *oracle) violate(kind, format string, args ...any) {
	w := o.w
	if w.violation == "" && (w.kinds == nil || slices.Contains(w.kinds, kind)) {
		w.violation = fmt.Sprintf("%s: partition %d: %s", kind, o.part, fmt.Sprintf(format, args...))
		w.say("  VIOLATION %s", w.violation)
	}
}

func (o *oracle) created(p *metadata.Partition) {
	o.bases, o.copies = []int64{p.BaseOffset}, p.MinISR()
	o.lead(p)
}

func (o *oracle) lead(p *metadata.Partition) {
	for len(o.leaders) <= int(p.LeaderEpoch) {
		o.leaders, o.highs, o.begins = append(o.leaders, metadata.NoMember), append(o.highs, -1), append(o.begins, -1)
	}
	o.leaders[p.LeaderEpoch] = p.LeaderMember()
}

// changed: the store has another state of the partition.
func (o *oracle) changed(was, is *metadata.Partition) {
	o.dirty = true
	o.copies = min(o.copies, is.MinISR())
	img := o.w.store.image
	if is.LeaderEpoch < was.LeaderEpoch || is.PartitionEpoch <= was.PartitionEpoch || is.LossGeneration < was.LossGeneration {
		o.violate(epochFell, "from %d/%d to %d/%d", was.LeaderEpoch, was.PartitionEpoch, is.LeaderEpoch, is.PartitionEpoch)
		return
	}
	for _, m := range is.ISRMembers() {
		if !is.HasReplica(m.Broker) || was.InISR(m.Broker) != m.Incarnation && img.Void(m) {
			o.violate(staleEntry, "%v joins the ISR", m)
		}
	}
	if was.Reassigning() && !is.Reassigning() {
		o.reassigned++
	}
	if is.LeaderEpoch != was.LeaderEpoch {
		if m := is.LeaderMember(); m != metadata.NoMember && img.Void(m) {
			o.violate(staleEntry, "%v is elected", m)
		}
		o.lead(is)
	}
	if is.LossGeneration > was.LossGeneration {
		o.lossDeclared(is)
	}
}

func (o *oracle) lossDeclared(is *metadata.Partition) {
	if o.safeEnd > o.bases[o.generation] && len(o.unhealed) < o.copies {
		o.violate(needlessLoss, "%d brokers lost their RAM, there were %d copies", len(o.unhealed), o.copies)
	}
	if is.BaseOffset < o.appendEnd {
		o.violate(reusedOffset, "loss generation %d begins at %d, offsets up to %d were given out", is.LossGeneration,
			is.BaseOffset, o.appendEnd)
	}
	clear(o.latest)
	o.generation, o.safeEnd, o.copies, o.offset = is.LossGeneration, 0, is.MinISR(), 0
	for len(o.bases) <= int(o.generation) {
		o.bases = append(o.bases, is.BaseOffset)
	}
}

// crashed: until the broker is back in the ISR there is a copy less. (If it was in no ISR, it may yet be put into one.)
func (o *oracle) crashed(n *process) { o.unhealed[n.id] = true }

// highMoved: everything below a leader's high watermark is committed, and visible to consumers.
func (o *oracle) highMoved(p *partition, to int64) {
	// Where logs are compacted, a leader can't tell how much of a replica is a beginning of its own that was out of the ISR for
	// long: it cuts too much rather than too little, and what goes is copied again.
	outside := o.w.cluster.compact && o.w.truth(o.part).InISR(p.n.id) != p.n.member().Incarnation
	if to < p.high && !outside {
		o.violate(highWentBack, "broker %d from %d to %d", p.n.id, p.high, to)
	}
	if to > p.log.EndOffset() {
		o.violate(highBeyondCommit, "broker %d has high watermark %d and end %d", p.n.id, to, p.log.EndOffset())
		return
	}
	from := max(p.high, p.log.StartOffset())
	leads := p.machine.Role() == replica.Leader
	end := p.records(from, to, func(at int64, e entry, b record.Batch) bool {
		was, known := o.committed[at]
		switch {
		case known && was != e:
			o.violate(twoValues, "offset %d is %v and, at broker %d, %v", at, was, p.n.id, e)
		case !known && !leads:
			o.violate(highBeyondCommit, "broker %d believes offset %d to be committed", p.n.id, at)
		case !known && e.delta == 0:
			o.sequenced(p, b)
		}
		o.committed[at] = e
		if p.machine.LossGeneration() == o.generation && o.w.cluster.compact {
			o.latest[e.key] = max(o.latest[e.key], at)
		}
		return true
	})
	if end < to {
		o.violate(brokenLog, "broker %d has nothing at %d, and high watermark %d", p.n.id, end, to)
	}
	if leads {
		o.leaderHigh(p.machine, to)
	}
}

func (o *oracle) leaderHigh(m *replica.Machine, to int64) {
	o.dirty = true
	if m.LossGeneration() == o.generation {
		o.safeEnd = max(o.safeEnd, to)
	}
	o.highs[m.LeaderEpoch()] = max(o.highs[m.LeaderEpoch()], to)
	for epoch := int(m.LeaderEpoch()) + 1; epoch < len(o.begins); epoch++ {
		if begin := o.begins[epoch]; begin >= 0 && to > begin {
			o.violate(staleOffsets, "leader of epoch %d commits up to %d, epoch %d began at %d", m.LeaderEpoch(), to, epoch, begin)
		}
	}
}

// sequenced: a producer's batch is committed, and it follows the one before.
func (o *oracle) sequenced(p *partition, b record.Batch) {
	if !b.HasProducerID() {
		return
	}
	key := producing{b.ProducerID(), b.ProducerEpoch(), p.machine.LossGeneration()}
	last, known := o.sequences[key]
	switch {
	case known && b.BaseSequence() <= last:
		o.violate(duplicate, "sequence %d of producer %d at %d, after %d", b.BaseSequence(), key.pid, b.BaseOffset(), last)
	case known && b.BaseSequence() > last+1:
		o.violate(gap, "sequence %d of producer %d at %d, after %d", b.BaseSequence(), key.pid, b.BaseOffset(), last)
	}
	o.sequences[key] = b.LastSequence()
}

func (o *oracle) tookRole(p *partition, f replica.Effect) {
	if f.Role == replica.Leader && p.n.member() != o.leaders[f.LeaderEpoch] {
		o.violate(staleEntry, "broker %v leads in epoch %d, elected was %v", p.n.member(), f.LeaderEpoch, o.leaders[f.LeaderEpoch])
	}
}

func (o *oracle) epochBegan(p *partition, f replica.Effect) {
	if f.Offset != p.log.EndOffset() {
		o.violate(brokenLog, "epoch %d begins at %d, the log ends at %d", f.LeaderEpoch, f.Offset, p.log.EndOffset())
	}
	if p.log.LastEpoch() > f.LeaderEpoch {
		o.violate(brokenLog, "epoch %d begins at broker %d, which has %d", f.LeaderEpoch, p.n.id, p.log.LastEpoch())
	}
	o.begins[f.LeaderEpoch] = f.Offset
}

// appending: a leader gives out the offsets up to end.
func (o *oracle) appending(p *partition, end int64) {
	g := int(p.machine.LossGeneration())
	if g+1 < len(o.bases) && end > o.bases[g+1] || p.log.EndOffset() < o.bases[g] {
		o.violate(reusedOffset, "offsets up to %d in loss generation %d", end, g)
	}
	if ceiling := o.w.truth(o.part).OffsetCeiling; end > ceiling {
		o.violate(beyondCeiling, "offsets up to %d, the ceiling is %d", end, ceiling)
	}
	o.appendEnd = max(o.appendEnd, end)
}

func (o *oracle) acknowledged(p *partition, promised *promise) {
	b := promised.request.batch
	for i := range b.bytes.Count() {
		e, ok := o.committed[promised.offset+int64(i)]
		if !ok || e.value != b.value || e.delta != i {
			o.violate(falseAck, "broker %d acknowledged %v", p.n.id, promised)
			return
		}
	}
}

func (o *oracle) offsetAcked(p *partition, offset int64) {
	if p.machine.LossGeneration() == o.generation {
		o.offset, o.dirty = max(o.offset, offset), true
	}
}

func (o *oracle) trimmed(to int64) { o.trimmedTo, o.dirty = max(o.trimmedTo, to), true }

// check looks at whoever leads or may be elected.
func (o *oracle) check() {
	if !o.dirty {
		return
	}
	o.dirty = false
	p, img := o.w.truth(o.part), o.w.store.image
	alive := 0
	for _, m := range p.ISRMembers() {
		if o.w.member(m) != nil {
			delete(o.unhealed, m.Broker)
			alive++
		}
	}
	if alive == len(p.Replicas) {
		clear(o.unhealed) // of brokers whose place others have
		o.copies = p.MinISR()
	}
	if n := o.w.member(p.LeaderMember()); n != nil {
		o.checkLeader(n.hosted(o.part), p)
	}
	for _, m := range candidates(img, p) {
		if n := o.w.member(m); n != nil {
			if r := n.hosted(o.part); r != nil && r.machine.LossGeneration() == o.generation {
				o.checkRecords(r, electable)
			}
		}
	}
}

// candidates are those who may be elected next: of the ISR, or of the ELR if nobody is left there.
func candidates(img *metadata.Image, p *metadata.Partition) []metadata.Member {
	dead := func(m metadata.Member) bool { return !img.Live(m) }
	list := slices.DeleteFunc(p.ISRMembers(), dead)
	if len(list) == 0 {
		list = slices.DeleteFunc(p.ELRMembers(), dead)
	}
	return list
}

// checkRecords: the replica has everything that was ever committed in this loss generation.
func (o *oracle) checkRecords(p *partition, kind string) {
	start, end := p.log.StartOffset(), p.log.EndOffset()
	if start > max(o.trimmedTo, o.bases[o.generation]) || end < o.safeEnd {
		o.violate(kind, "broker %d has %d…%d, committed are %d…%d", p.n.id, start, end, o.trimmedTo, o.safeEnd)
		return
	}
	// What lies below may be trimmed there, and not here.
	from := max(start, o.trimmedTo, o.bases[o.generation])
	if from >= o.safeEnd {
		return
	}
	seen := map[string]int64{}
	at := p.records(from, o.safeEnd, func(at int64, e entry, _ record.Batch) bool {
		seen[e.key] = at
		was, ok := o.committed[at]
		if ok && was != e {
			o.violate(kind, "broker %d has %v at %d, committed was %v", p.n.id, e, at, was)
		}
		return !ok || was == e
	})
	if at < o.safeEnd {
		o.violate(kind, "broker %d has nothing at %d, committed are %d…%d", p.n.id, at, o.trimmedTo, o.safeEnd)
	}
	for _, key := range slices.Sorted(maps.Keys(o.latest)) {
		if at := o.latest[key]; at >= from && at < o.safeEnd && seen[key] != at {
			o.violate(kind, "broker %d has for key %q nothing after %d, committed was %d", p.n.id, key, seen[key], at)
		}
	}
}

// checkLeader looks at a leader that has begun to lead. What it lacks is gone.
func (o *oracle) checkLeader(p *partition, truth *metadata.Partition) {
	if p == nil {
		return
	}
	m := p.machine
	if m.Role() != replica.Leader || m.LeaderEpoch() != truth.LeaderEpoch || m.LossGeneration() != o.generation {
		return
	}
	o.checkRecords(p, lostRecord)
	if c := p.groups; c != nil && c.serving && !c.stepping {
		at := c.offset()
		if at < o.offset {
			o.violate(lostRecord, "the group's offset is %d at broker %d, it was %d", at, p.n.id, o.offset)
		}
		o.offset = max(o.offset, at)
	}
	if m.CheckOffsets() != nil {
		return
	}
	for epoch, high := range o.highs[:m.LeaderEpoch()] {
		if high > m.HighWatermark() && high > o.bases[o.generation] {
			o.violate(staleOffsets, "leader %d answers %d, in epoch %d it was %d", p.n.id, m.HighWatermark(), epoch, high)
		}
	}
}

// whole tells whether all replicas are in the ISR and have the same.
func (o *oracle) whole() bool {
	p := o.w.truth(o.part)
	leader := o.w.member(p.LeaderMember())
	if leader == nil || len(p.ISR) != len(p.Replicas) || p.Reassigning() || leader.hosted(o.part) == nil {
		return false
	}
	end := leader.hosted(o.part).log.EndOffset()
	for _, m := range p.ISRMembers() {
		n := o.w.member(m)
		if n == nil || n.hosted(o.part) == nil {
			return false
		}
		if r := n.hosted(o.part); r.log.EndOffset() != end || r.high != end || r.machine.LeaderEpoch() != p.LeaderEpoch {
			return false
		}
	}
	return true
}
