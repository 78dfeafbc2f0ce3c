package controller

import (
	"slices"

	"millrace/metadata"
)

// judge decides about partitions in one situation of the cluster.
type judge struct {
	Policy
	img   *metadata.Image // with whatever was planned so far
	place *placement      // nil until somebody is to be placed
}

func (p Policy) judge(img *metadata.Image) *judge { return &judge{Policy: p.asOf(img), img: img} }

func (j *judge) placement() *placement {
	if j.place == nil {
		place := newPlacement(j.img)
		j.place = &place
	}
	return j.place
}

// draft is a partition's next state in the making. Its steps keep the rules
// between them; finish tells whether anything came of it.
type draft struct {
	*judge
	unclean bool // unclean.leader.election.enable of the topic

	old  *metadata.Partition
	next metadata.Partition // but for ISR and ELR, which are here:
	isr  []metadata.Member
	elr  []metadata.Member

	elected bool // it was decided here who leads, or that nobody does
}

func (j *judge) draft(old *metadata.Partition, unclean bool) *draft {
	d := &draft{judge: j, unclean: unclean, old: old, next: *old, isr: old.ISRMembers(), elr: old.ELRMembers()}
	d.next.Revision = 0
	return d
}

// finish returns the next state, and whether it differs from the old one.
func (d *draft) finish() (next metadata.Partition, changed bool) {
	if d.elected || slices.ContainsFunc(d.old.Replicas, func(id int32) bool { return !d.next.HasReplica(id) }) {
		// A replica that is taken off may come back with an empty log, in the same life. In
		// the leader's eyes it would still be where it was, but for the new epoch.
		d.next.LeaderEpoch++
	}
	d.next.SetISR(d.isr)
	d.next.SetELR(d.elr)
	same := d.next
	same.Revision = d.old.Revision
	if same.Equal(d.old) {
		return *d.old, false
	}
	d.next.PartitionEpoch++
	return d.next, true
}

// setISR makes isr the ISR, in the order of the replicas, and says what follows
// for the ELR: while the ISR has too few members, nothing is committed, so who
// leaves it has all that is committed, and goes on having it until his RAM is gone.
// As soon as there are enough, the next commit passes by whoever is out.
func (d *draft) setISR(isr []metadata.Member) {
	had := slices.Concat(d.isr, d.elr)
	d.isr, d.elr = nil, nil
	short := len(isr) < d.next.MinISR()
	for _, id := range d.next.Replicas {
		if m, ok := memberOf(isr, id); ok {
			d.isr = append(d.isr, m)
		} else if m, ok := memberOf(had, id); ok && short && !d.img.Void(m) {
			d.elr = append(d.elr, m)
		}
	}
}

func memberOf(list []metadata.Member, id int32) (metadata.Member, bool) {
	for _, m := range list {
		if m.Broker == id {
			return m, true
		}
	}
	return metadata.NoMember, false
}

// choose goes round robin over the replicas, from the one after the last leader
// on, and takes the first that will do; one that is draining only if there is no
// other. Without a last leader it begins with the preferred one.
func (d *draft) choose(ok func(id int32) bool) int32 {
	found := metadata.NoBroker
	n := len(d.next.Replicas)
	last := slices.Index(d.next.Replicas, d.old.Leader) // −1: the first one is the next
	for k := range n {
		id := d.next.Replicas[(last+1+k)%n]
		if !ok(id) {
			continue
		}
		if d.img.Broker(id).Active() {
			return id
		}
		if found == metadata.NoBroker {
			found = id
		}
	}
	return found
}

func (d *draft) lead(id int32) {
	d.next.Leader, d.elected = id, true
}

// electISR elects a live member of the ISR.
func (d *draft) electISR() bool {
	id := d.choose(func(id int32) bool {
		m, ok := memberOf(d.isr, id)
		return ok && d.img.Live(m)
	})
	if id == metadata.NoBroker {
		return false
	}
	d.lead(id)
	return true
}

// electELR elects a live member of the ELR, which is the ISR then.
func (d *draft) electELR() bool {
	id := d.choose(func(id int32) bool {
		m, ok := memberOf(d.elr, id)
		return ok && d.img.Live(m)
	})
	if id == metadata.NoBroker {
		return false
	}
	m, _ := memberOf(d.elr, id)
	d.setISR([]metadata.Member{m})
	d.lead(id)
	return true
}

// lose declares that the records are lost, if there is anybody to begin anew:
// every replica that is live, all with the same empty log. A reassignment is
// complete with that, since there is nothing to copy.
func (d *draft) lose() bool {
	replicas := d.targets()
	live := d.live(replicas)
	if len(live) == 0 {
		replicas = d.next.Replicas
		live = d.live(replicas)
	} else {
		d.next.Adding, d.next.Removing = nil, nil
	}
	if len(live) == 0 {
		return false
	}
	d.replace(replicas)
	d.next.Lose()
	d.isr, d.elr = nil, nil
	d.setISR(live)
	return d.electISR()
}

// live returns those of the replicas that are, in their present life.
func (d *draft) live(replicas []int32) (live []metadata.Member) {
	for _, id := range replicas {
		if b := d.img.Broker(id); b != nil && !b.Fenced {
			live = append(live, b.Member())
		}
	}
	return live
}

// fill gives the places of brokers that are gone for good to others that are active and
// have none; who gets one has to copy. A place stays as it is while there is nobody: the
// partition has too few replicas then, and not fewer, so that min.insync.replicas
// goes on meaning what it did.
func (d *draft) fill() {
	gone := func(id int32) bool { return d.img.Broker(id) == nil }
	if !slices.ContainsFunc(d.next.Replicas, gone) {
		return
	}
	replicas := without(d.next.Replicas, func(id int32) bool { return gone(id) && slices.Contains(d.next.Removing, id) })
	adding := slices.Clone(d.next.Adding)
	for i, id := range replicas {
		if !gone(id) {
			continue
		}
		if b := d.placement().instead(d.img, replicas, i); b != nil {
			replicas[i] = b.ID
			if k := slices.Index(adding, id); k >= 0 {
				adding[k] = b.ID
			}
		}
	}
	d.next.Adding = adding
	d.replace(replicas)
}

// targets are the replicas without those that a reassignment is going to take off.
func (d *draft) targets() []int32 {
	return without(d.next.Replicas, func(id int32) bool { return slices.Contains(d.next.Removing, id) })
}

// replace makes replicas those of the partition. Of a reassignment stays what
// still makes sense.
func (d *draft) replace(replicas []int32) {
	if slices.Equal(replicas, d.next.Replicas) {
		return
	}
	gone := func(id int32) bool { return !slices.Contains(replicas, id) }
	d.next.Replicas = replicas
	d.next.Adding = without(d.next.Adding, gone)
	d.next.Removing = without(d.next.Removing, gone)
	if len(d.next.Adding) == len(replicas) {
		d.next.Adding = nil // there is nobody beside whom they could be added
	}
}

// without returns list without those; nil if nothing is left. It doesn't write to list.
func without(list []int32, those func(id int32) bool) []int32 {
	kept := slices.DeleteFunc(slices.Clone(list), those)
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// retire elects nobody: the partition is offline.
func (d *draft) retire() {
	if d.next.Leader != metadata.NoBroker {
		d.lead(metadata.NoBroker)
	}
}
