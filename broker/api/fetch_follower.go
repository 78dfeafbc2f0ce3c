package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/kafka"
)

// What differs when a follower fetches: a request with a replica id and, from version 15 on, the broker's epoch
// (KIP-903), which here is its incarnation.

// followerOf is who a fetch says it comes from; zero for a consumer. A follower in a version without an epoch has an
// incarnation that nobody has, so the partition refuses it.
//
// Apache Kafka demands CLUSTER_ACTION on the cluster here, and so will we when there are authorizers. Until then
// whoever knows an incarnation may fetch as that broker, and so make its leader believe that it holds records.
func followerOf(r *kafka.FetchRequest) metadata.Member {
	if r.ReplicaID < 0 {
		return metadata.Member{}
	}
	return metadata.Member{Broker: r.ReplicaID, Incarnation: uint64(r.ReplicaEpoch)}
}

// followerBytesMax bounds what a follower may ask for at once: fetch.max.bytes is for consumers, but an answer's size
// must still fit into its four bytes, with a last batch that is too large and all the text between.
const followerBytesMax = 1 << 30

// follower reports whether the call is a follower's.
func (c *fetchCall) follower() bool { return c.op.From != metadata.Member{} }

// failed answers for a part with an error. A follower knows every code, and learns beside OFFSET_OUT_OF_RANGE what the
// leader has, so that it can begin anew from there.
func (c *fetchCall) failed(index int32, part *broker.FetchPart) {
	if !c.follower() {
		code := protocol.Code(codeFor(kmsg.Fetch.Int16(), part.Err))
		c.response.Failed(index, code, c.leader(code, index))
		return
	}
	code := codeOf(part.Err)
	if code != protocol.OffsetOutOfRange {
		c.response.Failed(index, code, kafka.Leader{})
		return
	}
	c.response.Partition(&kafka.FetchedPartition{Index: index, Code: code, HighWatermark: part.HighWatermark,
		LastStableOffset: -1, LogStartOffset: part.LogStartOffset}, nil)
}

// diverging is where a follower has to cut its log, if it does.
func (c *fetchCall) diverging(part *broker.FetchPart) kafka.EpochEndOffset {
	if !c.follower() || part.Err != nil || part.DivergingEpoch < 0 {
		return kafka.EpochEndOffset{}
	}
	return kafka.EpochEndOffset{Known: true, Epoch: part.DivergingEpoch, EndOffset: part.DivergingEnd}
}

// hurry makes the fetch of a follower that waits finish now, because another frame has come in behind it: that is how
// a follower's broker says that it has something else to ask (package link). A consumer that pipelines waits, as on
// Apache Kafka.
func (s *Session) hurry() {
	if s.follows {
		s.fetch.op.Cancel()
	}
}
