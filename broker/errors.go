package broker

import (
	"errors"

	"millrace/broker/replica"
)

// The world's errors, as values. broker/api maps them to Kafka's error codes in one place.
var (
	// ErrUnknownPartition: the cluster has no such topic or partition.
	ErrUnknownPartition = errors.New("unknown topic or partition")
	// ErrUnknownTopicID: the cluster has no topic of that id.
	ErrUnknownTopicID = errors.New("unknown topic id")
	// ErrNotLeader: the partition exists, and another broker leads it or none does. The client looks up the leader.
	ErrNotLeader = replica.ErrNotLeader
	// ErrFencedLeaderEpoch: the client's leader epoch is older than the partition's.
	ErrFencedLeaderEpoch = replica.ErrFencedLeaderEpoch
	// ErrUnknownLeaderEpoch: the client's leader epoch is newer than this broker has heard of.
	ErrUnknownLeaderEpoch = replica.ErrUnknownLeaderEpoch
	// ErrNotEnoughReplicas: fewer replicas are in sync than min.insync.replicas asks for; nothing was appended.
	ErrNotEnoughReplicas = replica.ErrNotEnoughReplicas
	// ErrNotEnoughReplicasAfterAppend: appended, and then fewer were in sync than min.insync.replicas asks for.
	ErrNotEnoughReplicasAfterAppend = replica.ErrNotEnoughReplicasAfterAppend
	// ErrRequestTimedOut: the replicas in sync did not all have the records in time.
	ErrRequestTimedOut = replica.ErrRequestTimedOut
	// ErrOffsetNotAvailable: a new leader doesn't know yet how far its predecessors committed (KIP-207).
	ErrOffsetNotAvailable = replica.ErrOffsetNotAvailable
	// ErrOffsetCeiling: the offsets that may be given out have to be raised first. Retriable.
	ErrOffsetCeiling = replica.ErrOffsetCeiling
	// ErrNotReplica: who fetches as a follower is none.
	ErrNotReplica = replica.ErrNotReplica
	// ErrStaleIncarnation: who fetches as a follower is not registered in that life, as far as this broker has heard.
	ErrStaleIncarnation = replica.ErrStaleIncarnation
	// ErrFollowerOffset: a follower asked for an offset that the leader doesn't have.
	ErrFollowerOffset = replica.ErrOffsetOutOfRange
	// ErrOutOfOrderSequence: an idempotent producer's batch does not follow the one before it.
	ErrOutOfOrderSequence = errors.New("out of order sequence number")
	// ErrInvalidProducerEpoch: a newer epoch of this producer id has already written.
	ErrInvalidProducerEpoch = errors.New("producer epoch is older than the partition's")
	// ErrInvalidTxnState: a batch that isn't transactional from a producer that has a transaction open.
	ErrInvalidTxnState = errors.New("the producer has a transaction open")
	// ErrUnverified: a transaction's first batch here, and the coordinator hasn't said that it belongs to one.
	ErrUnverified = errors.New("the partition was not added to the transaction")
	// ErrCoordinatorFenced: a later coordinator of the transaction has written its marker.
	ErrCoordinatorFenced = errors.New("a later coordinator of the transaction has written")
	// ErrPolicyViolation: the topic's cleanup policy doesn't allow it.
	ErrPolicyViolation = errors.New("the topic's cleanup policy does not allow it")
	// ErrClosing: the broker is being closed.
	ErrClosing = errors.New("the broker is closing")
	// ErrCancelled: whoever asked has gone away; the outcome reaches nobody.
	ErrCancelled = errors.New("cancelled")
)
