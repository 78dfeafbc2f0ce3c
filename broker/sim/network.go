package sim

import (
	"fmt"
	"slices"

	"millrace/broker/replica"
	"millrace/metadata"
)

// message is on its way. Which fields count depends on the kind.
type message struct {
	kind     messageKind
	from, to int32
	life     uint64 // of the sender
	toLife   uint64 // of answers: they go with the connection. 0: for whoever is there

	part     int
	follower *partition // of fetches and snapshots: that asked, and gets the answer
	leader   *partition // of proposals: that asked
	position replica.Position
	answer   replica.Answer
	records  []byte
	err      error
	epoch    int32
	offset   int64
	snapshot *snapshot
	proposal replica.Proposal
	altered  replica.AlterAnswer

	command  *command
	txn      metadata.Txn
	revision int64

	batch *batch // of a producer
	acks  int
	pid   int64
}

type messageKind uint8

const (
	fetchRequest messageKind = iota
	fetchAnswer
	snapshotRequest
	snapshotAnswer
	alterRequest // within a process
	alterAnswer
	commitRequest // to the store
	commitAnswer
	produceRequest
	produceAnswer
	consumeRequest
	consumeAnswer
	pidRequest
	pidAnswer
	groupRequest // of a committer
	groupAnswer
)

var messageNames = [...]string{"fetch", "fetch answer", "snapshot request", "snapshot", "proposal", "proposal's answer",
	"transaction", "transaction's answer", "produce", "produce answer", "consume", "consume answer", "producer id request",
	"producer id", "commit", "commit answer"}

// send puts a message of a process on its way.
func (n *process) send(m *message) {
	m.from, m.life = n.id, n.incarnation
	n.w.net = append(n.w.net, m)
}

// reply sends an answer back on the connection that q came on.
func (n *process) reply(q, a *message) {
	a.to, a.toLife, a.part = q.from, q.life, q.part
	n.send(a)
}

// route names a message in a way that still makes sense when others are gone.
type route struct {
	kind     messageKind
	from, to int32
	part     int
	nth      int
}

func (r route) String() string {
	s := fmt.Sprintf("%s %d→%d", messageNames[r.kind], r.from, r.to)
	if r.part > 0 {
		s += fmt.Sprintf(" of partition %d", r.part)
	}
	return s
}

func (r *route) matches(m *message) bool {
	return m.kind == r.kind && m.from == r.from && m.to == r.to && m.part == r.part
}

func (w *world) routeOf(i int) route {
	m := w.net[i]
	r := route{m.kind, m.from, m.to, m.part, 0}
	for _, o := range w.net[:i] {
		if r.matches(o) {
			r.nth++
		}
	}
	return r
}

func (w *world) find(r route) int {
	return slices.IndexFunc(w.net, func(m *message) bool {
		if !r.matches(m) {
			return false
		}
		r.nth--
		return r.nth < 0
	})
}

func (w *world) take(i int) *message {
	m := w.net[i]
	w.net = slices.Delete(w.net, i, i+1)
	return m
}

// link is one direction between two of the brokers and the store. Clients reach everybody.
type link struct{ from, to int32 }

// reaches tells whether messages get through in that direction now.
func (w *world) reaches(from, to int32) bool { return !slices.Contains(w.cut, link{from, to}) }

// ready tells whether a message could arrive now.
func (w *world) ready(m *message) bool {
	if !w.reaches(m.from, m.to) {
		return false
	}
	if m.to == storeID {
		return !w.store.down
	}
	return m.to >= firstClientID || !w.processes[m.to].paused
}

// once: the connection doesn't double what it carries.
func (m *message) once() bool {
	switch m.kind {
	case commitRequest, commitAnswer, groupRequest, groupAnswer:
		return true
	}
	return false
}

// lose drops a message. Those that something hangs on are missed: the connection breaks.
func (w *world) lose(m *message) {
	switch m.kind {
	case snapshotRequest:
		w.lost(m.from, m.life, func(n *process) { n.snapshotLost(m) })
	case snapshotAnswer:
		w.lost(m.to, m.toLife, func(n *process) { n.snapshotLost(m) })
	case groupRequest:
		w.committer.answered(&message{offset: m.offset, err: errUnavailable})
	case groupAnswer:
		w.committer.answered(&message{offset: m.offset, err: errUnavailable})
	case commitRequest:
		w.lost(m.from, m.life, func(n *process) { n.central.answer(m.command, 0, errUnavailable) })
	case commitAnswer:
		w.lost(m.to, m.toLife, func(n *process) { n.central.answer(m.command, 0, errUnavailable) })
	}
}

func (w *world) lost(id int32, life uint64, told func(n *process)) {
	if n := w.member(metadata.Member{Broker: id, Incarnation: life}); n != nil {
		told(n)
	}
}

func (w *world) deliver(m *message) {
	switch {
	case m.to == storeID:
		revision, err := w.store.commit(m.txn)
		w.net = append(w.net, &message{kind: commitAnswer, from: storeID, to: m.from, toLife: m.life, command: m.command,
			revision: revision, err: err})
	case m.to >= firstClientID:
		w.deliverToClient(m)
	default:
		n := w.processes[m.to]
		if !n.alive || m.toLife != 0 && m.toLife != n.incarnation {
			w.lose(m)
			return
		}
		n.receive(m)
	}
}

func (w *world) deliverToClient(m *message) {
	switch m.kind {
	case produceAnswer:
		w.producers[m.to-firstClientID].answered(m)
	case groupAnswer:
		w.committer.answered(m)
	case pidAnswer:
		w.producers[m.to-firstClientID].begin(m.pid)
	case consumeAnswer:
		w.consumers[m.part].answered(m)
	}
}

func (n *process) receive(m *message) {
	p := n.hosted(m.part)
	switch m.kind {
	case fetchRequest:
		if p != nil {
			p.step(&replica.Fetch{Head: n.now(), From: replica.Member{Broker: m.from, Incarnation: m.life},
				LeaderEpoch: m.position.LeaderEpoch, Offset: m.position.Offset, LastEpoch: m.position.LastEpoch, Token: m})
		}
	case fetchAnswer:
		if p != nil && p == m.follower {
			p.arrived = m.records
			p.step(&replica.FetchAnswer{Head: n.now(), Position: m.position, Err: m.err, Answer: m.answer, Records: len(m.records) > 0})
		}
	case snapshotRequest:
		n.giveSnapshot(m)
	case snapshotAnswer:
		n.snapshotArrived(m)
	case alterRequest:
		n.alter(m)
	case alterAnswer:
		if p != nil && p == m.leader {
			a := m.altered
			a.Head = n.now()
			p.step(&a)
		}
	case commitAnswer:
		n.central.answer(m.command, m.revision, m.err)
	case produceRequest:
		n.produce(m)
	case consumeRequest:
		n.consume(m)
	case pidRequest:
		n.givePID(m)
	case groupRequest:
		n.commit(m)
	}
}
