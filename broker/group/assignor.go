package group

import (
	"cmp"
	"slices"
	"strings"
)

// The server's assignors: who reads which partition. Both look at the last target, not at what members have right now.

// The names of the assignors, as in group.consumer.assignors.
const (
	AssignorUniform = "uniform"
	AssignorRange   = "range"
)

// preferredAssignor is the one that most members ask for; if nobody asks, or as many for another, the first in the list.
func (c *consumerGroup) preferredAssignor(assignors []string) string {
	votes := map[string]int{}
	for _, x := range c.members {
		votes[x.assignor]++
	}
	best := AssignorUniform
	if len(assignors) > 0 {
		best = assignors[0]
	}
	for _, name := range assignors {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// assign computes a target for each member, in their order.
func (c *consumerGroup) assign(assignor string) []partitions {
	a := &assignment{topics: c.topics, members: c.members, targets: make([]partitions, len(c.members))}
	switch {
	case assignor == AssignorRange:
		a.byRange()
	case a.homogeneous():
		a.uniform()
	default:
		a.uniformMixed()
	}
	for i := range a.targets {
		a.targets[i] = partitionSet(a.targets[i])
	}
	return a.targets
}

// assignment is one run of an assignor.
type assignment struct {
	topics  map[string]Topic
	members []*consumer
	targets []partitions // of each member; unsorted while it is made
}

func (a *assignment) homogeneous() bool {
	return !slices.ContainsFunc(a.members, func(x *consumer) bool { return !slices.Equal(x.reads, a.members[0].reads) })
}

// byRange gives each member a range of each topic that it reads, the same range of topics of the same size. Static members come
// first, in the order of their instance ids, so that they have the same ranges after a restart.
func (a *assignment) byRange() {
	order := make([]int, len(a.members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := a.members[i].instanceID, a.members[j].instanceID
		switch {
		case x != nil && y != nil:
			return strings.Compare(*x, *y)
		case x != nil:
			return -1
		case y != nil:
			return 1
		}
		return 0 // by id, as they are
	})
	readers := map[string]int32{}
	for _, x := range a.members {
		for _, name := range x.reads {
			readers[name]++
		}
	}
	given, before := map[string]int32{}, map[string]int32{} // partitions given, members served
	for _, i := range order {
		for _, name := range a.members[i].reads {
			t := a.topics[name]
			n := t.Partitions / readers[name]
			if before[name] < t.Partitions%readers[name] {
				n++
			}
			before[name]++
			for ; n > 0; n-- {
				a.targets[i] = append(a.targets[i], TopicPartition{t.ID, given[name]})
				given[name]++
			}
		}
	}
}

// uniform serves members that all read the same: everybody gets as many partitions as the others, give or take one, and keeps
// what it had up to that number. Those who have most already are the ones with one more, so that the least moves.
func (a *assignment) uniform() {
	if len(a.members) == 0 {
		return
	}
	all, had := a.wanted(a.members[0].reads), make([]partitions, len(a.members))
	order := make([]int, len(a.members))
	taken := map[TopicPartition]bool{}
	for i, x := range a.members {
		order[i] = i
		had[i] = x.target.filter(func(p TopicPartition) bool { return all.has(p) && !taken[p] })
		for _, p := range had[i] {
			taken[p] = true
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(len(had[j]), len(had[i])) })
	quota, extra := len(all)/len(a.members), len(all)%len(a.members)
	quotas := make([]int, len(a.members))
	for n, i := range order {
		quotas[i] = quota
		if n < extra {
			quotas[i]++
		}
		for _, p := range had[i][min(quotas[i], len(had[i])):] {
			delete(taken, p)
		}
		a.targets[i] = slices.Clone(had[i][:min(quotas[i], len(had[i]))])
	}
	free := all.filter(func(p TopicPartition) bool { return !taken[p] })
	for i := range a.members {
		n := min(quotas[i]-len(a.targets[i]), len(free))
		a.targets[i] = append(a.targets[i], free[:n]...)
		free = free[n:]
	}
}

// wanted are all partitions of some topics.
func (a *assignment) wanted(names []string) partitions {
	var all []TopicPartition
	for _, name := range names {
		t := a.topics[name]
		for p := range t.Partitions {
			all = append(all, TopicPartition{t.ID, p})
		}
	}
	return partitionSet(all)
}

// uniformMixed serves members that read different topics. Each keeps what it had and still reads; what is free goes to the reader
// with least, the topics with the fewest readers first, for they have the least choice; then partitions move from readers with
// more to readers with less, as long as that makes a difference of two or more smaller.
func (a *assignment) uniformMixed() {
	readers := map[string][]int{}
	for i, x := range a.members {
		for _, name := range x.reads {
			readers[name] = append(readers[name], i)
		}
	}
	names := make([]string, 0, len(readers))
	for name := range readers {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(len(readers[x]), len(readers[y])), strings.Compare(x, y))
	})
	load, owner := make([]int, len(a.members)), map[TopicPartition]int{}
	for i, x := range a.members {
		reads := a.wanted(x.reads)
		for _, p := range x.target {
			if _, taken := owner[p]; !taken && reads.has(p) {
				owner[p] = i
				load[i]++
			}
		}
	}
	for _, name := range names {
		a.level(a.topics[name], readers[name], load, owner, false)
	}
	for moved := true; moved; { // each move makes the sum of the squares of the loads smaller, so it ends
		moved = false
		for _, name := range names {
			moved = a.level(a.topics[name], readers[name], load, owner, true) || moved
		}
	}
	for p, i := range owner {
		a.targets[i] = append(a.targets[i], p)
	}
}

// level gives free partitions of a topic to its reader with least, or moves those that are taken where that evens out.
func (a *assignment) level(t Topic, readers, load []int, owner map[TopicPartition]int, move bool) (moved bool) {
	for index := range t.Partitions {
		p := TopicPartition{t.ID, index}
		least := slices.MinFunc(readers, func(i, j int) int { return cmp.Compare(load[i], load[j]) })
		has, taken := owner[p]
		switch {
		case !taken && !move:
		case taken && move && load[has] > load[least]+1:
			load[has]--
		default:
			continue
		}
		owner[p] = least
		load[least]++
		moved = true
	}
	return moved
}
