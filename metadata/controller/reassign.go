package controller

import (
	"slices"

	"millrace/metadata"
)

// AlterReassignments plans other replicas for partitions (KIP-455). There is one
// result for each partition, in the order of the first mention; one that is named
// twice is refused. New replicas are added beside the old ones, and copy; when the
// targets are in the ISR, Settle ends it. Another assignment takes the place of one
// that is under way. Without allowFactorChange a partition keeps its number of
// replicas (KIP-860).
//
// Errors: ErrUnknownTopic, ErrInvalidReplicaAssignment, ErrInvalidReplicationFactor,
// ErrNoReassignmentInProgress, ErrInvalidRequest.
func (p Policy) AlterReassignments(img *metadata.Image, specs []metadata.ReassignmentSpec, allowFactorChange bool) ([]metadata.Delta, []metadata.ReassignmentResult) {
	duplicates := repeated(specs, func(s metadata.ReassignmentSpec) metadata.PartitionRef { return s.PartitionRef })
	j := p.judge(img)
	var deltas []metadata.Delta
	results := make([]metadata.ReassignmentResult, 0, len(specs))
	for i := range specs {
		spec := &specs[i]
		again, twice := duplicates[spec.PartitionRef]
		if again {
			continue
		}
		var err error
		if twice {
			duplicates[spec.PartitionRef] = true
			err = metadata.Errorf(metadata.ErrInvalidRequest, "Each partition must appear at most once.")
		} else {
			var delta metadata.Delta
			if delta, err = j.reassign(spec, allowFactorChange); delta != nil {
				deltas = append(deltas, delta)
			}
		}
		results = append(results, metadata.ReassignmentResult{PartitionRef: spec.PartitionRef, Err: err})
	}
	return deltas, results
}

// reassign returns nil if nothing changes.
func (j *judge) reassign(spec *metadata.ReassignmentSpec, allowFactorChange bool) (metadata.Delta, error) {
	t, err := findPartition(j.img, spec.PartitionRef)
	if err != nil {
		return nil, err
	}
	p := &t.Partitions[spec.Partition]
	before := without(p.Replicas, func(id int32) bool { return slices.Contains(p.Adding, id) })
	d := j.draft(p, j.unclean(t.Configs))
	switch {
	case spec.Replicas != nil:
		if err := j.checkTargets(p, before, spec.Replicas, allowFactorChange); err != nil {
			return nil, err
		}
		d.reassign(before, slices.Clone(spec.Replicas))
	case !p.Reassigning():
		return nil, metadata.Errorf(metadata.ErrNoReassignmentInProgress, "No reassignment of %s-%d is under way.", t.Name, spec.Partition)
	default:
		d.reassign(before, before)
	}
	if !d.unclean && d.abandons(p) {
		return nil, metadata.Errorf(metadata.ErrInvalidReplicaAssignment,
			"Unable to change the replicas of %s-%d now: of those that would be left too few are in sync.", t.Name, spec.Partition)
	}
	d.settle()
	if next, changed := d.finish(); changed {
		return changedTo(t, spec.Partition, next), nil
	}
	return nil, nil
}

// abandons tells whether the draft gives up a replica that has all that is committed while
// too few others are in sync. Apache Kafka refuses only to give up the last one. Here
// min.insync.replicas is a number of copies, and what is taken off is gone at once.
func (d *draft) abandons(p *metadata.Partition) bool {
	had := 0
	for _, m := range append(p.ISRMembers(), p.ELRMembers()...) {
		if !d.img.Void(m) {
			had++
		}
	}
	return len(d.isr) < d.next.MinISR() && len(d.isr)+len(d.elr) < had
}

func (j *judge) checkTargets(p *metadata.Partition, before, targets []int32, allowFactorChange bool) error {
	if len(targets) == 0 {
		return metadata.Errorf(metadata.ErrInvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	if err := j.checkReplicas(j.img, targets, len(targets)); err != nil {
		return err
	}
	was := without(before, func(id int32) bool { return slices.Contains(p.Removing, id) })
	if now := len(was) + len(p.Adding); !allowFactorChange && len(targets) != now {
		return metadata.Errorf(metadata.ErrInvalidReplicationFactor,
			"The replication factor is changed from %d to %d.", now, len(targets))
	}
	return nil
}

// reassign sets out from the replicas before, to targets. What an earlier reassignment
// was adding, and this one doesn't, goes at once.
func (d *draft) reassign(before, targets []int32) {
	in := func(list []int32) func(int32) bool { return func(id int32) bool { return slices.Contains(list, id) } }
	adding, removing := without(targets, in(before)), without(before, in(targets))
	d.next.Replicas = slices.Concat(targets, removing)
	d.next.Adding, d.next.Removing = adding, removing
	d.setISR(slices.DeleteFunc(slices.Clone(d.isr), func(m metadata.Member) bool { return !d.next.HasReplica(m.Broker) || !d.img.Live(m) }))
}

// Reassigned tells whether the reassignment of p is complete, so that Settle would
// end it.
func (p Policy) Reassigned(img *metadata.Image, state *metadata.Partition) bool {
	if !state.Reassigning() {
		return false
	}
	d := p.judge(img).draft(state, false)
	d.complete()
	return !d.next.Reassigning()
}

// Reassignments lists those that are under way (ListPartitionReassignments); refs
// nil: of all partitions. Partitions without one, or that don't exist, are left out.
func Reassignments(img *metadata.Image, refs []metadata.PartitionRef) (list []metadata.Reassignment) {
	add := func(t *metadata.Topic, index int32) {
		if p := &t.Partitions[index]; p.Reassigning() {
			list = append(list, metadata.Reassignment{
				PartitionRef: metadata.PartitionRef{Topic: t.Name, Partition: index},
				Replicas:     p.Replicas, Adding: p.Adding, Removing: p.Removing,
			})
		}
	}
	if refs == nil {
		for _, t := range img.Topics() {
			for i := range t.Partitions {
				add(t, int32(i))
			}
		}
		return list
	}
	seen := make(map[metadata.PartitionRef]struct{}, len(refs))
	for _, ref := range refs {
		if _, twice := seen[ref]; twice {
			continue
		}
		seen[ref] = struct{}{}
		if t, err := findPartition(img, ref); err == nil {
			add(t, ref.Partition)
		}
	}
	return list
}
