package replica_test

import (
	"fmt"
	"slices"

	"millrace/broker/replica"
)

// controller is a small one of one partition: R1 to R6, ELR, AlterPartition, reassignment. Its state is a row of images;
// brokers hear of them late, but in order.
type controller struct {
	w      *world
	images []image
}

// image is the partition and the registrations of the brokers, as of a revision.
type image struct {
	leader                                      replica.Member
	leaderEpoch, partitionEpoch, lossGeneration int32
	base, ceiling                               int64
	replicas                                    []int32
	isr, elr                                    []replica.Member
	incarnations                                []uint64 // by broker; 0: never registered
	fenced                                      []bool
}

// controllerRules can be switched off, one by one.
type controllerRules struct {
	entriesHaveIncarnations bool // R1
	leaderBound             bool // R2, the controller's side of it
	emptyISR                bool // R3
	elr                     bool
	proposalsChecked        bool // AlterPartition checks the incarnations of those who join
	epochsChecked           bool // and the partition epoch
	removalRaisesEpoch      bool // a replica that is removed ends the leader epoch
	lossRaisesBase          bool // R6
}

var allControllerRules = controllerRules{true, true, true, true, true, true, true, true}

func (c *controller) now() *image { return &c.images[len(c.images)-1] }

// next begins the next image.
func (c *controller) next() *image {
	p := *c.now()
	p.replicas, p.isr, p.elr = slices.Clone(p.replicas), slices.Clone(p.isr), slices.Clone(p.elr)
	p.incarnations, p.fenced = slices.Clone(p.incarnations), slices.Clone(p.fenced)
	c.images = append(c.images, p)
	return c.now()
}

func (p *image) member(id int32) replica.Member {
	return replica.Member{Broker: id, Incarnation: p.incarnations[id]}
}

func has(list []replica.Member, id int32) bool { return find(list, id).Incarnation != 0 }

func find(list []replica.Member, id int32) replica.Member {
	for _, m := range list {
		if m.Broker == id {
			return m
		}
	}
	return replica.Member{}
}

func without(list []replica.Member, id int32) []replica.Member {
	return slices.DeleteFunc(slices.Clone(list), func(m replica.Member) bool { return m.Broker == id })
}

// setISR writes an ISR. Who leaves one that becomes too small goes to the ELR: nothing can have been committed without it.
func (c *controller) setISR(p *image, isr []replica.Member) {
	was := p.isr
	p.isr = isr
	p.partitionEpoch++
	if len(isr)-count(isr, p.void) >= c.w.minISR || !c.w.rules.elr {
		p.elr = nil
		return
	}
	for _, m := range was {
		if !has(isr, m.Broker) && !has(p.elr, m.Broker) {
			p.elr = append(p.elr, m)
		}
	}
	p.elr = slices.DeleteFunc(p.elr, func(m replica.Member) bool { return has(isr, m.Broker) || p.void(m) })
}

func count(list []replica.Member, f func(replica.Member) bool) (n int) {
	for _, m := range list {
		if f(m) {
			n++
		}
	}
	return n
}

// void: the broker has been registered anew since, so this entry's RAM is gone.
func (p *image) void(m replica.Member) bool { return p.incarnations[m.Broker] != m.Incarnation }

func (p *image) electable(m replica.Member) bool { return !p.void(m) && !p.fenced[m.Broker] }

// register takes a broker's new incarnation. That voids what the old one stood for; settle takes it out some time later.
func (c *controller) register(id int32, incarnation uint64) {
	p := c.next()
	old := p.member(id)
	p.incarnations[id], p.fenced[id] = incarnation, false
	renew := func(list []replica.Member) {
		for i := range list {
			if list[i] == old {
				list[i].Incarnation = incarnation
				p.partitionEpoch++
			}
		}
	}
	if !c.w.rules.entriesHaveIncarnations {
		renew(p.isr)
		renew(p.elr)
	} else if !c.w.rules.emptyISR && len(p.isr) == 1 {
		renew(p.isr)
	}
	if !c.w.rules.leaderBound && p.leader.Broker == id {
		p.leader.Incarnation = incarnation
		p.partitionEpoch++
	}
}

// settle takes out the entries that are void.
func (c *controller) settle() bool {
	p := c.now()
	if !slices.ContainsFunc(p.isr, p.void) && !slices.ContainsFunc(p.elr, p.void) {
		return false
	}
	p = c.next()
	p.elr = slices.DeleteFunc(p.elr, p.void)
	c.setISR(p, slices.DeleteFunc(slices.Clone(p.isr), p.void))
	return true
}

func (c *controller) fence(id int32) bool {
	if c.now().fenced[id] || c.now().incarnations[id] == 0 {
		return false
	}
	p := c.next()
	p.fenced[id] = true
	if has(p.isr, id) && (len(p.isr) > 1 || c.w.rules.emptyISR) {
		c.setISR(p, without(p.isr, id))
	}
	return true
}

func (c *controller) unfence(id int32) bool {
	n := c.w.nodes[id]
	if !c.now().fenced[id] || !n.alive || c.now().incarnations[id] != n.incarnation {
		return false
	}
	c.next().fenced[id] = false
	return true
}

// led tells whether the partition has a leader that may lead.
func (c *controller) led() bool {
	p := c.now()
	id := p.leader.Broker
	if id == replica.NoBroker || p.fenced[id] {
		return false
	}
	if !c.w.rules.leaderBound {
		return c.w.nodes[id].alive
	}
	return !p.void(p.leader) && has(p.isr, id)
}

// candidates are those who may be elected: of the ISR, or of the ELR if nobody is left in the ISR.
func (c *controller) candidates() (list []replica.Member) {
	p := c.now()
	from := p.isr
	if count(from, p.void) == len(from) {
		from = p.elr
	}
	for _, m := range from {
		if p.electable(m) {
			list = append(list, m)
		}
	}
	return list
}

// elect gives the partition a leader if it needs one; nth chooses among the candidates.
func (c *controller) elect(nth int) bool {
	if c.led() {
		return false
	}
	list := c.candidates()
	if len(list) == 0 {
		if c.now().leader.Broker == replica.NoBroker {
			return false
		}
		p := c.next()
		p.leader = replica.NoMember
		p.leaderEpoch++
		p.partitionEpoch++
		return true
	}
	c.lead(list[nth%len(list)])
	return true
}

func (c *controller) lead(m replica.Member) {
	p := c.next()
	p.leader = m
	p.leaderEpoch++
	p.partitionEpoch++
	if !has(p.isr, m.Broker) {
		p.isr, p.elr = []replica.Member{m}, without(p.elr, m.Broker)
	}
}

// move gives the leadership to another member of the ISR, though the leader is well.
func (c *controller) move(nth int) bool {
	list := c.candidates()
	if !c.led() || len(list) == 0 || list[nth%len(list)] == c.now().leader {
		return false
	}
	c.lead(list[nth%len(list)])
	return true
}

// declareLoss gives up records when nobody who may have them can come back (R5).
func (c *controller) declareLoss(nth int) bool {
	p := c.now()
	if c.led() || count(p.isr, p.void)+count(p.elr, p.void) < len(p.isr)+len(p.elr) {
		return false
	}
	var live []replica.Member
	for _, id := range p.replicas {
		if m := p.member(id); m.Incarnation != 0 && p.electable(m) {
			live = append(live, m)
		}
	}
	if len(live) == 0 {
		return false
	}
	c.w.lossDeclared()
	p = c.next()
	p.leader, p.isr, p.elr = live[nth%len(live)], live, nil
	p.leaderEpoch++
	p.partitionEpoch++
	p.lossGeneration++
	if c.w.rules.lossRaisesBase {
		p.base = p.ceiling
	}
	c.w.oracle.lossBegan(p.base)
	return true
}

func (c *controller) addReplica(id int32) bool {
	if slices.Contains(c.now().replicas, id) || c.now().incarnations[id] == 0 || !c.led() {
		return false
	}
	p := c.next()
	p.replicas = append(p.replicas, id)
	p.partitionEpoch++
	return true
}

// removeReplica ends the leader epoch, so that no fetch of the replica counts should it come back with an empty log.
func (c *controller) removeReplica(id int32) bool {
	p := c.now()
	if !slices.Contains(p.replicas, id) || len(p.replicas) <= replicationFactor || !c.led() || p.leader.Broker == id ||
		len(without(p.isr, id)) < c.w.minISR {
		return false
	}
	p = c.next()
	p.replicas = slices.DeleteFunc(p.replicas, func(r int32) bool { return r == id })
	c.setISR(p, without(p.isr, id))
	p.elr = without(p.elr, id)
	if c.w.rules.removalRaisesEpoch {
		p.leaderEpoch++
	}
	return true
}

var errStaleProposal = fmt.Errorf("leader or partition epoch is not the current one")

// alter answers a proposal.
func (c *controller) alter(from replica.Member, q replica.Proposal) replica.AlterAnswer {
	p := c.now()
	a := replica.AlterAnswer{ID: q.ID}
	leads := p.leader == from || !c.w.rules.leaderBound && p.leader.Broker == from.Broker
	if !leads || q.LeaderEpoch != p.leaderEpoch || q.PartitionEpoch != p.partitionEpoch && c.w.rules.epochsChecked {
		a.Err = errStaleProposal
		return a
	}
	if c.w.rules.proposalsChecked && count(q.ISR, p.electable) < len(q.ISR) {
		a.Err = replica.ErrIneligibleReplica
		return a
	}
	c.w.oracle.joining(p, q.ISR)
	p = c.next()
	c.setISR(p, slices.Clone(q.ISR))
	p.ceiling = max(p.ceiling, q.OffsetCeiling)
	a.PartitionEpoch = p.partitionEpoch
	return a
}

// metadata is the event that image number i makes.
func (c *controller) metadata(i int) *replica.Metadata {
	p := &c.images[i]
	e := &replica.Metadata{
		Revision: int64(i), Leader: p.leader, LeaderEpoch: p.leaderEpoch, PartitionEpoch: p.partitionEpoch,
		LossGeneration: p.lossGeneration, BaseOffset: p.base, OffsetCeiling: p.ceiling, ISR: p.isr, MinISR: c.w.minISR,
	}
	for _, id := range p.replicas {
		e.Replicas = append(e.Replicas, replica.Replica{Member: p.member(id), Fenced: p.fenced[id]})
	}
	return e
}

func (p *image) String() string {
	var fenced []int
	for id := range p.fenced {
		if p.fenced[id] {
			fenced = append(fenced, id)
		}
	}
	return fmt.Sprintf("leader %s epoch %d/%d loss %d from %d ceiling %d replicas %v isr %s elr %s fenced %v", showMember(p.leader),
		p.leaderEpoch, p.partitionEpoch, p.lossGeneration, p.base, p.ceiling, p.replicas, showMembers(p.isr), showMembers(p.elr),
		fenced)
}
