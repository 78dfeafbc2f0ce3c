package controller

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/metadata"
	"millrace/metadata/memory"
)

// The walk is a cluster that lives at random: brokers come, crash, restart, are fenced
// though they live; leaders act on images that are out of date, and propose ISRs; plans are carried
// out half, or too late. Everything goes through a store. After each change of the
// image walk_check_test.go looks whether the rules hold, and above all whether
// whoever is elected has every record that was committed.
const (
	walkSteps   = 2000
	walkBrokers = 5
)

var (
	walkFirst = flag.Uint64("walk.first", 0, "the first seed")
	walkSeeds = flag.Uint64("walk.seeds", 150, "how many seeds")
)

func TestWalk(t *testing.T) {
	total := make(map[string]int)
	for n := range *walkSeeds {
		w := newWalk(t, *walkFirst+n)
		for range walkSteps {
			w.step()
		}
		w.heal()
		w.store.Close()
		for what, n := range w.seen {
			total[what] += n
		}
	}
	t.Log(total)
	for _, what := range []string{"commit", "election", "ELR election", "loss", "unclean loss", "conflict", "cut off",
		"granted", "refused", "reassigned", "drained", "grown", "committed by a fenced leader"} {
		if total[what] == 0 {
			t.Errorf("the walk never came by %q", what)
		}
	}
}

type walk struct {
	*testing.T
	Policy
	seed  uint64
	rng   *rand.Rand
	store *memory.Store
	max   int // of a transaction
	img   *metadata.Image
	log   []string // what happened, for a failure
	seen  map[string]int

	batches   []metadata.Batch
	processes map[int32]*process
	lives     uint64
	records   map[PartitionID]*records
	unclean   bool // the plan that is being carried out is an unclean election
	natural   bool // the plan follows the rules and nobody's wish
}

// process is a broker as it really is, whatever the image says of it.
type process struct {
	id        int32
	life      uint64
	alive     bool            // else its RAM is gone
	view      *metadata.Image // what it has heard of
	proposals map[PartitionID]metadata.AlterPartitionSpec
}

func (p *process) member() metadata.Member { return metadata.Member{Broker: p.id, Incarnation: p.life} }

// records are a partition's, by number only: a member has the first so and so many
// of those that were committed. A life that is over has none.
type records struct {
	generation int32
	committed  int
	has        map[metadata.Member]int
}

func newWalk(t *testing.T, seed uint64) *walk {
	w := &walk{
		T: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), store: memory.Open(memory.Options{}), max: []int{0, 4, 9, 127}[seed%4],
		img: metadata.Empty(), seen: make(map[string]int), processes: make(map[int32]*process), records: make(map[PartitionID]*records),
	}
	w.Policy = Policy{NoHandover: true, InternalReplicationFactor: 3, MinInSyncReplicas: int32(1 + seed%2)}.WithDefaults()
	w.store.Watch(1, func(b metadata.Batch, _ error) { w.batches = append(w.batches, b) })
	for id := range int32(3) {
		w.processes[id+1] = &process{id: id + 1, view: w.img}
		w.restart(id + 1)
	}
	w.createTopics()
	return w
}

func (w *walk) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *walk) count(what string) { w.seen[what]++ }

func (w *walk) fail(format string, args ...any) {
	w.Helper()
	for _, line := range w.log[max(0, len(w.log)-60):] {
		w.Log(line)
	}
	w.Fatalf("seed %d: %s", w.seed, fmt.Sprintf(format, args...))
}

// carryOut commits what was planned against img: all of it, or with cut only a
// part, as when the controller dies. It says whether everything got through.
func (w *walk) carryOut(img *metadata.Image, deltas []metadata.Delta, cut bool) bool {
	txns := img.Transactions(deltas, w.max)
	if cut && len(txns) > 1 {
		txns = txns[:w.rng.IntN(len(txns))]
		w.count("cut off")
	}
	for _, txn := range txns {
		ok := true
		w.store.Commit(txn, func(_ int64, err error) { ok = err == nil })
		w.catchUp()
		if !ok {
			w.count("conflict")
			return false
		}
	}
	return true
}

// catchUp takes what the store's watch has delivered, and checks each step.
func (w *walk) catchUp() {
	batches := w.batches
	w.batches = nil
	for _, b := range batches {
		next, deltas, err := w.img.Replay(b)
		if err != nil {
			w.fail("%v", err)
		}
		old := w.img
		w.img = next
		for _, d := range deltas {
			w.check(old, d)
		}
	}
}

// plan carries a plan out, mostly. Now and then another change comes between.
func (w *walk) plan(what string, deltas []metadata.Delta) bool {
	if len(deltas) == 0 {
		return true
	}
	w.note("%s: %d deltas", what, len(deltas))
	img := w.img
	if w.rng.IntN(12) == 0 {
		w.note("  but before:")
		w.natural = false // the plan was made of what is over
		w.act(w.rng.IntN(10))
		w.natural = false
	}
	return w.carryOut(img, deltas, w.rng.IntN(10) == 0)
}

func (w *walk) settle() {
	w.natural = true
	w.plan("settle", w.Settle(w.img))
	w.natural = false
}

func (w *walk) step() {
	switch n := w.rng.IntN(100); {
	case n < 35:
		w.someProcess(w.commit)
	case n < 48:
		w.someProcess(w.propose)
	case n < 60:
		w.someProcess(w.deliver)
	case n < 80: // somebody hears the news
		w.someProcess(w.hear)
	case n < 86:
		w.settle()
	case n < 94:
		w.act(w.rng.IntN(10))
	default:
		w.administer()
	}
}

// act is something that happens to brokers.
func (w *walk) act(n int) {
	switch {
	case n < 2:
		w.someProcess(w.crash)
	case n < 6:
		if id := int32(1 + w.rng.IntN(walkBrokers)); w.processes[id] == nil {
			w.processes[id] = &process{id: id, view: w.img}
			w.restart(id)
		} else if !w.processes[id].alive {
			w.restart(id)
		}
	case n < 7:
		var members []metadata.Member
		for _, b := range w.img.Brokers() {
			if w.rng.IntN(3) == 0 {
				members = append(members, b.Member())
			}
		}
		w.natural = true
		w.plan(fmt.Sprint("fence ", members), w.FenceBrokers(w.img, members))
		w.natural = false
	default:
		for _, b := range w.img.Brokers() {
			if p := w.processes[b.ID]; b.Fenced && p.alive && p.life == b.Incarnation && w.rng.IntN(2) == 0 {
				deltas, _ := w.UnfenceBroker(w.img, b.Member())
				w.plan(fmt.Sprint("unfence ", b.Member()), deltas)
				break
			}
		}
	}
}

func (w *walk) someProcess(f func(*process)) {
	var alive []*process
	for id := range int32(walkBrokers) {
		if p := w.processes[id+1]; p != nil && p.alive {
			alive = append(alive, p)
		}
	}
	if len(alive) > 0 {
		f(alive[w.rng.IntN(len(alive))])
	}
}

func (w *walk) crash(p *process) {
	w.note("crash of %v", p.member())
	p.alive, p.proposals = false, nil
	for _, r := range w.records {
		delete(r.has, p.member())
	}
}

// restart registers the broker in a new life.
func (w *walk) restart(id int32) {
	p := w.processes[id]
	w.lives++
	p.life, p.alive, p.view, p.proposals = w.lives, true, w.img, make(map[PartitionID]metadata.AlterPartitionSpec)
	spec := metadata.BrokerSpec{ID: id, Endpoints: []metadata.Endpoint{{Name: "P", Host: "h", Port: id}}}
	deltas, _, err := w.RegisterBroker(w.img, spec, p.life)
	if err != nil {
		w.fail("%v", err)
	}
	w.note("%v registers", p.member())
	if !w.carryOut(w.img, deltas, false) {
		w.fail("the registration conflicts")
	}
}

// heal lets everybody come back, and sees that everything can be written to again
// then.
func (w *walk) heal() {
	w.note("heal")
	for id, p := range w.processes {
		if !p.alive || w.img.Broker(id) == nil || w.img.Broker(id).Incarnation != p.life {
			if p.alive {
				w.crash(p)
			}
			w.restart(id)
		} else if deltas, _ := w.UnfenceBroker(w.img, p.member()); !w.carryOut(w.img, deltas, false) {
			w.fail("the unfencing conflicts")
		}
	}
	for range 3 {
		w.natural = true
		w.carryOut(w.img, w.Settle(w.img), false)
		w.natural = false
	}
	if left := w.Settle(w.img); len(left) != 0 {
		w.fail("it never settles: %v", left)
	}
	for _, t := range w.img.Topics() {
		for i := range t.Partitions {
			if p := &t.Partitions[i]; w.img.LeaderOf(p) == metadata.NoBroker {
				w.fail("%s-%d is offline though everybody is there: %+v", t.Name, i, p)
			}
		}
	}
}

// somePartition picks one as the image has it.
func (w *walk) somePartition(img *metadata.Image) (t *metadata.Topic, index int32) {
	topics := img.Topics()
	if len(topics) == 0 {
		return nil, 0
	}
	t = topics[w.rng.IntN(len(topics))]
	return t, int32(w.rng.IntN(len(t.Partitions)))
}

// led picks a partition that p believes to lead.
func (w *walk) led(p *process) (id PartitionID, state *metadata.Partition) {
	var ids []PartitionID
	for _, t := range p.view.Topics() {
		for i := range t.Partitions {
			if t.Partitions[i].LedBy(p.member()) {
				ids = append(ids, PartitionID{t.ID, int32(i)})
			}
		}
	}
	if len(ids) == 0 {
		return id, nil
	}
	id = ids[w.rng.IntN(len(ids))]
	return id, &p.view.TopicByID(id.Topic).Partitions[id.Partition]
}

// follows tells whether m is a process that follows this leader in this epoch, as far
// as it has heard.
func (w *walk) follows(m metadata.Member, id PartitionID, state *metadata.Partition) bool {
	p := w.processes[m.Broker]
	if p == nil || !p.alive || p.life != m.Incarnation {
		return false
	}
	t := p.view.TopicByID(id.Topic)
	return t != nil && int(id.Partition) < len(t.Partitions) && t.Partitions[id.Partition].LeaderEpoch == state.LeaderEpoch
}

// commit is a leader that commits a record, if those of its ISR have it who must:
// the ISR that it knows, and the one that it has proposed.
func (w *walk) commit(p *process) {
	id, state := w.led(p)
	if state == nil || len(state.ISR) < state.MinISR() {
		return
	}
	maximal := append(state.ISRMembers(), p.proposals[id].ISR...)
	for _, m := range maximal {
		if m != p.member() && !w.follows(m, id, state) {
			return
		}
	}
	r := w.records[id]
	if r == nil || r.generation != state.LossGeneration {
		return // the topic is gone, or what it does will be cut off; it hasn't heard of it
	}
	if r.has[p.member()] != r.committed {
		w.fail("%v commits a record in %v without having %d of %d", p.member(), id, r.committed-r.has[p.member()], r.committed)
	}
	r.committed++
	for _, m := range maximal {
		r.has[m] = r.committed
	}
	w.count("commit")
	if b := w.img.Broker(p.id); b == nil || b.Fenced {
		w.count("committed by a fenced leader")
	}
}

// propose is a leader that makes up its mind about the ISR. The proposal is delivered
// later, or never.
func (w *walk) propose(p *process) {
	id, state := w.led(p)
	if state == nil || w.records[id] == nil {
		return
	}
	if _, pending := p.proposals[id]; pending {
		return
	}
	spec := metadata.AlterPartitionSpec{
		Topic: id.Topic, Partition: id.Partition, LeaderEpoch: state.LeaderEpoch, PartitionEpoch: state.PartitionEpoch,
	}
	r := w.records[id]
	for _, replica := range state.Replicas {
		m := metadata.Member{Broker: replica, Incarnation: state.InISR(replica)}
		switch {
		case replica == p.id:
		case m.Incarnation != 0:
			if w.rng.IntN(4) == 0 {
				continue
			}
		case w.processes[replica] == nil || w.rng.IntN(4) == 0:
			continue
		default:
			// It has caught up, if it follows.
			m = w.processes[replica].member()
			if !w.follows(m, id, state) || r.generation != state.LossGeneration {
				continue
			}
			r.has[m] = r.has[p.member()]
		}
		spec.ISR = append(spec.ISR, m)
	}
	if w.rng.IntN(3) == 0 {
		spec.OffsetCeiling = state.OffsetCeiling + 1000
	}
	p.proposals[id] = spec
}

// deliver brings what a leader proposed to the controller.
func (w *walk) deliver(p *process) {
	var specs []metadata.AlterPartitionSpec
	for _, t := range w.img.Topics() {
		for i := range t.Partitions {
			if spec, ok := p.proposals[PartitionID{t.ID, int32(i)}]; ok && w.rng.IntN(2) == 0 {
				specs = append(specs, spec)
			}
		}
	}
	if len(specs) == 0 {
		return
	}
	deltas, results := w.AlterPartitions(w.img, p.member(), specs)
	done := w.plan(fmt.Sprintf("%v alters %d partitions", p.member(), len(specs)), deltas)
	for _, r := range results {
		if r.Err != nil {
			w.count("refused")
			delete(p.proposals, PartitionID{r.Topic, r.Partition}) // it is told, and there is one copy of it
		} else if done {
			w.count("granted")
		}
	}
	if done {
		w.hear(p)
	}
}

// hear: the proposals that can't be granted any more are over.
func (w *walk) hear(p *process) {
	p.view = w.img
	for id, spec := range p.proposals {
		t := p.view.TopicByID(id.Topic)
		if t == nil || t.Partitions[id.Partition].PartitionEpoch != spec.PartitionEpoch {
			delete(p.proposals, id)
		}
	}
}
