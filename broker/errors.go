package broker

import "errors"

// The world's errors, as values. broker/api maps them to Kafka's error codes in one place.
var (
	// ErrUnknownPartition: the cluster has no such topic or partition.
	ErrUnknownPartition = errors.New("unknown topic or partition")
	// ErrUnknownTopicID: the cluster has no topic of that id.
	ErrUnknownTopicID = errors.New("unknown topic id")
	// ErrNotLeader: the partition exists, and another broker leads it or none does. The client looks up the leader.
	ErrNotLeader = errors.New("this broker does not lead the partition")
	// ErrFencedLeaderEpoch: the client's leader epoch is older than the partition's.
	ErrFencedLeaderEpoch = errors.New("the leader epoch is older than the partition's")
	// ErrUnknownLeaderEpoch: the client's leader epoch is newer than this broker has heard of.
	ErrUnknownLeaderEpoch = errors.New("the leader epoch is newer than the partition's")
	// ErrNotEnoughReplicas: fewer replicas are in sync than min.insync.replicas asks for; nothing was appended.
	ErrNotEnoughReplicas = errors.New("fewer replicas in sync than min.insync.replicas")
	// ErrOutOfOrderSequence: an idempotent producer's batch does not follow the one before it.
	ErrOutOfOrderSequence = errors.New("out of order sequence number")
	// ErrInvalidProducerEpoch: a newer epoch of this producer id has already written.
	ErrInvalidProducerEpoch = errors.New("producer epoch is older than the partition's")
	// ErrPolicyViolation: the topic's cleanup policy doesn't allow it.
	ErrPolicyViolation = errors.New("the topic's cleanup policy does not allow it")
	// ErrClosing: the broker is being closed.
	ErrClosing = errors.New("the broker is closing")
	// ErrCancelled: whoever asked has gone away; the outcome reaches nobody.
	ErrCancelled = errors.New("cancelled")
)
