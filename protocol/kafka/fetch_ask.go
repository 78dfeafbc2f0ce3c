package kafka

import (
	"encoding/binary"
	"fmt"
)

// ReplicaFetchVersion is the version in which brokers fetch from each other: the first that has all they say. What 18
// adds, the follower's high watermark, the leader remembers of what it told.
const ReplicaFetchVersion = 17

// AppendFetch appends a whole frame with this request, as a follower's broker sends it. The version must be 15, 16 or 17,
// where the replica has an epoch; ClusterID, and names in the place of ids, are not sent.
func AppendFetch(dst []byte, f *FetchRequest, correlationID int32, clientID string) []byte {
	if f.Version < 15 || f.Version > ReplicaFetchVersion {
		panic(fmt.Sprintf("kafka: a follower's fetch in version %d", f.Version))
	}
	start := len(dst)
	b := append(dst, 0, 0, 0, 0)
	b = appendInt16(b, keyFetch)
	b = appendInt16(b, f.Version)
	b = appendInt32(b, correlationID)
	b = appendString(b, clientID, false)
	b = append(b, 0)
	b = appendInt32(b, f.MaxWaitMs)
	b = appendInt32(b, f.MinBytes)
	b = appendInt32(b, f.MaxBytes)
	b = append(b, byte(f.IsolationLevel))
	b = appendInt32(b, f.SessionID)
	b = appendInt32(b, f.SessionEpoch)
	b = appendFetchTopics(b, f.Topics)
	b = appendSize(b, len(f.Forgotten), true)
	for i := range f.Forgotten {
		t := &f.Forgotten[i]
		b = append(b, t.ID[:]...)
		b = appendSize(b, len(t.Partitions), true)
		for _, index := range t.Partitions {
			b = appendInt32(b, index)
		}
		b = append(b, 0)
	}
	b = appendString(b, f.Rack, true)
	b = append(b, 1, 1, 4+8+1) // one tag: the replica's state
	b = appendInt32(b, f.ReplicaID)
	b = appendInt64(b, f.ReplicaEpoch)
	b = append(b, 0)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

func appendFetchTopics(b []byte, topics []FetchTopic) []byte {
	b = appendSize(b, len(topics), true)
	for i := range topics {
		t := &topics[i]
		b = append(b, t.ID[:]...)
		b = appendSize(b, len(t.Partitions), true)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			b = appendInt32(b, p.Index)
			b = appendInt32(b, p.CurrentLeaderEpoch)
			b = appendInt64(b, p.FetchOffset)
			b = appendInt32(b, p.LastFetchedEpoch)
			b = appendInt64(b, p.LogStartOffset)
			b = appendInt32(b, p.MaxBytes)
			b = append(b, 0)
		}
		b = append(b, 0)
	}
	return b
}
