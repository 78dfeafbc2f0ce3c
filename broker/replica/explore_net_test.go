package replica_test

import (
	"slices"

	"millrace/broker/replica"
)

// message is on its way between two brokers, or a broker and the controller.
type message struct {
	kind       messageKind
	from, to   int32
	fromMember replica.Member
	toMember   replica.Member   // of answers: they go with the connection
	machine    *replica.Machine // that asked, and gets the answer

	position replica.Position
	answer   replica.Answer
	records  []record
	err      error
	proposal replica.Proposal
	altered  replica.AlterAnswer
	epoch    int32
	offset   int64
	epochs   []epochStart
}

type messageKind uint8

const (
	fetchRequest messageKind = iota
	fetchAnswer
	alterRequest
	alterAnswer
	snapshotRequest
	snapshotAnswer
)

var messageNames = [...]string{"fetch", "fetch answer", "alter", "alter answer", "snapshot request", "snapshot"}

const toController int32 = -2

func (n *node) send(m *message) {
	m.from, m.fromMember = n.id, n.self()
	n.w.net = append(n.w.net, m)
}

// route names messages in a way that still makes sense when others are gone.
type route struct {
	kind     messageKind
	from, to int32
	nth      int
}

func (w *world) routeOf(i int) route {
	m := w.net[i]
	r := route{m.kind, m.from, m.to, 0}
	for _, o := range w.net[:i] {
		if o.kind == m.kind && o.from == m.from && o.to == m.to {
			r.nth++
		}
	}
	return r
}

func (w *world) find(r route) int {
	return slices.IndexFunc(w.net, func(m *message) bool {
		if m.kind != r.kind || m.from != r.from || m.to != r.to {
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

// lose drops a message. Whoever waits for a snapshot learns that the connection broke.
func (w *world) lose(m *message) {
	switch m.kind {
	case snapshotRequest:
		w.deliver(&message{kind: snapshotAnswer, from: m.to, to: m.from, toMember: m.fromMember, machine: m.machine,
			epoch: m.epoch, err: replica.ErrNotLeader})
	case snapshotAnswer:
		lost := *m
		lost.err = replica.ErrNotLeader
		w.deliver(&lost)
	}
}

func (w *world) deliver(m *message) {
	if m.to == toController {
		a := w.controller.alter(m.fromMember, m.proposal)
		w.net = append(w.net, &message{kind: alterAnswer, from: toController, to: m.from, toMember: m.fromMember,
			machine: m.machine, altered: a})
		return
	}
	n := w.nodes[m.to]
	switch m.kind {
	case fetchRequest, snapshotRequest:
		if n.machine == nil {
			w.lose(m)
			return
		}
	default:
		if n.machine == nil || n.self() != m.toMember || n.machine != m.machine {
			return
		}
	}
	switch m.kind {
	case fetchRequest:
		n.step(&replica.Fetch{Head: n.now(), From: m.fromMember, LeaderEpoch: m.position.LeaderEpoch,
			Offset: m.position.Offset, LastEpoch: m.position.LastEpoch, Token: m})
	case fetchAnswer:
		n.arrived = m.records
		n.step(&replica.FetchAnswer{Head: n.now(), Position: m.position, Err: m.err, Answer: m.answer,
			Records: len(m.records) > 0})
	case alterAnswer:
		a := m.altered
		a.Head = n.now()
		n.step(&a)
	case snapshotRequest:
		n.giveSnapshot(m)
	case snapshotAnswer:
		n.step(&replica.Snapshot{Head: n.now(), LeaderEpoch: m.epoch, Err: m.err, StartOffset: m.offset, Token: m.epochs})
	}
}

// giveSnapshot answers what a new follower must know of the log's past, if this is the leader that it means.
func (n *node) giveSnapshot(m *message) {
	a := &message{kind: snapshotAnswer, to: m.from, toMember: m.fromMember, machine: m.machine, epoch: m.epoch}
	if a.err = n.machine.CheckEpoch(m.epoch); a.err == nil {
		a.offset = n.log.start
		for _, e := range n.log.epochs {
			if e.offset <= n.log.start {
				a.epochs = append(a.epochs, e)
			}
		}
	}
	n.send(a)
}
