package broker

import (
	"cmp"
	"slices"

	"millrace/broker/txn"
	"millrace/jobs"
	"millrace/metadata"
)

// txnCall is one request to a transaction coordinator, and a task of its worker.
type txnCall struct {
	jobs.Link
	partition *Partition
	event     txn.Event
	done      func(result any, err error)
}

// Run hands the request to the machine.
func (t *txnCall) Run() {
	c := t.partition.txns
	if err := c.serving(); err != nil {
		t.done(nil, err)
		return
	}
	c.step(t.event, t)
}

// AskTransactions brings an event to the coordinator of a transactional id and calls done with its answer, once, on whichever
// goroutine; done must not block. R is the kind of result that belongs to the event. If this broker does not coordinate the id
// the error is txn.ErrNotCoordinator, while it loads its log txn.ErrLoading. The event is the operation's until done.
func AskTransactions[R any](b *Broker, id string, e txn.Event, done func(R, error)) {
	answer := func(result any, err error) {
		r, _ := result.(R)
		done(r, err)
	}
	p := b.hostOf(metadata.TransactionStateTopic, id)
	if p == nil || !p.worker.Post(&txnCall{partition: p, event: e, done: answer}) {
		answer(nil, txn.ErrNotCoordinator)
	}
}

// AddPartitions is Peer's: it asks the coordinator that this broker has.
func (b *Broker) AddPartitions(e *txn.Add, done func(errs []error, err error)) {
	AskTransactions(b, e.TransactionalID, e, func(r *txn.AddResult, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		done(r.Errs, nil)
	})
}

// askCoordinatorOf brings an Add to the coordinator of its id, wherever that is.
func (b *Broker) askCoordinatorOf(e *txn.Add, done func(errs []error, err error)) {
	leader := metadata.NoMember
	if t := b.deps.Cluster.Image().Topic(metadata.TransactionStateTopic); t != nil {
		leader = t.Partitions[CoordinatorPartition(e.TransactionalID, len(t.Partitions))].LeaderMember()
	}
	peer := b.peer(leader)
	if peer == nil {
		done(nil, txn.ErrCoordinatorNotAvailable)
		return
	}
	peer.AddPartitions(e, done)
}

// OffsetsPartitionOf is the partition of __consumer_offsets that a group's offsets are in; false: there is no such topic yet.
func (b *Broker) OffsetsPartitionOf(groupID string) (txn.Partition, bool) {
	t := b.deps.Cluster.Image().Topic(metadata.ConsumerOffsetsTopic)
	if t == nil {
		return txn.Partition{}, false
	}
	return txn.Partition{Topic: t.Name, Index: CoordinatorPartition(groupID, len(t.Partitions))}, true
}

// ListTransactions lists the transactional ids that this broker coordinates, those of each coordinator sorted. The error is
// txn.ErrLoading if one of the coordinators is not ready.
func (b *Broker) ListTransactions(filter txn.List, done func([]txn.Listed, error)) {
	var coordinators []*Partition
	for _, p := range b.Partitions() {
		if p.coordinatesTransactions() {
			coordinators = append(coordinators, p)
		}
	}
	var listed []txn.Listed
	var failed error
	Visit(coordinators, func(_ int, p *Partition, _ error) {
		if p == nil {
			return
		}
		switch err := p.txns.serving(); err {
		case txn.ErrLoading:
			failed = err
		case nil: // those that have left meanwhile are listed by somebody else
			e := filter
			p.txns.step(&e, &txnCall{done: func(r any, _ error) {
				listed = append(listed, r.(*txn.ListResult).Transactions...)
			}})
		}
	}, func() { done(listed, failed) })
}

// ProducerQuery asks one partition for its producers (DescribeProducers), and takes the answer.
type ProducerQuery struct {
	Partition *Partition

	Err       error
	Producers []ProducerInfo // by their ids
}

// ProducerInfo is what a partition remembers of a producer.
type ProducerInfo struct {
	ID               int64
	Epoch            int16
	LastSequence     int32 // -1: none
	LastTimestampMs  int64 // of this broker's clock
	CoordinatorEpoch int32 // of the last marker
	FirstOffset      int64 // of the transaction that is open; -1: none is
}

// DescribeProducers answers the queries in place and then calls done.
func (b *Broker) DescribeProducers(queries []ProducerQuery, done func()) {
	partitions := make([]*Partition, len(queries))
	for i := range queries {
		partitions[i] = queries[i].Partition
	}
	Visit(partitions, func(i int, p *Partition, err error) {
		q := &queries[i]
		if q.Err = err; err == nil {
			q.Producers = p.producers.describe()
		}
	}, done)
}

func (ps *producers) describe() (all []ProducerInfo) {
	for id, s := range ps.byID {
		info := ProducerInfo{ID: id, Epoch: s.epoch, LastSequence: -1, LastTimestampMs: s.seenAtMs,
			CoordinatorEpoch: s.coordinatorEpoch, FirstOffset: -1}
		if s.count > 0 {
			info.LastSequence = s.spans[s.count-1].last
		}
		if s.open {
			info.FirstOffset = s.first
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b ProducerInfo) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
