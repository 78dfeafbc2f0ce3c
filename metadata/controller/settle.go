package controller

import (
	"slices"

	"millrace/metadata"
)

// Settle plans all that follows from who is registered, fenced, or gone: ISRs
// without those that can't be in them, elections, declared losses, reassignments
// that are complete. It makes nothing new of a cluster that is in order, so it may
// be planned at any time, and goes on where a plan was carried out half.
//
// Partitions that get another leader come first.
func (p Policy) Settle(img *metadata.Image) []metadata.Delta {
	j := p.judge(img)
	var urgent, rest []metadata.Delta
	for _, t := range img.Topics() {
		urgent, rest = j.settleTopic(t, urgent, rest)
	}
	return append(urgent, rest...)
}

// SettlePartitions is Settle for some partitions. Those that aren't there any
// more are passed over, and so is one that is named twice.
func (p Policy) SettlePartitions(img *metadata.Image, ids []PartitionID) []metadata.Delta {
	j := p.judge(img)
	var deltas []metadata.Delta
	seen := make(map[PartitionID]struct{}, len(ids))
	for _, id := range ids {
		t := img.TopicByID(id.Topic)
		if _, twice := seen[id]; twice || t == nil || id.Partition < 0 || int(id.Partition) >= len(t.Partitions) {
			continue
		}
		seen[id] = struct{}{}
		if delta, _ := j.settle(t, id.Partition, j.minInSync(t.Name, t.Configs)); delta != nil {
			deltas = append(deltas, delta)
		}
	}
	return deltas
}

// PartitionID names a partition for good: a topic of the same name that is
// created later has another id.
type PartitionID struct {
	Topic     metadata.TopicID
	Partition int32
}

func changedTo(t *metadata.Topic, index int32, next metadata.Partition) metadata.Delta {
	return metadata.PartitionChanged{Name: t.Name, ID: t.ID, Index: index, Partition: next}
}

// settleTopic appends the changes of a topic's partitions to one of two lists.
func (j *judge) settleTopic(t *metadata.Topic, urgent, rest []metadata.Delta) (_, _ []metadata.Delta) {
	minInSync := j.minInSync(t.Name, t.Configs)
	for i := range t.Partitions {
		switch delta, moved := j.settle(t, int32(i), minInSync); {
		case delta == nil:
		case moved:
			urgent = append(urgent, delta)
		default:
			rest = append(rest, delta)
		}
	}
	return urgent, rest
}

// settle returns nil if nothing changes, and whether clients have to look for the
// leader again.
func (j *judge) settle(t *metadata.Topic, index, minInSync int32) (delta metadata.Delta, moved bool) {
	p := &t.Partitions[index]
	if p.MinInSync == minInSync && j.inOrder(p) {
		return nil, false
	}
	d := j.draft(p, j.unclean(t.Configs))
	d.next.MinInSync = minInSync
	d.settle()
	next, changed := d.finish()
	if !changed {
		return nil, false
	}
	return changedTo(t, index, next), next.LeaderEpoch != p.LeaderEpoch
}

// inOrder is a quick look at what nearly all partitions are nearly always: led,
// with an ISR whose members are all live, and nothing under way.
func (j *judge) inOrder(p *metadata.Partition) bool {
	if p.Leader == metadata.NoBroker || len(p.ELR) > 0 || p.Reassigning() {
		return false
	}
	led := false
	for i, id := range p.ISR {
		if !j.img.Live(metadata.Member{Broker: id, Incarnation: p.ISRIncarnations[i]}) {
			return false
		}
		led = led || id == p.Leader
	}
	if len(p.ISR) < len(p.Replicas) {
		for _, id := range p.Replicas {
			if j.img.Broker(id) == nil {
				return false
			}
		}
	}
	return led
}

// settle does what the situation asks for.
func (d *draft) settle() {
	d.fill()
	d.setISR(slices.DeleteFunc(slices.Clone(d.isr), func(m metadata.Member) bool { return !d.img.Live(m) }))
	d.complete()
	if _, led := memberOf(d.isr, d.next.Leader); led {
		return
	}
	switch {
	case d.electISR():
	case d.electELR():
	case len(d.elr) > 0 && !d.unclean: // somebody who is fenced may still have everything
		d.retire()
	case d.lose():
	default:
		d.retire()
	}
}

// complete ends a reassignment whose targets are in the ISR. A target that can't
// be, because it isn't live, doesn't hold it up unless it is one of those that are being
// added, or too few would be left.
func (d *draft) complete() {
	if !d.next.Reassigning() {
		return
	}
	targets := d.targets()
	inSync := 0
	for _, id := range targets {
		b := d.img.Broker(id)
		if _, ok := memberOf(d.isr, id); ok {
			inSync++
		} else if slices.Contains(d.next.Adding, id) || b != nil && !b.Fenced {
			return
		}
	}
	done := metadata.Partition{Replicas: targets, MinInSync: d.next.MinInSync}
	if inSync < done.MinISR() {
		return
	}
	d.next.Replicas, d.next.Adding, d.next.Removing = targets, nil, nil
	d.setISR(slices.DeleteFunc(slices.Clone(d.isr), func(m metadata.Member) bool { return !slices.Contains(targets, m.Broker) }))
}
