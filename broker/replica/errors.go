package replica

import "errors"

// The answers of a replica besides success. Most are one error code of the protocol each; the front desk translates.
var (
	// ErrNotLeader (6, NOT_LEADER_OR_FOLLOWER): this replica does not lead the partition, or does no longer.
	ErrNotLeader = errors.New("this replica does not lead the partition")
	// ErrFencedLeaderEpoch (74): the asker's leader epoch is older than the leader's.
	ErrFencedLeaderEpoch = errors.New("the leader epoch is older than the partition's")
	// ErrUnknownLeaderEpoch (75): the asker's leader epoch is newer than this replica has heard of.
	ErrUnknownLeaderEpoch = errors.New("the leader epoch is newer than the partition's")
	// ErrNotReplica (75, UNKNOWN_LEADER_EPOCH, as Apache Kafka answers): the asker is no replica of the partition, as far as
	// the leader has heard.
	ErrNotReplica = errors.New("not a replica of the partition")
	// ErrStaleIncarnation (77, STALE_BROKER_EPOCH): the asker's incarnation is not the one that the leader knows as
	// registered. Either it is an old one, or the leader has yet to hear of it; the asker tries again.
	ErrStaleIncarnation = errors.New("not the incarnation that is registered")
	// ErrOffsetOutOfRange (1): the offset is below the leader's log start, or beyond its end.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrNotEnoughReplicas (19): fewer replicas in sync than min.insync.replicas; nothing was appended.
	ErrNotEnoughReplicas = errors.New("fewer replicas in sync than min.insync.replicas")
	// ErrNotEnoughReplicasAfterAppend (20): the records are in the leader's log, but then too few replicas were in sync.
	ErrNotEnoughReplicasAfterAppend = errors.New("fewer replicas in sync than min.insync.replicas after the append")
	// ErrRequestTimedOut (7): the replicas in sync did not all have the records in time. They may get them yet.
	ErrRequestTimedOut = errors.New("request timed out")
	// ErrOffsetNotAvailable (78, KIP-207): a new leader doesn't know yet how far its predecessors committed.
	ErrOffsetNotAvailable = errors.New("offset not available")
	// ErrOffsetCeiling (56, KAFKA_STORAGE_ERROR, because clients try that again): the records would pass the offset ceiling
	// that the metadata holds for the partition; a higher one has been asked for.
	ErrOffsetCeiling = errors.New("the partition's offset ceiling has to be raised first")
	// ErrIneligibleReplica (107, INELIGIBLE_REPLICA): a proposed ISR has a member that is fenced, or not registered with
	// that incarnation. The controller did not and will not carry this attempt out.
	ErrIneligibleReplica = errors.New("a member of the proposed ISR is not eligible")
)
