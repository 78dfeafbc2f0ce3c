package broker

import (
	"time"

	"millrace/broker/replica"
	"millrace/metadata"
	"millrace/protocol"
)

// Source is another broker as a follower reads from it: one of this process (Broker.Source), or one that is reached over
// a socket (package link). It belongs to one fetcher, which calls Fetch again only when the last one is done.
//
// A source remembers what it was asked for, as an incremental fetch session does (KIP-227): Changed names the partitions
// that are new or to be read from another place than before, and whatever has news of all that were named is answered.
// After an error it has forgotten them all.
type Source interface {
	// Fetch waits until there is something to tell, up to MaxWait, and calls r.Done.
	Fetch(r *ReplicaFetch)
	// Hurry makes a Fetch that waits finish now: there is something to ask that should not wait for it. It may be called
	// from anywhere and at any time.
	Hurry()
	// Snapshot asks the leader for what a log that begins at its log start offset needs to know of what was before
	// (replica.EffectCopySnapshot). content is what Broker.Snapshot gives there, and is the callee's to keep.
	Snapshot(key PartitionKey, leaderEpoch int32, done func(content []byte, err error))
	// Close gives up: what is under way is done with an error.
	Close()
}

// PartitionKey names a partition of a topic in one of its lives.
type PartitionKey struct {
	Topic metadata.TopicID
	Index int32
}

// ReplicaPosition is where a follower wants to read.
type ReplicaPosition struct {
	PartitionKey
	LeaderEpoch int32
	Offset      int64
	LastEpoch   int32 // of the record before Offset; −1: there is none
}

// ReplicaFetch is one question to a Source, and its answer. The caller fills the first part and calls Source.Fetch; in
// Done it reads the rest, and calls Release when it needs the records no more.
type ReplicaFetch struct {
	Changed           []ReplicaPosition
	Dropped           []PartitionKey
	MaxWait           time.Duration
	BytesMax          int // of all records together; the first batch comes whatever its size
	PartitionBytesMax int
	Done              func(*ReplicaFetch) // called once, from anywhere; must not block

	Err   error          // nothing was learnt
	Found []ReplicaFound // the partitions that have news
	Free  func()         // gives the records' memory back; nil: there is none to give back
}

// Release ends the use of the answer.
func (r *ReplicaFetch) Release() {
	if r.Free != nil {
		r.Free()
	}
	clear(r.Found)
	r.Err, r.Found, r.Free = nil, r.Found[:0], nil
}

// ReplicaFound is the news of one partition.
type ReplicaFound struct {
	PartitionKey
	Err     error // replica.ErrOffsetOutOfRange, with Answer; any other is only that
	Answer  replica.Answer
	Records []protocol.View // whole batches, in order; valid until Release
}
