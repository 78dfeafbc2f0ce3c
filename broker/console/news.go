package console

import (
	"slices"
	"sync"
	"time"

	"millrace/metadata"
	"millrace/protocol/console"
)

// newsMax bounds the events of one picture. A broker that dies with ten thousand partitions is no reason for ten thousand
// lines; how many there were is told.
const newsMax = 200

// newsroom gathers what happens to brokers and partitions between two pictures of a WATCH.
type newsroom struct {
	more chan struct{} // capacity 1: something has changed

	mu      sync.Mutex
	events  []console.WatchEvent // guarded by mu; at most newsMax
	leftOut int                  // guarded by mu: those that found no room
}

// take is told of every change, on the central server's executor.
func (n *newsroom) take(old, new *metadata.Image, deltas []metadata.Delta) {
	now := time.Now().UnixMilli()
	n.mu.Lock()
	for _, delta := range deltas {
		e, interesting := eventOf(old, delta)
		switch {
		case !interesting:
		case len(n.events) < newsMax:
			e.TimeMs = now
			n.events = append(n.events, e)
		case e.Event == console.RecordsLost && n.makeRoom(): // never among those that are left out while others are not
			e.TimeMs = now
			n.events = append(n.events, e)
		default:
			n.leftOut++
		}
	}
	n.mu.Unlock()
	select {
	case n.more <- struct{}{}:
	default:
	}
}

// makeRoom leaves an event out that tells of no loss.
func (n *newsroom) makeRoom() bool {
	i := slices.IndexFunc(n.events, func(e console.WatchEvent) bool { return e.Event != console.RecordsLost })
	if i < 0 {
		return false
	}
	n.events = slices.Delete(n.events, i, i+1)
	n.leftOut++
	return true
}

// any tells whether there is something to tell.
func (n *newsroom) any() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.events)+n.leftOut > 0
}

// collect hands over what there is, in order, and how much was left out.
func (n *newsroom) collect() (events []console.WatchEvent, leftOut int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	events, leftOut = n.events, n.leftOut
	n.events, n.leftOut = nil, 0
	return events, leftOut
}

// giveBack takes back what the client had no room for.
func (n *newsroom) giveBack(events []console.WatchEvent, leftOut int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events, n.leftOut = append(events, n.events...), n.leftOut+leftOut
	for len(n.events) > newsMax && n.makeRoom() {
	}
	if over := len(n.events) - newsMax; over > 0 {
		n.events, n.leftOut = slices.Delete(n.events, 0, over), n.leftOut+over
	}
}

// eventOf is what an operator wants to know of a change, if anything.
func eventOf(old *metadata.Image, delta metadata.Delta) (console.WatchEvent, bool) {
	e := console.WatchEvent{Broker: -1, Partition: -1, Leader: -1, LeaderEpoch: -1, LossGeneration: -1}
	switch d := delta.(type) {
	case metadata.BrokerRegistered:
		e.Event, e.Broker = console.BrokerRegistered, d.Broker.ID
	case metadata.BrokerRemoved:
		e.Event, e.Broker = console.BrokerRemoved, d.ID
	case metadata.BrokerChanged:
		e.Event, e.Broker = brokerEvent(old.Broker(d.Broker.ID), d.Broker), d.Broker.ID
	case metadata.PartitionChanged:
		t := old.TopicByID(d.ID)
		if t == nil || int(d.Index) >= len(t.Partitions) {
			return e, false
		}
		e.Event, e.Topic, e.Partition = partitionEvent(&t.Partitions[d.Index], &d.Partition), d.Name, d.Index
		e.Leader, e.LeaderEpoch, e.ISR, e.LossGeneration = d.Partition.Leader, d.Partition.LeaderEpoch, d.Partition.ISR, d.Partition.LossGeneration
	}
	return e, e.Event != ""
}

func brokerEvent(was, is *metadata.Broker) console.EventKind {
	switch {
	case was == nil:
	case is.Fenced && !was.Fenced:
		return console.BrokerFenced
	case was.Fenced && !is.Fenced:
		return console.BrokerUnfenced
	case is.Draining && !was.Draining:
		return console.BrokerDraining
	case was.Draining && !is.Draining:
		return console.BrokerStays
	}
	return ""
}

func partitionEvent(was, is *metadata.Partition) console.EventKind {
	switch {
	case is.LossGeneration != was.LossGeneration:
		return console.RecordsLost
	case is.LeaderEpoch != was.LeaderEpoch:
		return console.NewLeader
	case !slices.Equal(is.ISR, was.ISR) || !slices.Equal(is.ISRIncarnations, was.ISRIncarnations):
		return console.NewISR
	}
	return ""
}
