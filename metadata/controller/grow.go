package controller

import (
	"slices"

	"millrace/metadata"
)

// internalMinISR is min.insync.replicas of internal topics where there are more brokers:
// what a coordinator has acknowledged survives the death of any one broker, and that death
// doesn't stop the coordinators. It counts brokers that are registered, dead or not: one
// that is removed for good takes its claim along, so that the last of three still works.
const internalMinISR = 2

// GrowInternal plans more replicas for internal topics that have fewer than
// InternalReplicationFactor although there are brokers for more: a cluster of one
// broker works out of the box, and what it was missing is made up for when others join.
// The new replicas copy beside the old ones, as in any reassignment. A partition
// is passed over while another reassignment of it is under way, or nobody leads it;
// so GrowInternal is to be planned again when brokers or these partitions have changed.
// It is planned on an image that is settled.
func (p Policy) GrowInternal(img *metadata.Image) (deltas []metadata.Delta) {
	factor := p.internalFactor(img)
	j := p.judge(img)
	for _, name := range metadata.InternalTopics() {
		if t := img.Topic(name); t != nil {
			deltas = append(deltas, j.grow(t, factor)...)
		}
	}
	return deltas
}

// internalFactor is how many replicas internal topics are to have now.
func (p Policy) internalFactor(img *metadata.Image) int {
	active := 0
	for _, b := range img.Brokers() {
		if b.Active() {
			active++
		}
	}
	factor := min(int(p.InternalReplicationFactor), active)
	if p.ReplicationFactorMax > 0 {
		factor = min(factor, int(p.ReplicationFactorMax))
	}
	return factor
}

func (j *judge) grow(t *metadata.Topic, factor int) (deltas []metadata.Delta) {
	short := func(p metadata.Partition) bool {
		return len(p.Replicas) < factor && !p.Reassigning() && j.img.LeaderOf(&p) != metadata.NoBroker
	}
	if !slices.ContainsFunc(t.Partitions, short) {
		return nil
	}
	preferred := make(map[int32]int) // how many partitions have the broker as their preferred leader
	for i := range t.Partitions {
		preferred[t.Partitions[i].Replicas[0]]++
	}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		if !short(*p) {
			continue
		}
		targets := j.longer(p.Replicas, factor)
		share(targets, len(p.Replicas), preferred)
		d := j.draft(p, j.unclean(t.Configs))
		d.reassign(p.Replicas, targets)
		d.settle()
		if next, changed := d.finish(); changed {
			deltas = append(deltas, changedTo(t, int32(i), next))
		}
	}
	return deltas
}

// longer adds active brokers until there are factor replicas, or no more brokers.
func (j *judge) longer(replicas []int32, factor int) []int32 {
	replicas = slices.Clone(replicas)
	for len(replicas) < factor {
		b := j.placement().instead(j.img, replicas, -1)
		if b == nil {
			break
		}
		replicas = append(replicas, b.ID)
	}
	return replicas
}

// share puts one of the new replicas, those from index added on, in front if it is preferred
// in fewer partitions: else the brokers that came later would lead nothing.
func share(replicas []int32, added int, preferred map[int32]int) {
	at := 0
	for i := added; i < len(replicas); i++ {
		if preferred[replicas[i]]+1 < preferred[replicas[0]] && (at == 0 || preferred[replicas[i]] < preferred[replicas[at]]) {
			at = i
		}
	}
	preferred[replicas[0]]--
	replicas[0], replicas[at] = replicas[at], replicas[0]
	preferred[replicas[0]]++
}
