package sim

import (
	"fmt"

	"millrace/broker/plog"
	"millrace/broker/replica"
	"millrace/metadata"
)

// process is a broker with its central server, or the place where one was.
type process struct {
	w           *world
	id          int32
	incarnation uint64
	alive       bool
	paused      bool
	leaving     bool // it drains, and stops when it may

	central   *central
	parts     []*partition // by index; nil: not hosted
	lease     metadata.LeaseID
	announced bool // lease is known as that of this life
	under     map[string]bool

	cleaner         plog.Cleaner
	pidNext, pidEnd int64 // producer ids to hand out
	fullAfter       int   // so many batches more, and memory is full, once; −1: never
}

func (n *process) member() metadata.Member {
	return metadata.Member{Broker: n.id, Incarnation: n.incarnation}
}

func (n *process) now() replica.Head { return replica.Head{NowMs: n.w.nowMs} }

func (n *process) hosted(part int) *partition {
	if part >= len(n.parts) {
		return nil
	}
	return n.parts[part]
}

// start begins another life, with nothing in RAM. Incarnations are no numbers that could be compared.
func (n *process) start() {
	w := n.w
	_, leased := w.store.leases[n.lease]
	same := w.bugs.LeaseIsIncarnation && leased && n.lease != 0
	if !same {
		w.lives++
		n.incarnation, n.lease = w.lives*0x9e3779b97f4a7c15, 0
	}
	n.alive, n.paused, n.leaving, n.announced, n.fullAfter = true, false, false, same, -1
	n.central = newCentral(n)
	n.parts = make([]*partition, w.cluster.partitions)
	n.under = map[string]bool{}
	n.pidNext, n.pidEnd = 0, 0
	if w.bugs.PIDsReused {
		n.pidEnd = 1 << 30
	}
	w.touched()
}

// crash ends the life; what is on the way stays on the way.
func (n *process) crash() {
	for i := range n.parts {
		if n.parts[i] != nil {
			n.w.oracles[i].crashed(n)
		}
	}
	n.stop()
}

// stop drops the RAM.
func (n *process) stop() {
	for i, p := range n.parts {
		if p != nil {
			p.log.Close()
		}
		n.parts[i] = nil
	}
	n.alive, n.paused, n.central = false, false, nil
	n.w.committer.broken(n.id)
}

func (n *process) registration() metadata.BrokerSpec {
	return metadata.BrokerSpec{ID: n.id, Endpoints: []metadata.Endpoint{{Name: "P", Host: "h", Port: n.id}},
		Incarnation: n.incarnation, Lease: n.lease}
}

// keep is what a process does all the time: renew its lease, be registered, have a controller, leave if it is to.
func (n *process) keep() {
	w, c := n.w, n.central
	if w.reaches(n.id, storeID) && !w.store.down {
		renewed := n.lease != 0 && w.store.keepAlive(n.lease)
		if w.reaches(storeID, n.id) {
			if !renewed {
				n.lease, n.announced = w.store.grant(), false
			}
			c.detector.Heard(w.nowMs)
			if c.img == nil {
				c.img = metadata.Empty()
				c.learn(true)
			}
		}
	}
	if c.img == nil || n.lease == 0 {
		return
	}
	lease := n.lease
	done := func(err error) { n.announced = n.announced || err == nil && lease == n.lease }
	switch b := c.img.Broker(n.id); {
	case b == nil || b.Incarnation != n.incarnation:
		spec := n.registration()
		n.once(&command{name: "register", plan: func(img *metadata.Image) []metadata.Delta {
			deltas, _, _ := w.policy.RegisterBroker(img, spec, n.incarnation)
			return deltas
		}, done: func(err error) { done(err); c.follow(err) }})
	case !n.announced, !n.leaving && c.img.Alive(n.id) != n.incarnation: // it has been told that the broker left, say
		n.once(&command{name: "announce", plan: func(img *metadata.Image) []metadata.Delta {
			deltas, _ := w.policy.Announce(img, n.member(), lease)
			return deltas
		}, done: done})
	}
	if c.img.Controller().Token == 0 {
		n.once(&command{name: "campaign", plan: func(img *metadata.Image) []metadata.Delta {
			if img.Controller().Token != 0 {
				return nil
			}
			return []metadata.Delta{metadata.ControllerElected{Name: fmt.Sprint(n.id), Token: n.incarnation, Lease: lease}}
		}})
	}
	if n.leaving {
		n.drain()
	}
	c.keepVigil()
}

// once submits a command unless one of its name is under way.
func (n *process) once(cmd *command) {
	if n.under[cmd.name] {
		return
	}
	n.under[cmd.name] = true
	done := cmd.done
	cmd.done = func(err error) {
		n.under[cmd.name] = false
		if done != nil {
			done(err)
		}
	}
	n.central.submit(cmd)
}

// drain takes the next step of the way out, and stops when there is none left.
func (n *process) drain() {
	w := n.w
	if w.bugs.LeaveAtOnce {
		w.gone = append(w.gone, n)
		return
	}
	var state metadata.DrainState
	life := n.incarnation
	n.once(&command{name: "drain", resumes: true, plan: func(img *metadata.Image) (deltas []metadata.Delta) {
		deltas, state, _ = w.policy.Drain(img, n.member(), true)
		return deltas
	}, done: func(err error) {
		if err == nil && state.Left && n.leaving && n.alive && n.incarnation == life { // else it has been called back
			w.say("  broker %d leaves", n.id)
			n.leaving = false
			w.gone = append(w.gone, n)
		}
	}})
}

// adopt takes the image that the central server has.
func (n *process) adopt() {
	img := n.central.img
	t := img.TopicByID(topicID)
	if t == nil {
		return
	}
	b := img.Broker(n.id)
	registered := b != nil && b.Incarnation == n.incarnation
	for i := range t.Partitions {
		p := &t.Partitions[i]
		hosts := p.HasReplica(n.id) && (registered || n.parts[i] != nil)
		switch {
		case hosts && n.parts[i] == nil:
			n.parts[i] = newPartition(n, i)
		case !hosts && n.parts[i] != nil:
			n.parts[i].step(&replica.Stop{})
			n.parts[i].log.Close()
			n.parts[i] = nil
		}
		if hosts {
			n.parts[i].step(n.metadataEvent(img, p))
		}
	}
}

func (n *process) metadataEvent(img *metadata.Image, p *metadata.Partition) *replica.Metadata {
	e := &replica.Metadata{
		Head: n.now(), Revision: img.Revision(), Leader: asReplica(p.LeaderMember()), LeaderEpoch: p.LeaderEpoch,
		PartitionEpoch: p.PartitionEpoch, LossGeneration: p.LossGeneration, BaseOffset: p.BaseOffset,
		OffsetCeiling: p.OffsetCeiling, ISR: asReplicas(p.ISRMembers()), MinISR: p.MinISR(),
	}
	for _, id := range p.Replicas {
		r := replica.Replica{Member: replica.Member{Broker: id}}
		if b := img.Broker(id); b != nil {
			r = replica.Replica{Member: asReplica(b.Member()), Fenced: !b.Active()}
		}
		e.Replicas = append(e.Replicas, r)
	}
	return e
}

// alter plans and commits a leader's proposal.
func (n *process) alter(m *message) {
	q := m.proposal
	specs := []metadata.AlterPartitionSpec{{Topic: topicID, Partition: int32(m.part), LeaderEpoch: q.LeaderEpoch,
		PartitionEpoch: q.PartitionEpoch, ISR: asMembers(q.ISR), OffsetCeiling: q.OffsetCeiling}}
	if n.central.img == nil {
		return
	}
	var result metadata.AlterPartitionResult
	n.central.submit(&command{name: "alter", plan: func(img *metadata.Image) []metadata.Delta {
		deltas, results := n.w.policy.AlterPartitions(img, n.member(), specs)
		result = results[0]
		return deltas
	}, done: func(err error) {
		a := replica.AlterAnswer{ID: q.ID, Err: alterError(err, result.Err), PartitionEpoch: result.State.PartitionEpoch}
		n.reply(m, &message{kind: alterAnswer, leader: m.leader, altered: a})
		if a.Err == nil && n.w.policy.Reassigned(n.central.img, &result.State) {
			n.central.submit(&command{name: "complete", resumes: true, plan: n.w.policy.Settle})
		}
	}})
}

// busy tells whether the process can do anything now.
func (n *process) busy() bool { return n.alive && !n.paused }

func (n *process) String() string {
	switch {
	case !n.alive:
		return fmt.Sprintf("broker %d is dead", n.id)
	case n.central.img == nil:
		return fmt.Sprintf("broker %v knows nothing", n.member())
	}
	s := fmt.Sprintf("broker %v at revision %d", n.member(), n.central.img.Revision())
	for _, p := range n.parts {
		if p != nil {
			s += "\n  " + p.String()
		}
	}
	return s
}
