package controller

import (
	"slices"

	"millrace/metadata"
)

// AlterPartitions plans what leaders ask for: other ISRs, higher offset ceilings
// (KIP-497, KIP-903). from is the leader, in its life. There is one result for
// each spec, in order. What is granted is granted to the letter, and raises the
// partition epoch also when it changes nothing: so a leader knows from an answer
// without an error what the state is. Settle plans what follows from it, a
// reassignment that is complete now (Reassigned tells).
//
// The errors, in the order of the checks:
//   - ErrUnknownTopicID, ErrUnknownTopic (no such partition)
//   - ErrNotController: the leader knows more than this image does
//   - ErrStaleBrokerEpoch: the leader registered again, or isn't registered
//   - ErrFencedLeaderEpoch: there was an election since
//   - ErrInvalidRequest: from isn't the leader, the ISR is not made of replicas, lacks the
//     leader, or the offset ceiling would fall
//   - ErrInvalidUpdateVersion: the state has changed since
//   - ErrIneligibleReplica: a member isn't registered in that life, or fenced; or one
//     that would join is draining
func (p Policy) AlterPartitions(img *metadata.Image, from metadata.Member, specs []metadata.AlterPartitionSpec) ([]metadata.Delta, []metadata.AlterPartitionResult) {
	j := p.judge(img)
	var deltas []metadata.Delta
	results := make([]metadata.AlterPartitionResult, len(specs))
	seen := make(map[PartitionID]struct{}, len(specs))
	for i := range specs {
		spec, r := &specs[i], &results[i]
		r.Topic, r.Partition = spec.Topic, spec.Partition
		id := PartitionID{spec.Topic, spec.Partition}
		t := img.TopicByID(spec.Topic)
		if t != nil && spec.Partition >= 0 && int(spec.Partition) < len(t.Partitions) {
			r.State = t.Partitions[spec.Partition]
		}
		if _, twice := seen[id]; twice {
			r.Err = metadata.Errorf(metadata.ErrInvalidRequest, "Partition %d is named twice.", spec.Partition)
			continue
		}
		seen[id] = struct{}{}
		if r.Err = j.checkAlter(t, from, spec); r.Err != nil {
			continue
		}
		d := j.draft(&t.Partitions[spec.Partition], false)
		d.setISR(spec.ISR)
		d.next.OffsetCeiling = max(d.next.OffsetCeiling, spec.OffsetCeiling)
		next, changed := d.finish()
		if !changed {
			next.PartitionEpoch++
			next.Revision = 0
		}
		r.State = next
		deltas = append(deltas, changedTo(t, spec.Partition, next))
	}
	return deltas, results
}

func (j *judge) checkAlter(t *metadata.Topic, from metadata.Member, spec *metadata.AlterPartitionSpec) error {
	if t == nil {
		return metadata.Errorf(metadata.ErrUnknownTopicID, "There is no topic with the id %v.", spec.Topic)
	}
	if spec.Partition < 0 || int(spec.Partition) >= len(t.Partitions) {
		return errUnknownPartition(metadata.PartitionRef{Topic: t.Name, Partition: spec.Partition})
	}
	p := &t.Partitions[spec.Partition]
	if spec.LeaderEpoch > p.LeaderEpoch || spec.PartitionEpoch > p.PartitionEpoch {
		return metadata.Errorf(metadata.ErrNotController, "The epochs %d and %d are newer than what is known here, %d and %d.",
			spec.LeaderEpoch, spec.PartitionEpoch, p.LeaderEpoch, p.PartitionEpoch)
	}
	if j.img.Void(from) {
		return metadata.Errorf(metadata.ErrStaleBrokerEpoch, "%v isn't registered.", from)
	}
	if spec.LeaderEpoch < p.LeaderEpoch {
		return metadata.Errorf(metadata.ErrFencedLeaderEpoch, "The leader epoch is %d, not %d.", p.LeaderEpoch, spec.LeaderEpoch)
	}
	if !p.LedBy(from) {
		return metadata.Errorf(metadata.ErrInvalidRequest, "%v isn't the leader, but %v.", from, p.LeaderMember())
	}
	if spec.PartitionEpoch < p.PartitionEpoch {
		return metadata.Errorf(metadata.ErrInvalidUpdateVersion, "The partition epoch is %d, not %d.", p.PartitionEpoch, spec.PartitionEpoch)
	}
	if spec.OffsetCeiling != 0 && spec.OffsetCeiling < p.OffsetCeiling {
		return metadata.Errorf(metadata.ErrInvalidRequest, "The offset ceiling can't fall from %d to %d.", p.OffsetCeiling, spec.OffsetCeiling)
	}
	return j.checkISR(p, from, spec.ISR)
}

func (j *judge) checkISR(p *metadata.Partition, leader metadata.Member, isr []metadata.Member) error {
	for i, m := range isr {
		if !p.HasReplica(m.Broker) {
			return metadata.Errorf(metadata.ErrInvalidRequest, "The ISR can't have broker %d, which isn't a replica.", m.Broker)
		}
		if _, twice := memberOf(isr[:i], m.Broker); twice {
			return metadata.Errorf(metadata.ErrInvalidRequest, "The ISR has broker %d twice.", m.Broker)
		}
	}
	if !slices.Contains(isr, leader) {
		return metadata.Errorf(metadata.ErrInvalidRequest, "The ISR has to include the leader, %v.", leader)
	}
	for _, m := range isr {
		if why := j.ineligible(p, m); why != "" {
			return metadata.Errorf(metadata.ErrIneligibleReplica, "%v can't be in the ISR: it is %s.", m, why)
		}
	}
	return nil
}

// ineligible says why m can't be in the ISR of p; "" if it can.
func (j *judge) ineligible(p *metadata.Partition, m metadata.Member) string {
	b := j.img.Broker(m.Broker)
	switch {
	case b == nil:
		return "not registered"
	case b.Incarnation != m.Incarnation:
		return "of another life than the one that is registered"
	case b.Fenced:
		return "fenced"
	case b.Draining && p.InISR(m.Broker) != m.Incarnation:
		return "draining"
	}
	return ""
}

func errUnknownPartition(ref metadata.PartitionRef) error {
	return metadata.Errorf(metadata.ErrUnknownTopic, "There is no partition %s-%d.", ref.Topic, ref.Partition)
}
