package broker

import (
	"errors"
	"unicode/utf16"

	"millrace/broker/group"
	"millrace/jobs"
	"millrace/metadata"
)

// groupCall is one request to a coordinator, and a task of its worker.
type groupCall struct {
	jobs.Link
	partition *Partition
	event     group.Event
	ready     func() bool
	done      func(result any, err error)
}

// Run hands the request to the machine.
func (g *groupCall) Run() {
	c := g.partition.coordinator
	if err := c.serving(); err != nil {
		g.done(nil, err)
		return
	}
	if g.ready == nil || g.ready() {
		c.step(g.event, g)
	}
}

// AskCoordinator brings an event to the coordinator of a group and calls done with its answer, once, on whichever
// goroutine; done must not block. R is the kind of result that belongs to the event. If this broker does not
// coordinate the group the error is group.ErrNotCoordinator, while it loads its log group.ErrLoading; the result is
// then nil. The event is the operation's until done.
//
// ready may be nil. If not it runs on the coordinator's worker before the event: what it checks there is checked
// either before or after a topic's deletion is known, never in between. If it says false nothing more happens, and
// done is not called.
func AskCoordinator[R any](b *Broker, groupID string, e group.Event, ready func() bool, done func(R, error)) {
	answer := func(result any, err error) {
		r, _ := result.(R)
		done(r, err)
	}
	p := b.coordinatorOf(groupID)
	if p == nil || !p.worker.Post(&groupCall{partition: p, event: e, ready: ready, done: answer}) {
		answer(nil, group.ErrNotCoordinator)
	}
}

// coordinatorOf is the partition whose coordinator has a group, nil if this broker has no replica of it.
func (b *Broker) coordinatorOf(groupID string) *Partition {
	return b.hostOf(metadata.ConsumerOffsetsTopic, groupID)
}

// hostOf is this broker's replica of the partition of a coordinators' topic that an id belongs to, nil if it has none.
func (b *Broker) hostOf(topic, id string) *Partition {
	t := b.deps.Cluster.Image().Topic(topic)
	if t == nil {
		return nil
	}
	p, err := b.partitionOf(t, CoordinatorPartition(id, len(t.Partitions)))
	if err != nil {
		return nil
	}
	return p
}

// CoordinatorPartition is the partition of __consumer_offsets that a group belongs to, and that of __transaction_state of a
// transactional id: Kafka's tools know it too, so it is Java's String.hashCode, made positive as Kafka does it.
func CoordinatorPartition(id string, partitions int) int32 {
	var h int32
	for _, r := range id {
		if high, low := utf16.EncodeRune(r); high != 0xfffd {
			h = 31*(31*h+high) + low
		} else {
			h = 31*h + r
		}
	}
	if h == -1<<31 {
		h = 0
	}
	return max(h, -h) % int32(partitions)
}

// FindCoordinators finds the brokers that coordinate groups, in their order, nil for those that have none right now.
// The topic of the coordinators is created when it is first asked for. done must not block; the error is
// group.ErrCoordinatorNotAvailable.
func (b *Broker) FindCoordinators(groupIDs []string, done func([]*metadata.Broker, error)) {
	b.findCoordinators(metadata.ConsumerOffsetsTopic, groupIDs, done)
}

// FindTransactionCoordinators is FindCoordinators for transactional ids.
func (b *Broker) FindTransactionCoordinators(ids []string, done func([]*metadata.Broker, error)) {
	b.findCoordinators(metadata.TransactionStateTopic, ids, done)
}

func (b *Broker) findCoordinators(topic string, ids []string, done func([]*metadata.Broker, error)) {
	find := func() bool {
		image := b.deps.Cluster.Image()
		t := image.Topic(topic)
		if t == nil {
			return false
		}
		found := make([]*metadata.Broker, len(ids))
		for i, id := range ids {
			found[i] = image.Broker(image.LeaderOf(&t.Partitions[CoordinatorPartition(id, len(t.Partitions))]))
		}
		done(found, nil)
		return true
	}
	if find() {
		return
	}
	spec := AutoTopic(topic, b.deps.Config)
	b.deps.Cluster.CreateTopics([]metadata.TopicSpec{spec}, false, func(r []metadata.TopicResult) {
		if err := r[0].Err; err != nil && !errors.Is(err, metadata.ErrTopicExists) || !find() {
			done(nil, group.ErrCoordinatorNotAvailable)
		}
	})
}

// ListGroups lists the groups that this broker coordinates, those of each coordinator sorted by their ids. Filters as in
// group.List. The error is group.ErrLoading if one of the coordinators is not ready.
func (b *Broker) ListGroups(states, types []string, done func([]group.ListedGroup, error)) {
	var coordinators []*Partition
	for _, p := range b.Partitions() {
		if p.coordinates() {
			coordinators = append(coordinators, p)
		}
	}
	var listed []group.ListedGroup
	var failed error
	Visit(coordinators, func(_ int, p *Partition, _ error) {
		if p == nil {
			return
		}
		switch err := p.coordinator.serving(); err {
		case group.ErrLoading:
			failed = err
		case nil: // those that have left meanwhile are listed by somebody else
			p.coordinator.step(&group.List{States: states, Types: types}, &groupCall{done: func(r any, _ error) {
				listed = append(listed, r.(*group.ListResult).Groups...)
			}})
		}
	}, func() { done(listed, failed) })
}

// WatchGroups calls f whenever a group of this broker has changed its state, on the workers; f must not block. One
// watcher at a time; nil ends it.
func (b *Broker) WatchGroups(f func(group.GroupChange)) {
	if f == nil {
		b.groupWatch.Store(nil)
		return
	}
	b.groupWatch.Store(&f)
}

// topicGone tells the coordinators that a topic was deleted.
func (b *Broker) topicGone(name string) {
	for _, p := range b.Replicas() {
		if p.coordinates() {
			p.worker.Do(func() {
				if p.coordinator != nil {
					p.coordinator.topicDeleted(name)
				}
			})
		}
	}
}
