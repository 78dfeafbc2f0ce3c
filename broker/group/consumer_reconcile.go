package group

import "slices"

// How a member is led from what it has to its part of the target assignment (CurrentAssignmentBuilder of Kafka).

// reconcile moves a member as far as it can go now. owned are the partitions that it says it has, nil if it says nothing. It
// tells whether anything is new.
func (c *consumerGroup) reconcile(x *consumer, owned *partitions) bool {
	if x.isReconciledTo(c.assignmentEpoch) {
		return false
	}
	switch x.state {
	case consumerStable:
		return c.advance(x, x.epoch, owned)
	case consumerUnrevoked:
		if owns(owned, x.revoking) {
			return false
		}
		// It has given up what it should, and comes into the next epoch; from there on to the latest target.
		return c.advance(x, x.epoch+1, owned)
	default:
		return c.advance(x, x.epoch, owned)
	}
}

// owns tells whether a member may still have some of these. Saying nothing counts as yes.
func owns(owned *partitions, some partitions) bool {
	return owned == nil || slices.ContainsFunc(some, owned.has)
}

func (c *consumerGroup) advance(x *consumer, epoch int32, owned *partitions) bool {
	before := *x
	keep := x.assigned.intersect(x.target)
	giveUp := x.assigned.minus(keep)
	missing := x.target.minus(keep)
	// What it has given up and is to have again is free for itself.
	free := missing.filter(func(p TopicPartition) bool { return c.owners[p] == nil || c.owners[p] == x })
	switch {
	case len(giveUp) > 0 && owns(owned, giveUp):
		// It stays in its epoch until it says that it has given these up.
		x.state = consumerUnrevoked
		c.hold(x, keep, giveUp)
	default:
		epoch = c.assignmentEpoch
		x.state = consumerStable
		if len(free) < len(missing) {
			x.state = consumerUnreleased
		}
		c.hold(x, keep.union(free), nil)
	}
	if epoch != x.epoch {
		x.previousEpoch, x.epoch = x.epoch, epoch
	}
	x.remember()
	return x.epoch != before.epoch || x.state != before.state || !x.assigned.equal(before.assigned) ||
		!x.revoking.equal(before.revoking)
}

// remember notes since when the member has what it has.
func (x *consumer) remember() {
	since := make(map[TopicPartition]int32, len(x.assigned)+len(x.revoking))
	for _, has := range []partitions{x.assigned, x.revoking} {
		for _, p := range has {
			since[p] = x.epoch
			if epoch, before := x.since[p]; before {
				since[p] = epoch
			}
		}
	}
	x.since = since
}
