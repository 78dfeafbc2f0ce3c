package group

import (
	"slices"
	"strings"
)

// consumerGroup is what a group of the consumer protocol (KIP-848) has beside its offsets. There are three steps between what
// the members want and what they have, each with an epoch: the group's epoch counts the changes of members, subscriptions and
// topics; the target assignment was computed for one such epoch; and each member is led towards its part of the target, and has
// the target's epoch when it may be. A member gives partitions up before another gets them.
type consumerGroup struct {
	epoch           int32
	assignmentEpoch int32

	members []*consumer // sorted by id, so that the same events have the same outcome
	byID    map[string]*consumer
	static  map[string]*consumer // by group.instance.id

	topics map[string]Topic             // that members read, by name, as of the group's epoch
	owners map[TopicPartition]*consumer // who has a partition, or has not yet said that it gave it up
	stale  bool                         // topics may have changed since resolve looked

	// owed are records that the log has refused, by their keys: they go with the next that are written.
	owed map[string]Record
}

// consumer is a member of a consumer group.
type consumer struct {
	id                 string
	instanceID         *string
	rackID             *string
	clientID           string
	clientHost         string
	rebalanceTimeoutMs int32
	names              []string // subscribed topics, sorted
	pattern            *pattern // nil: none
	assignor           string   // "": whichever

	epoch         int32
	previousEpoch int32 // the answer with the current one may have been lost
	state         consumerState
	assigned      partitions // it has them, or may take them
	revoking      partitions // it has them, and was told to give them up

	// since is the epoch from which on the member has a partition; not in the log, so a coordinator that was loaded begins anew.
	since map[TopicPartition]int32

	target partitions
	reads  []string // topics that exist, sorted

	session   timer
	rebalance timer // ends the wait for what it was told to give up
}

// consumerState is how far a member is on its way to the target assignment; the numbers are those of Kafka's records.
type consumerState int8

const (
	consumerStable     consumerState = 1
	consumerUnrevoked  consumerState = 2 // it has partitions to give up
	consumerUnreleased consumerState = 3 // it waits for partitions of others
)

// Epochs that stand for something else.
const (
	epochJoin        = 0
	epochLeave       = -1
	epochLeaveStatic = -2 // a static member that will be back
)

// newConsumerGroup begins in epoch 1, so that the first member's is 2, as in Kafka.
func newConsumerGroup() *consumerGroup {
	return &consumerGroup{
		epoch: 1, byID: map[string]*consumer{}, static: map[string]*consumer{}, owners: map[TopicPartition]*consumer{}, stale: true,
	}
}

// newConsumer makes a member and takes it in.
func (m *Machine) newConsumer(g *Group, id string) *consumer {
	x := &consumer{id: id, state: consumerStable, rebalanceTimeoutMs: -1}
	x.session.fire = func() { m.fence(g, x, "session of member "+x.id+" expired") }
	x.rebalance.fire = func() { m.fence(g, x, "member "+x.id+" did not give partitions up in time") }
	g.consumer.insert(x)
	return x
}

func (c *consumerGroup) insert(x *consumer) {
	c.members = slices.Insert(c.members, c.place(x.id), x)
	c.byID[x.id] = x
	if x.instanceID != nil {
		c.static[*x.instanceID] = x
	}
}

func (c *consumerGroup) place(id string) int {
	i, _ := slices.BinarySearchFunc(c.members, id, func(x *consumer, id string) int { return strings.Compare(x.id, id) })
	return i
}

// remove takes a member out with all that it has.
func (c *consumerGroup) remove(x *consumer) {
	c.hold(x, nil, nil)
	c.withdraw(x)
}

// withdraw is remove for a member that comes back under another id.
func (c *consumerGroup) withdraw(x *consumer) {
	i := c.place(x.id)
	c.members = slices.Delete(c.members, i, i+1)
	delete(c.byID, x.id)
	if x.instanceID != nil && c.static[*x.instanceID] == x {
		delete(c.static, *x.instanceID)
	}
}

// hold sets what a member has.
func (c *consumerGroup) hold(x *consumer, assigned, revoking partitions) {
	for _, had := range []partitions{x.assigned, x.revoking} {
		for _, p := range had {
			if c.owners[p] == x {
				delete(c.owners, p)
			}
		}
	}
	x.assigned, x.revoking = assigned, revoking
	for _, has := range []partitions{assigned, revoking} {
		for _, p := range has {
			c.owners[p] = x
		}
	}
}

func (x *consumer) isReconciledTo(epoch int32) bool {
	return x.state == consumerStable && x.epoch == epoch
}

// state is where the group stands, by Kafka's rules.
func (c *consumerGroup) state() State {
	switch {
	case len(c.members) == 0:
		return Empty
	case c.epoch > c.assignmentEpoch:
		return Assigning
	}
	for _, x := range c.members {
		if !x.isReconciledTo(c.assignmentEpoch) {
			return Reconciling
		}
	}
	return Stable
}

// settled must follow each change of a consumer group.
func (m *Machine) settled(g *Group, reason string) {
	if s := g.consumer.state(); s != g.state {
		// All four may follow each other: what the members say and what topics there are decides.
		g.previous, g.state, g.sinceMs = g.state, s, m.nowMs
		m.changed(g, reason)
	}
}

// toConsumer makes a consumer group of an empty classic one. Its offsets stay.
func (m *Machine) toConsumer(g *Group) (gone []Record) {
	if g.protocolType != nil || g.generation > 0 {
		gone = append(gone, Record{Key: groupKey(g.id)})
	}
	for id := range g.pending {
		m.removePending(g, id)
	}
	m.timers.cancel(&g.rebalance)
	m.timers.cancel(&g.syncing)
	g.protocolType, g.protocolName, g.generation, g.subscribed, g.knowsTopics = nil, nil, 0, nil, false
	g.consumer = newConsumerGroup()
	return gone
}

// toClassic makes a classic group of an empty consumer group. Its offsets stay.
func (m *Machine) toClassic(g *Group) (gone []Record) {
	gone = g.consumer.withOwed(g.consumer.tombstones(g.id))
	g.consumer = nil
	return gone
}
