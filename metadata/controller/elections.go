package controller

import (
	"slices"

	"millrace/metadata"
)

// ElectLeaders plans elections that somebody asks for (KIP-460). With all
// partitions asked for, those that need none have no result; else there is one for
// each that is named, in the order of the first mention.
//
// A preferred election makes the first replica the leader, which has to be in the
// ISR. An unclean one is for a partition without a leader: whoever is live leads, and if
// none of them is known to have everything, the records are declared lost. That is
// what makes it unclean here: no offset is ever given a second record, and
// what a replica has left isn't taken for more than it is.
//
// Errors: ErrUnknownTopic, ErrElectionNotNeeded, ErrPreferredLeaderNotAvailable,
// ErrEligibleLeadersNotAvailable.
func (p Policy) ElectLeaders(img *metadata.Image, spec metadata.ElectionSpec) ([]metadata.Delta, []metadata.ElectionResult) {
	j := p.judge(img)
	var deltas []metadata.Delta
	var results []metadata.ElectionResult
	elect := func(t *metadata.Topic, index int32, all bool) {
		next, err := j.electOne(t, &t.Partitions[index], spec.Type)
		if err == nil {
			deltas = append(deltas, changedTo(t, index, next))
		} else if all && err.Kind == metadata.ErrElectionNotNeeded {
			return
		}
		results = append(results, electionResult(metadata.PartitionRef{Topic: t.Name, Partition: index}, err))
	}
	if spec.Partitions == nil {
		for _, t := range img.Topics() {
			for i := range t.Partitions {
				elect(t, int32(i), true)
			}
		}
		return deltas, results
	}
	seen := make(map[metadata.PartitionRef]struct{}, len(spec.Partitions))
	for _, ref := range spec.Partitions {
		if _, twice := seen[ref]; twice {
			continue
		}
		seen[ref] = struct{}{}
		if t, err := findPartition(img, ref); err != nil {
			results = append(results, metadata.ElectionResult{PartitionRef: ref, Err: err})
		} else {
			elect(t, ref.Partition, false)
		}
	}
	return deltas, results
}

// electionResult keeps a nil *Error from becoming an error that isn't nil.
func electionResult(ref metadata.PartitionRef, err *metadata.Error) metadata.ElectionResult {
	if err == nil {
		return metadata.ElectionResult{PartitionRef: ref}
	}
	return metadata.ElectionResult{PartitionRef: ref, Err: err}
}

func findPartition(img *metadata.Image, ref metadata.PartitionRef) (*metadata.Topic, error) {
	t := img.Topic(ref.Topic)
	if t == nil {
		return nil, errUnknownTopic(ref.Topic)
	}
	if ref.Partition < 0 || int(ref.Partition) >= len(t.Partitions) {
		return nil, errUnknownPartition(ref)
	}
	return t, nil
}

func (j *judge) electOne(t *metadata.Topic, p *metadata.Partition, kind metadata.ElectionType) (metadata.Partition, *metadata.Error) {
	switch kind {
	case metadata.ElectPreferred:
		if p.Leader == p.Replicas[0] && j.img.LeaderOf(p) == p.Leader {
			return *p, metadata.Errorf(metadata.ErrElectionNotNeeded, "The preferred leader, broker %d, leads.", p.Leader)
		}
		d := j.draft(p, false)
		if !d.prefer() {
			return *p, metadata.Errorf(metadata.ErrPreferredLeaderNotAvailable, "The preferred leader, broker %d, isn't in the ISR, or is about to leave.", p.Replicas[0])
		}
		next, _ := d.finish()
		return next, nil
	case metadata.ElectUnclean:
		if leader := j.img.LeaderOf(p); leader != metadata.NoBroker {
			return *p, metadata.Errorf(metadata.ErrElectionNotNeeded, "Broker %d leads.", leader)
		}
		d := j.draft(p, true)
		d.settle()
		if next, _ := d.finish(); next.Leader != metadata.NoBroker {
			return next, nil
		}
		return *p, metadata.Errorf(metadata.ErrEligibleLeadersNotAvailable, "None of the replicas is live.")
	}
	return *p, metadata.Errorf(metadata.ErrInvalidRequest, "Unknown type of election: %d.", kind)
}

// prefer makes the preferred replica the leader, if it can lead.
func (d *draft) prefer() bool {
	first := d.next.Replicas[0]
	m, inSync := memberOf(d.isr, first)
	if !inSync || !d.img.Live(m) || d.img.Broker(first).Draining {
		return false
	}
	d.lead(first)
	return true
}

// BalanceLeaders plans that up to most partitions whose preferred leader is
// back in the ISR are led by it again, the brokers taking turns. One that has still
// replicas to catch up with gets none: it has enough to do. It tells how
// many are left; most ≤ 0: no limit. To be called again until nothing is left, so that
// clients aren't all sent elsewhere at once.
func (p Policy) BalanceLeaders(img *metadata.Image, most int) (deltas []metadata.Delta, left int) {
	j := p.judge(img)
	byBroker := make(map[int32][]metadata.Delta)
	behind := j.behind()
	for _, t := range img.Topics() {
		for i := range t.Partitions {
			old := &t.Partitions[i]
			first := old.Replicas[0]
			if old.Leader == first || old.Leader == metadata.NoBroker || behind[first] {
				continue
			}
			d := j.draft(old, false)
			if !d.prefer() {
				continue
			}
			next, _ := d.finish()
			byBroker[first] = append(byBroker[first], changedTo(t, int32(i), next))
			left++
		}
	}
	if most <= 0 {
		most = left
	}
	for round := 0; len(deltas) < min(most, left); round++ {
		for _, b := range img.Brokers() {
			if turn := byBroker[b.ID]; round < len(turn) && len(deltas) < most {
				deltas = append(deltas, turn[round])
			}
		}
	}
	return deltas, left - len(deltas)
}

// behind are the live brokers that aren't in the ISR of all their replicas, those not
// counted that a reassignment brings.
func (j *judge) behind() map[int32]bool {
	behind := make(map[int32]bool)
	for _, t := range j.img.Topics() {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			if len(p.ISR) == len(p.Replicas) {
				continue
			}
			for _, id := range p.Replicas {
				if p.InISR(id) == 0 && !slices.Contains(p.Adding, id) {
					behind[id] = true
				}
			}
		}
	}
	return behind
}

// leaveLead elects another active member of the ISR than id; false: there is none.
func (d *draft) leaveLead(id int32) bool {
	ok := func(other int32) bool {
		m, inSync := memberOf(d.isr, other)
		return other != id && inSync && d.img.Live(m) && !d.img.Broker(other).Draining
	}
	if !slices.ContainsFunc(d.next.Replicas, ok) {
		return false
	}
	d.lead(d.choose(ok))
	return true
}
