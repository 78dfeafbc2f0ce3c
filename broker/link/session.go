package link

import (
	"math"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol/kafka"
)

// session is a follower's side of an incremental fetch session (KIP-227): what the leader has been asked for, so that the
// next request need only say what is new. A leader that gives no session is asked for everything each time. It belongs to
// whoever has the fetch that is under way.
type session struct {
	conn      *conn // that the leader has the session for: it ends with the connection
	id        int32 // 0: none
	epoch     int32 // of the next request; 0: it names everything, and asks for a session
	positions map[broker.PartitionKey]broker.ReplicaPosition

	// The request, and what its lists lie in.
	request   kafka.FetchRequest
	topics    []kafka.FetchTopic
	parts     []kafka.FetchPartition
	forgotten []kafka.ForgottenTopic
	indexes   []int32
}

// ask makes the request for a fetch over this connection. It is valid until the next one.
func (s *session) ask(over *conn, self metadata.Member, r *broker.ReplicaFetch) *kafka.FetchRequest {
	if s.conn != over {
		s.conn, s.id, s.epoch = over, 0, 0
	}
	for i := range r.Changed {
		s.positions[r.Changed[i].PartitionKey] = r.Changed[i]
	}
	for _, key := range r.Dropped {
		delete(s.positions, key)
	}
	s.topics, s.parts = s.topics[:0], s.parts[:0]
	s.forgotten, s.indexes = s.forgotten[:0], s.indexes[:0]
	partitionBytesMax := clipped(int64(r.PartitionBytesMax))
	if s.epoch == 0 {
		for _, p := range s.positions { // in another order each time, so that none is always the last
			s.name(&p, partitionBytesMax)
		}
	} else {
		for i := range r.Changed {
			s.name(&r.Changed[i], partitionBytesMax)
		}
		for _, key := range r.Dropped {
			s.forget(key)
		}
	}
	s.cut()
	s.request = kafka.FetchRequest{Version: kafka.ReplicaFetchVersion, ReplicaID: self.Broker,
		ReplicaEpoch: int64(self.Incarnation), MaxWaitMs: clipped(r.MaxWait.Milliseconds()), MinBytes: 1,
		MaxBytes: clipped(int64(r.BytesMax)), SessionID: s.id, SessionEpoch: s.epoch, Topics: s.topics, Forgotten: s.forgotten}
	return &s.request
}

func clipped(n int64) int32 { return int32(max(0, min(n, math.MaxInt32))) }

// name adds a partition to the request. Those of a topic that follow one another go under one mention of it.
func (s *session) name(p *broker.ReplicaPosition, bytesMax int32) {
	s.parts = append(s.parts, kafka.FetchPartition{Index: p.Index, CurrentLeaderEpoch: p.LeaderEpoch, FetchOffset: p.Offset,
		LastFetchedEpoch: p.LastEpoch, LogStartOffset: -1, HighWatermark: math.MaxInt64, MaxBytes: bytesMax})
	n := len(s.topics) - 1
	if n < 0 || s.topics[n].ID != p.Topic {
		s.topics = append(s.topics, kafka.FetchTopic{ID: p.Topic})
		n++
	}
	t := &s.topics[n]
	t.Partitions = s.parts[len(s.parts)-1-len(t.Partitions):] // see cut
}

func (s *session) forget(key broker.PartitionKey) {
	s.indexes = append(s.indexes, key.Index)
	n := len(s.forgotten) - 1
	if n < 0 || s.forgotten[n].ID != key.Topic {
		s.forgotten = append(s.forgotten, kafka.ForgottenTopic{ID: key.Topic})
		n++
	}
	t := &s.forgotten[n]
	t.Partitions = s.indexes[len(s.indexes)-1-len(t.Partitions):]
}

// cut gives the topics their parts of the lists, which may have moved while they grew.
func (s *session) cut() {
	at := 0
	for i := range s.topics {
		n := len(s.topics[i].Partitions)
		s.topics[i].Partitions = s.parts[at : at+n]
		at += n
	}
	at = 0
	for i := range s.forgotten {
		n := len(s.forgotten[i].Partitions)
		s.forgotten[i].Partitions = s.indexes[at : at+n]
		at += n
	}
}

// answered notes what the leader said of the session: the one that was asked for, or its end.
func (s *session) answered(id int32) {
	switch {
	case id == 0 || s.epoch != 0 && id != s.id:
		s.id, s.epoch = 0, 0
	case s.epoch == math.MaxInt32:
		s.epoch = 1
	default:
		s.id, s.epoch = id, s.epoch+1
	}
}

// failed forgets everything: the next request names what it is about. If the leader may still have the session, it ends
// it there.
func (s *session) failed() {
	s.epoch = 0
	clear(s.positions)
}
