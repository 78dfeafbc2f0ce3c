package kafka

import (
	"math"
	"unsafe"
)

// FetchRequest is a decoded Fetch request, versions 4–18. It is made to be used again: Parse fills it anew and keeps
// the room it has, so it allocates nothing once it has seen requests of that size. Names and the rack alias the frame
// that was parsed; the structures are the FetchRequest's own.
// Source: https://kafka.apache.org/protocol#The_Messages_Fetch, KIP-227 (sessions, 7), KIP-320 (epochs, 9), KIP-392
// (rack, 11), KIP-595 (12), KIP-516 (topic ids, 13), KIP-903 (15), KIP-951 (16), KIP-853 (17), KIP-1166 (18)
type FetchRequest struct {
	Version int16
	// ClusterID is nil unless the client named one (12+).
	ClusterID []byte
	// ReplicaID is −1 for a consumer, a follower's broker id otherwise. Up to version 14 it is a field, from 15 on part
	// of the tagged replica state. ReplicaEpoch is −1 where it isn't sent.
	ReplicaID    int32
	ReplicaEpoch int64
	MaxWaitMs    int32
	MinBytes     int32
	MaxBytes     int32
	// IsolationLevel is 0 for READ_UNCOMMITTED, 1 for READ_COMMITTED.
	IsolationLevel int8
	// SessionID 0 and SessionEpoch −1 below version 7: no session.
	SessionID    int32
	SessionEpoch int32
	Topics       []FetchTopic
	// Forgotten are the partitions that an incremental session drops (7+).
	Forgotten []ForgottenTopic
	// Rack is empty below version 11.
	Rack []byte

	// partitions and forgotten back the topics' lists, so that a request costs two allocations when new and none later.
	partitions []FetchPartition
	forgotten  []int32
}

// FetchTopic is one topic of a Fetch request. Name is nil from version 13 on, ID is zero below.
type FetchTopic struct {
	Name       []byte
	ID         [16]byte
	Partitions []FetchPartition
}

// FetchPartition is one partition of a Fetch request, with Kafka's defaults for what its version doesn't have. The
// directory id that replicas of a KRaft controller send (17+) is passed over: nothing here has directories.
type FetchPartition struct {
	FetchOffset int64
	// LogStartOffset is the follower's (5+), −1 from consumers.
	LogStartOffset int64
	// HighWatermark is the one that a follower knows (18+); MaxInt64 where it isn't sent.
	HighWatermark      int64
	Index              int32
	CurrentLeaderEpoch int32 // 9+, −1: don't check
	LastFetchedEpoch   int32 // 12+, −1: none
	MaxBytes           int32
}

// ForgottenTopic is one topic of the forgotten partitions. Name is nil from version 13 on, ID is zero below.
type ForgottenTopic struct {
	Name       []byte
	ID         [16]byte
	Partitions []int32
}

// What a topic and a partition take in memory, for the account of hostile requests.
const (
	fetchTopicBytes     = int(unsafe.Sizeof(FetchTopic{}))
	fetchPartitionBytes = int(unsafe.Sizeof(FetchPartition{}))
)

// Parse checks the structure of a Fetch request to its last byte and decodes it into f. After an error f is empty.
//
// Errors: ErrTruncated, ErrMalformed, ErrTrailing, ErrTooLarge; ErrUnsupportedVersion if h is not Fetch in a version
// we serve.
func (f *FetchRequest) Parse(h Header) error {
	f.Reset()
	if h.Key != keyFetch || !Supported(keyFetch, h.Version) {
		return ErrUnsupportedVersion
	}
	f.Version = h.Version
	r := reader{src: h.Body, room: decodedMax(len(h.Body))}
	f.parseTop(&r)
	f.parseTopics(&r)
	if f.Version >= 7 {
		f.parseForgotten(&r)
	}
	if f.Version >= 11 {
		f.Rack = r.string(f.flexible())
	}
	if f.flexible() {
		f.parseTags(&r)
	}
	if err := r.end(); err != nil {
		f.Reset()
		return err
	}
	return nil
}

// keptPartitionsMax bounds the room that an idle FetchRequest holds on to: about half a megabyte, the fetch of ten
// thousand partitions.
const keptPartitionsMax = 10_000

// Reset empties f and lets go of the frame, but keeps its room, unless one request made that unusually large.
func (f *FetchRequest) Reset() {
	topics, forgotten, partitions, indexes := f.Topics, f.Forgotten, f.partitions, f.forgotten
	clear(topics) // names hold the frame, and lists the partitions
	clear(forgotten)
	*f = FetchRequest{ReplicaID: -1, ReplicaEpoch: -1, SessionEpoch: -1}
	if cap(topics)+cap(forgotten)+cap(partitions)+cap(indexes) <= 4*keptPartitionsMax {
		f.Topics, f.Forgotten, f.partitions, f.forgotten = topics[:0], forgotten[:0], partitions[:0], indexes[:0]
	}
}

func (f *FetchRequest) flexible() bool { return f.Version >= 12 }

func (f *FetchRequest) parseTop(r *reader) {
	if f.Version <= 14 {
		f.ReplicaID = r.int32()
	}
	f.MaxWaitMs = r.int32()
	f.MinBytes = r.int32()
	f.MaxBytes = r.int32()
	f.IsolationLevel = r.int8()
	if f.Version >= 7 {
		f.SessionID = r.int32()
		f.SessionEpoch = r.int32()
	}
}

// parseTopics appends to both lists as it reads, so that no claimed count makes room. A list that grows moves; the
// topics' parts of it are therefore cut only when all are in.
func (f *FetchRequest) parseTopics(r *reader) {
	flexible := f.flexible()
	topicMin, partitionMin := f.minima()
	for range r.array(flexible, topicMin) {
		var t FetchTopic
		t.Name, t.ID = f.parseTopicName(r)
		n := r.array(flexible, partitionMin)
		if r.err != nil || !r.take(fetchTopicBytes+n*fetchPartitionBytes) {
			return
		}
		for range n {
			f.partitions = append(f.partitions, f.parsePartition(r))
		}
		if flexible {
			r.tags()
		}
		t.Partitions = f.partitions[len(f.partitions)-n:]
		f.Topics = append(f.Topics, t)
	}
	at := 0
	for i := range f.Topics {
		n := len(f.Topics[i].Partitions)
		f.Topics[i].Partitions = f.partitions[at : at+n : at+n]
		at += n
	}
}

// minima returns the least bytes that a topic and a partition take in this version.
func (f *FetchRequest) minima() (topic, partition int) {
	switch {
	case f.Version >= 13:
		return 16 + 1 + 1, 4 + 4 + 8 + 4 + 8 + 4 + 1
	case f.Version >= 12:
		return 1 + 1 + 1, 4 + 4 + 8 + 4 + 8 + 4 + 1
	case f.Version >= 9:
		return 2 + 4, 4 + 4 + 8 + 8 + 4
	case f.Version >= 5:
		return 2 + 4, 4 + 8 + 8 + 4
	default:
		return 2 + 4, 4 + 8 + 4
	}
}

func (f *FetchRequest) parseTopicName(r *reader) (name []byte, id [16]byte) {
	if f.Version >= 13 {
		return nil, r.uuid()
	}
	return r.string(f.flexible()), id
}

func (f *FetchRequest) parsePartition(r *reader) FetchPartition {
	p := FetchPartition{CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, LogStartOffset: -1, HighWatermark: math.MaxInt64}
	p.Index = r.int32()
	if f.Version >= 9 {
		p.CurrentLeaderEpoch = r.int32()
	}
	p.FetchOffset = r.int64()
	if f.Version >= 12 {
		p.LastFetchedEpoch = r.int32()
	}
	if f.Version >= 5 {
		p.LogStartOffset = r.int64()
	}
	p.MaxBytes = r.int32()
	if !f.flexible() {
		return p
	}
	for range r.tagCount() {
		tag, value := r.tag()
		switch {
		case tag == 0 && f.Version >= 17:
			value.skip(16)
		case tag == 1 && f.Version >= 18:
			p.HighWatermark = value.int64()
		}
		r.check(&value)
	}
	return p
}

func (f *FetchRequest) parseForgotten(r *reader) {
	flexible := f.flexible()
	topicMin, _ := f.minima()
	for range r.array(flexible, topicMin) {
		var t ForgottenTopic
		t.Name, t.ID = f.parseTopicName(r)
		n := r.array(flexible, 4)
		if r.err != nil || !r.take(fetchTopicBytes+4*n) {
			return
		}
		for range n {
			f.forgotten = append(f.forgotten, r.int32())
		}
		if flexible {
			r.tags()
		}
		t.Partitions = f.forgotten[len(f.forgotten)-n:]
		f.Forgotten = append(f.Forgotten, t)
	}
	at := 0
	for i := range f.Forgotten {
		n := len(f.Forgotten[i].Partitions)
		f.Forgotten[i].Partitions = f.forgotten[at : at+n : at+n]
		at += n
	}
}

func (f *FetchRequest) parseTags(r *reader) {
	for range r.tagCount() {
		tag, value := r.tag()
		switch {
		case tag == 0:
			f.ClusterID = value.nullableString(true)
		case tag == 1 && f.Version >= 15:
			f.ReplicaID = value.int32()
			f.ReplicaEpoch = value.int64()
			value.tags()
		}
		r.check(&value)
	}
}
