package replica_test

import (
	"fmt"
	"slices"

	"millrace/broker/replica"
)

const (
	replicationFactor = 3
	lagTimeMaxMs      = 200
	alterRetryMs      = 50
	backoffMs         = 30
	ceilingStep       = 16
	batchesPerAnswer  = 3
)

// world is a small cluster around one partition: brokers with the machine under test, a controller, and a network that
// delays, reorders, repeats and drops. What happens next is decided from outside, action by action (explore_action_test.go).
type world struct {
	minISR     int
	rules      controllerRules
	nowMs      int64
	nodes      []*node
	controller *controller
	net        []*message
	oracle     oracle
	values     int64 // that were produced
	lives      uint64
	trace      func(format string, args ...any) // nil: nobody looks
}

func newWorld(brokers, minISR int, rules controllerRules) *world {
	w := &world{minISR: minISR, rules: rules, nowMs: 1000}
	w.oracle.init(w)
	w.controller = &controller{w: w, images: make([]image, 1, 64)}
	p := w.controller.now()
	for id := range int32(brokers) {
		n := &node{w: w, id: id}
		w.nodes = append(w.nodes, n)
		n.start()
		p.incarnations = append(p.incarnations, n.incarnation)
		p.fenced = append(p.fenced, false)
		if id < replicationFactor {
			p.replicas = append(p.replicas, id)
			p.isr = append(p.isr, p.member(id))
		}
	}
	p.leader, p.ceiling = p.isr[0], ceilingStep
	return w
}

func (w *world) say(format string, args ...any) {
	if w.trace != nil {
		w.trace(format, args...)
	}
}

// node is a broker, or the place where one was. It does what broker's partition has to do around a machine.
type node struct {
	w           *world
	id          int32
	incarnation uint64
	alive       bool
	image       int // the latest that it has heard of; −1: none

	machine  *replica.Machine // nil: no replica of the partition
	log      *memlog
	position replica.Position // to fetch from
	fetching bool
	arrived  []record         // of the answer that is being stepped
	high     int64            // as the effects told
	waiting  map[any]promised // acks=all produces
}

type promised struct {
	offset int64
	value  int64
}

func (n *node) self() replica.Member { return replica.Member{Broker: n.id, Incarnation: n.incarnation} }

// start begins another life of the broker, with nothing in its RAM. Incarnations are no numbers that could be compared.
func (n *node) start() {
	n.w.lives++
	n.incarnation, n.alive, n.image = n.w.lives*0x9e3779b97f4a7c15, true, -1
}

// crash loses the RAM. What is on the way stays on the way.
func (n *node) crash() {
	if n.machine != nil {
		n.w.oracle.crashed(n)
	}
	n.alive, n.machine, n.log, n.fetching, n.waiting = false, nil, nil, false, nil
}

// learn hears of image i, which may be an old one.
func (n *node) learn(i int) {
	n.image = max(n.image, i)
	p := &n.w.controller.images[n.image]
	hosts := slices.Contains(p.replicas, n.id) && p.incarnations[n.id] == n.incarnation
	switch {
	case hosts && n.machine == nil:
		n.log, n.high = &memlog{}, 0
		n.machine = replica.New(replica.Config{Self: n.self(), LagTimeMaxMs: lagTimeMaxMs, AlterRetryMs: alterRetryMs,
			FetchBackoffMs: backoffMs, OffsetCeilingStep: ceilingStep}, n.log)
	case !hosts && n.machine != nil:
		n.step(&replica.Stop{})
		n.machine, n.log, n.fetching = nil, nil, false
	}
	if hosts {
		e := n.w.controller.metadata(i)
		e.NowMs = n.w.nowMs
		n.step(e)
	}
}

// step gives the machine an event and carries out the effects.
func (n *node) step(e replica.Event) {
	appending := false
	for _, f := range n.machine.Step(e) {
		if n.w.trace != nil {
			n.w.say("    %d: %s", n.id, showEffect(f))
		}
		switch f.Kind {
		case replica.EffectAppend:
			appending = true
		case replica.EffectComplete:
			n.w.oracle.completed(n, f)
			delete(n.waiting, f.Token)
		case replica.EffectAlterPartition:
			q := *f.Proposal
			q.ISR = slices.Clone(q.ISR)
			n.send(&message{kind: alterRequest, to: toController, proposal: q, machine: n.machine})
		case replica.EffectAnswerFetch:
			n.answer(f)
		case replica.EffectFetch:
			n.position, n.fetching = f.Position, true
		case replica.EffectStopFetch:
			n.fetching = false
		case replica.EffectCopySnapshot:
			n.send(&message{kind: snapshotRequest, to: f.Position.Leader.Broker, machine: n.machine,
				epoch: f.Position.LeaderEpoch})
		case replica.EffectRole:
			n.w.oracle.tookRole(n, f)
		case replica.EffectHighWatermark:
			n.w.oracle.highMoved(n, f.Offset)
			n.high = f.Offset
		default:
			n.store(f)
		}
	}
	if appending {
		n.log.records = n.log.records[:len(n.log.records):len(n.log.records)]
		for _, r := range n.arrived {
			n.log.append(r)
		}
		n.step(&replica.Replicated{Head: n.now(), EndOffset: n.log.end()})
	}
}

// store carries out what concerns the log.
func (n *node) store(f replica.Effect) {
	switch f.Kind {
	case replica.EffectBeginEpoch:
		n.w.oracle.epochBegan(n, f)
		n.log.begin(f.LeaderEpoch)
	case replica.EffectTruncate:
		n.log.truncate(f.Offset)
	case replica.EffectTrim:
		n.log.trim(f.Offset)
	case replica.EffectReset:
		n.log.reset(f.Offset)
		n.high = f.Offset
	case replica.EffectInstallSnapshot:
		n.log.reset(f.Offset)
		n.log.epochs = slices.Clone(f.Token.([]epochStart))
		n.high = f.Offset
	}
}

func (n *node) now() replica.Head { return replica.Head{NowMs: n.w.nowMs} }

// produce appends a batch of some records as the leader that n takes itself for.
func (n *node) produce(acksAll bool, records int, timeoutMs int64) bool {
	if n.machine == nil || n.machine.Admit(acksAll, int32(records)) != nil {
		return false
	}
	for range records {
		n.w.values++
		n.w.oracle.appending(n, n.log.end())
		n.log.append(record{n.machine.LeaderEpoch(), n.w.values})
	}
	end := n.log.end()
	n.step(&replica.Appended{Head: n.now(), EndOffset: end})
	if acksAll {
		token := n.w.values
		if n.waiting == nil {
			n.waiting = map[any]promised{}
		}
		n.waiting[token] = promised{end - 1, token}
		n.step(&replica.Await{Head: n.now(), Offset: end, DeadlineMs: n.w.nowMs + timeoutMs, Token: token})
	}
	return true
}

func (n *node) sendFetch() bool {
	if !n.fetching {
		return false
	}
	n.send(&message{kind: fetchRequest, to: n.position.Leader.Broker, position: n.position, machine: n.machine})
	return true
}

// answer sends what the machine says to the fetch whose message is the token.
func (n *node) answer(f replica.Effect) {
	q := f.Token.(*message)
	a := &message{kind: fetchAnswer, to: q.from, toMember: q.fromMember, position: q.position, machine: q.machine,
		err: f.Err, answer: f.Answer}
	if at := q.position.Offset; f.Err == nil && !f.Answer.Diverges() && at <= n.log.end() {
		a.records = slices.Clone(n.log.records[at-n.log.start:])
		a.records = a.records[:min(len(a.records), batchesPerAnswer)]
	}
	n.send(a)
}

// trim removes records from the start, as retention does.
func (n *node) trim(share int) bool {
	if n.machine == nil || n.machine.Role() != replica.Leader || n.machine.HighWatermark() <= n.log.start {
		return false
	}
	to := n.machine.HighWatermark()
	if share%2 == 0 { // not all
		to = n.log.start + 1 + (to-n.log.start-1)*int64(share%8)/8
	}
	n.log.trim(to)
	n.w.oracle.trimmed(to)
	n.step(&replica.LogStart{Head: n.now(), Offset: to})
	return true
}

func (n *node) tick() bool {
	if n.machine == nil || n.w.nowMs < n.machine.NextDeadline() {
		return false
	}
	n.step(&replica.Tick{Head: n.now()})
	return true
}

func (n *node) String() string {
	switch {
	case !n.alive:
		return fmt.Sprintf("%d dead", n.id)
	case n.machine == nil:
		return fmt.Sprintf("%d no replica", n.id)
	}
	m := n.machine
	s := fmt.Sprintf("%d %v epoch %d/%d log %d…%d high %d:", n.id, m.Role(), m.LeaderEpoch(), m.PartitionEpoch(), n.log.start,
		n.log.end(), m.HighWatermark())
	for _, r := range n.log.records {
		s += fmt.Sprintf(" %d/%d", r.epoch, r.value)
	}
	return s
}
