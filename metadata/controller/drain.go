package controller

import (
	"slices"

	"millrace/metadata"
)

// drainCopiesMax bounds the partitions that a drain has copied at a time.
const drainCopiesMax = 256

// Drain plans the next step of a broker's way out, to be planned again and again
// until it has left. The broker joins no ISR any more; what it leads goes to others
// in the ISR; a partition that can't keep its MinISR without it, whatever its other
// replicas do, is copied to another broker, by a reassignment.
//
// With leave it is fenced as soon as it is ready and what it led has been taken over,
// in the same plan that finds it ready: of two brokers that drain at once each
// counts for the other until it has left, and then no more. So a rolling restart,
// and any number of drains at once, never takes a partition below its MinISR.
//
// That takes an image in which the broker drains already. An older one may lack
// that it has come into an ISR, and no transaction would compare that partition. From
// then on it can't, as long as its registration stays as it is; so that is written
// by the plan with which it leaves, whatever else there is to do.
//
// Errors: ErrUnknownBroker, ErrStaleBrokerEpoch.
func (p Policy) Drain(img *metadata.Image, m metadata.Member, leave bool) ([]metadata.Delta, metadata.DrainState, error) {
	var state metadata.DrainState
	b, err := registered(img, m)
	if err != nil {
		return nil, state, err
	}
	var deltas []metadata.Delta
	if !b.Draining {
		draining := *b
		draining.Draining = true
		deltas = append(deltas, metadata.BrokerChanged{Broker: &draining})
		img = img.Apply(deltas...)
	}
	d := drain{judge: p.judge(img), id: m.Broker}
	for _, t := range img.Topics() {
		for i := range t.Partitions {
			if t.Partitions[i].HasReplica(m.Broker) {
				d.partition(t, int32(i))
			}
		}
	}
	if leave && b.Draining && d.state.Ready() && len(d.moves) == 0 {
		d.state.Leading, d.state.Left = 0, true
		return p.leave(img, b), d.state, nil
	}
	return slices.Concat(deltas, d.moves, d.copies), d.state, nil
}

func (p Policy) leave(img *metadata.Image, b *metadata.Broker) (deltas []metadata.Delta) {
	if img.Alive(b.ID) != 0 {
		// Its lease may go on for a while: it must not be unfenced for that.
		deltas = append(deltas, metadata.BrokerSilent{ID: b.ID})
	}
	left := *b
	left.Fenced = true
	deltas = append(deltas, metadata.BrokerChanged{Broker: &left})
	return append(deltas, p.Settle(img.Apply(deltas...))...)
}

// OnlyCopies lists the partitions whose records are lost if the broker goes now:
// nobody else, be it one that is fenced, is known to have them.
func OnlyCopies(img *metadata.Image, id int32) (list []metadata.PartitionRef) {
	for _, t := range img.Topics() {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			if p.HasReplica(id) && onlyCopy(img, p, id) {
				list = append(list, metadata.PartitionRef{Topic: t.Name, Partition: int32(i)})
			}
		}
	}
	return list
}

func onlyCopy(img *metadata.Image, p *metadata.Partition, id int32) bool {
	only := false
	for _, m := range append(p.ISRMembers(), p.ELRMembers()...) {
		switch {
		case img.Void(m):
		case m.Broker != id:
			return false
		default:
			only = true
		}
	}
	return only
}

// CancelDrain plans that a broker stays after all. Copies that are under way go on.
// Errors: ErrUnknownBroker, ErrStaleBrokerEpoch.
func (p Policy) CancelDrain(img *metadata.Image, m metadata.Member) ([]metadata.Delta, error) {
	b, err := registered(img, m)
	if err != nil || !b.Draining {
		return nil, err
	}
	stays := *b
	stays.Draining = false
	return []metadata.Delta{metadata.BrokerChanged{Broker: &stays}}, nil
}

// drain is a Drain under way.
type drain struct {
	*judge
	id    int32
	state metadata.DrainState

	moves, copies []metadata.Delta
}

func (d *drain) partition(t *metadata.Topic, index int32) {
	p := &t.Partitions[index]
	ref := metadata.PartitionRef{Topic: t.Name, Partition: index}
	leads := d.img.LeaderOf(p) == d.id
	switch next := d.draft(p, false); {
	case !d.needed(p):
	case d.possible(p) >= p.MinISR() && !slices.Contains(p.Removing, d.id):
		d.state.Waiting = append(d.state.Waiting, ref)
	case p.Reassigning():
		d.state.Copying = append(d.state.Copying, ref)
	case len(d.state.Copying) >= drainCopiesMax:
		d.state.Waiting = append(d.state.Waiting, ref)
	case !d.copy(next):
		d.state.Stuck = append(d.state.Stuck, ref)
	default:
		d.state.Copying = append(d.state.Copying, ref)
		if leads && next.leaveLead(d.id) {
			leads = false
		}
		if to, changed := next.finish(); changed {
			d.copies = append(d.copies, changedTo(t, index, to))
		}
		d.count(leads)
		return
	}
	if leads {
		if next := d.draft(p, false); next.leaveLead(d.id) {
			leads = false
			to, _ := next.finish()
			d.moves = append(d.moves, changedTo(t, index, to))
		}
	}
	d.count(leads)
}

func (d *drain) count(leads bool) {
	if leads {
		d.state.Leading++
	}
}

// needed tells whether the partition would not keep its MinISR without the broker.
// One in which the broker has nothing that counts loses nothing with it.
func (d *drain) needed(p *metadata.Partition) bool {
	held := metadata.Member{Broker: d.id, Incarnation: max(p.InISR(d.id), p.InELR(d.id))}
	if d.img.Void(held) {
		return false
	}
	others := 0
	for _, m := range p.ISRMembers() {
		if m.Broker != d.id && d.img.Live(m) {
			others++
		}
	}
	return others < p.MinISR()
}

// possible is how many of the other replicas could be in the ISR, sooner or later: in
// a rolling restart the one before may not be back yet, and that is no reason to copy
// everything.
func (d *drain) possible(p *metadata.Partition) (n int) {
	for _, id := range p.Replicas {
		if id != d.id && d.img.Broker(id) != nil {
			n++
		}
	}
	return n
}

// copy sets out to have another broker in the place of the one that leaves.
func (d *drain) copy(next *draft) bool {
	replicas := slices.Clone(next.next.Replicas)
	at := slices.Index(replicas, d.id)
	heir := d.placement().instead(d.img, replicas, at)
	if heir == nil {
		return false
	}
	replicas[at] = heir.ID
	next.reassign(next.next.Replicas, replicas)
	next.settle()
	return true
}
