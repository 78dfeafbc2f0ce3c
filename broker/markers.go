package broker

import (
	"errors"

	"millrace/broker/txn"
	"millrace/metadata"
	"millrace/protocol/record"
)

// Peer is another broker as one speaks with it about transactions: one of this process (a *Broker), or one that is reached
// over a socket (package link).
type Peer interface {
	// WriteMarkers has it append a marker to partitions that it leads. done gets an error for each of them, in their order,
	// when those that are nil are committed.
	WriteMarkers(m *MarkerRequest, done func(errs []error))
	// AddPartitions asks the transaction coordinator there, on behalf of a partition's leader. done gets the answer to the
	// whole, or errors for each partition, in their order. Errors of the way there are txn.ErrNotCoordinator.
	AddPartitions(e *txn.Add, done func(errs []error, err error))
}

// MarkerRequest asks for one marker in some partitions.
type MarkerRequest struct {
	ProducerID       int64
	ProducerEpoch    int16
	Commit           bool
	CoordinatorEpoch int32 // the leader epoch of the coordinator's partition
	Version          int8  // the client's transaction version
	Partitions       []txn.Partition
}

// markerTimeoutMs is how long the replicas in sync have for a marker, before its coordinator tries again.
const markerTimeoutMs = 30_000

// WriteMarkers appends a marker to partitions that this broker leads, and calls done when they are committed, or refused.
// done must not block. The errors are those of a Produce, and ErrCoordinatorFenced.
func (b *Broker) WriteMarkers(m *MarkerRequest, done func(errs []error)) {
	op := &Produce{Acks: AcksAll, TimeoutMs: markerTimeoutMs, Parts: make([]AppendPart, len(m.Partitions))}
	nowMs := b.deps.NowMs()
	for i, p := range m.Partitions {
		part := &op.Parts[i]
		if part.Partition, part.Err = b.Partition(p.Topic, p.Index); part.Err != nil {
			continue
		}
		var builder record.Builder
		marker := record.Marker{Commit: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch}
		part.Batch = builder.Marker(marker, m.ProducerID, m.ProducerEpoch, nowMs)
	}
	op.Done = func(op *Produce) {
		errs := make([]error, len(op.Parts))
		for i := range op.Parts {
			errs[i] = op.Parts[i].Err
		}
		done(errs)
	}
	op.Start(b)
}

// sendMarkers has the leaders of a marker's partitions write it. done is called for each leader, with what became of its
// partitions, and must not block.
func (b *Broker) sendMarkers(k *txn.Marker, coordinatorEpoch int32, done func([]txn.MarkedPartition)) {
	image := b.deps.Cluster.Image()
	byLeader := map[metadata.Member][]txn.Partition{}
	var known []txn.MarkedPartition
	for _, p := range k.Partitions {
		t := image.Topic(p.Topic)
		if t == nil || int(p.Index) >= len(t.Partitions) {
			known = append(known, txn.MarkedPartition{Partition: p, Outcome: txn.MarkerGone})
			continue
		}
		leader := t.Partitions[p.Index].LeaderMember()
		byLeader[leader] = append(byLeader[leader], p)
	}
	for leader, partitions := range byLeader {
		peer := b.peer(leader)
		if peer == nil {
			known = append(known, outcomes(partitions, nil)...)
			continue
		}
		peer.WriteMarkers(&MarkerRequest{ProducerID: k.ProducerID, ProducerEpoch: k.ProducerEpoch, Commit: k.Commit,
			CoordinatorEpoch: coordinatorEpoch, Version: k.Version, Partitions: partitions},
			func(errs []error) { done(outcomes(partitions, errs)) })
	}
	if len(known) > 0 {
		done(known)
	}
}

// outcomes says what errors mean for markers; without errors nobody could be asked.
func outcomes(partitions []txn.Partition, errs []error) []txn.MarkedPartition {
	results := make([]txn.MarkedPartition, len(partitions))
	for i, p := range partitions {
		results[i] = txn.MarkedPartition{Partition: p, Outcome: txn.MarkerRetry}
		switch {
		case errs == nil:
		case errs[i] == nil:
			results[i].Outcome = txn.MarkerWritten
		case errors.Is(errs[i], ErrCoordinatorFenced), errors.Is(errs[i], ErrInvalidProducerEpoch):
			results[i].Outcome = txn.MarkerFenced
		}
	}
	return results
}

// peer finds the way to a broker, itself included; nil: there is none now.
func (b *Broker) peer(m metadata.Member) Peer {
	switch {
	case m == b.Self:
		return b
	case m.Broker == metadata.NoBroker || b.deps.Peer == nil:
		return nil
	}
	return b.deps.Peer(m)
}
