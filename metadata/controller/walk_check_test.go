package controller

import (
	"slices"

	"millrace/metadata"
)

// check looks at one change of the image. old is the image before all changes of its
// revision.
func (w *walk) check(old *metadata.Image, d metadata.Delta) {
	switch d := d.(type) {
	case metadata.TopicCreated:
		for i := range d.Topic.Partitions {
			w.created(d.Topic, int32(i))
		}
	case metadata.PartitionsAdded:
		for i := range d.Partitions {
			w.created(w.img.TopicByID(d.ID), d.First+int32(i))
		}
	case metadata.TopicDeleted:
		for id := range w.records {
			if id.Topic == d.ID {
				delete(w.records, id)
			}
		}
	case metadata.PartitionChanged:
		t := old.TopicByID(d.ID)
		w.checkShape(&d.Partition)
		w.checkChange(t, &t.Partitions[d.Index], &d.Partition, d.Index)
	}
}

func (w *walk) created(t *metadata.Topic, index int32) {
	w.records[PartitionID{t.ID, index}] = &records{has: make(map[metadata.Member]int)}
	w.checkShape(&t.Partitions[index])
}

// checkShape: what holds of every state, whatever happened.
func (w *walk) checkShape(p *metadata.Partition) {
	in := func(list []int32) func(int32) bool { return func(id int32) bool { return !slices.Contains(list, id) } }
	var all []int32
	for _, list := range [][]int32{p.ISR, p.ELR} {
		all = append(all, list...)
	}
	unique := func(list []int32) bool {
		list = slices.Clone(list)
		slices.Sort(list)
		return len(slices.Compact(list)) == len(list)
	}
	switch {
	case !unique(p.Replicas) || !unique(all):
		w.fail("somebody is in it twice: %+v", p)
	case slices.ContainsFunc(all, in(p.Replicas)), slices.ContainsFunc(p.Adding, in(p.Replicas)), slices.ContainsFunc(p.Removing, in(p.Replicas)):
		w.fail("somebody is in it who isn't a replica: %+v", p)
	case p.Leader != metadata.NoBroker && !slices.Contains(p.ISR, p.Leader):
		w.fail("the leader isn't in the ISR: %+v", p)
	case slices.Contains(p.ISRIncarnations, 0), slices.Contains(p.ELRIncarnations, 0):
		w.fail("an entry of no life: %+v", p)
	case len(p.ELR) > 0 && len(p.ISR) >= p.MinISR():
		w.fail("an ELR beside an ISR that is large enough: %+v", p)
	}
}

// checkChange compares a state with the one before it.
func (w *walk) checkChange(t *metadata.Topic, was, is *metadata.Partition, index int32) {
	id := PartitionID{t.ID, index}
	w.note("  %s-%d: %+v", t.Name, index, *is)
	taken := slices.ContainsFunc(was.Replicas, func(id int32) bool { return !is.HasReplica(id) })
	moved := was.LeaderMember() != is.LeaderMember()
	switch {
	case is.PartitionEpoch != was.PartitionEpoch+1:
		w.fail("the partition epoch was %d", was.PartitionEpoch)
	case is.LeaderEpoch != was.LeaderEpoch && is.LeaderEpoch != was.LeaderEpoch+1:
		w.fail("the leader epoch was %d", was.LeaderEpoch)
	case (moved || taken) && is.LeaderEpoch == was.LeaderEpoch:
		w.fail("no new leader epoch after %+v", *was)
	case is.LossGeneration == was.LossGeneration && (is.BaseOffset != was.BaseOffset || is.OffsetCeiling < was.OffsetCeiling):
		w.fail("the offsets changed from %d..%d", was.BaseOffset, was.OffsetCeiling)
	case is.LossGeneration != was.LossGeneration &&
		(is.LossGeneration != was.LossGeneration+1 || is.BaseOffset != was.OffsetCeiling || is.OffsetCeiling <= is.BaseOffset):
		w.fail("a loss that doesn't fit: %+v", *was)
	}
	if was.Reassigning() && !is.Reassigning() {
		w.count("reassigned")
		w.checkReassigned(was, is)
	}
	r := w.records[id]
	if is.LossGeneration != was.LossGeneration {
		w.checkLoss(t, was)
		*r = records{generation: is.LossGeneration, has: make(map[metadata.Member]int)}
		for _, p := range w.processes {
			delete(p.proposals, id)
		}
	}
	if is.Leader != metadata.NoBroker && is.LeaderEpoch != was.LeaderEpoch {
		w.checkElection(was, is, r)
	}
	for _, m := range is.ISRMembers() {
		if w.img.Void(m) && was.InISR(m.Broker) != m.Incarnation {
			w.fail("%v came into the ISR, and is void", m)
		}
		w.checkHas(r, m, "is in the ISR")
	}
	for _, m := range is.ELRMembers() {
		w.checkHas(r, m, "is in the ELR")
	}
}

// checkReassigned: whoever was added has copied everything, if the reassignment came to
// its end by itself, and not because brokers are gone.
func (w *walk) checkReassigned(was, is *metadata.Partition) {
	gone := func(id int32) bool { return w.img.Broker(id) == nil }
	if !w.natural || is.LossGeneration != was.LossGeneration || slices.ContainsFunc(was.Replicas, gone) {
		return
	}
	for _, id := range was.Adding {
		if is.InISR(id) == 0 {
			w.fail("the reassignment ended without broker %d: %+v", id, *was)
		}
	}
}

// checkHas: whoever may be elected has everything that was committed, if it has its
// RAM.
func (w *walk) checkHas(r *records, m metadata.Member, why string) {
	if p := w.processes[m.Broker]; p != nil && p.alive && p.life == m.Incarnation && r.has[m] < r.committed {
		w.fail("%v %s and has %d of %d records", m, why, r.has[m], r.committed)
	}
}

// checkLoss: records are declared lost when all who may have them are void, or somebody
// wants it so.
func (w *walk) checkLoss(t *metadata.Topic, was *metadata.Partition) {
	for _, m := range append(was.ISRMembers(), was.ELRMembers()...) {
		if w.img.Void(m) {
			continue
		}
		if !w.unclean && !w.Policy.asOf(w.img).unclean(w.img.TopicByID(t.ID).Configs) {
			w.fail("a loss was declared while %v may have everything", m)
		}
		w.count("unclean loss")
		return
	}
	w.count("loss")
}

func (w *walk) checkElection(was, is *metadata.Partition, r *records) {
	leader := is.LeaderMember()
	lost := is.LossGeneration != was.LossGeneration
	if !w.img.Live(leader) {
		w.fail("%v was elected, and is fenced or void", leader)
	}
	fromISR := was.InISR(leader.Broker) == leader.Incarnation
	fromELR := was.InELR(leader.Broker) == leader.Incarnation
	if !fromISR && !fromELR && !lost {
		w.fail("%v was elected, who was neither in the ISR nor in the ELR: %+v", leader, *was)
	}
	w.checkHas(r, leader, "was elected")
	w.count("election")
	if fromELR && !lost {
		w.count("ELR election")
	}
	if w.natural && fromISR && !lost && slices.Equal(was.Replicas, is.Replicas) {
		w.checkTurn(was, leader)
	}
}

// checkTurn: it is the turn of whoever comes after the failed leader.
func (w *walk) checkTurn(was *metadata.Partition, leader metadata.Member) {
	n := len(was.Replicas)
	last := slices.Index(was.Replicas, was.Leader)
	turn := metadata.NoMember
	for k := range n {
		id := was.Replicas[(last+1+k)%n]
		m := metadata.Member{Broker: id, Incarnation: was.InISR(id)}
		if !w.img.Live(m) {
			continue
		}
		if turn == metadata.NoMember || w.img.Broker(turn.Broker).Draining && !w.img.Broker(id).Draining {
			turn = m
		}
	}
	if turn != leader {
		w.fail("%v was elected, and it was the turn of %v after %v", leader, turn, *was)
	}
}
