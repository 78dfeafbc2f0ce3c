package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/protocol"
)

// ListOffsets, key 2, versions 1–11 (KIP-79, KIP-734, KIP-405, KIP-1005).
//
// By time: the first offset whose record is not older than asked for; none is no error, with offset and timestamp −1.
// A partition that is named twice is refused once. The special times of tiered storage (−4, −5) are answered for a log that is all local, as Apache Kafka does.
func (c *call) listOffsets(req *kmsg.ListOffsetsRequest) {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	twice, refused := map[partitionName]bool{}, map[partitionName]bool{}
	var asked []broker.OffsetQuery
	var out []*kmsg.ListOffsetsResponseTopicPartition
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, 0, len(req.Topics))
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			k := partitionName{t.Topic, p.Partition}
			_, seen := twice[k]
			twice[k] = seen
		}
	}
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.ListOffsetsResponseTopicPartition, 0, len(t.Partitions)) // out points into it
		for _, p := range t.Partitions {
			again := twice[partitionName{t.Topic, p.Partition}]
			if again && refused[partitionName{t.Topic, p.Partition}] {
				continue
			}
			rt.Partitions = append(rt.Partitions, kmsg.NewListOffsetsResponseTopicPartition())
			rp := &rt.Partitions[len(rt.Partitions)-1]
			rp.Partition = p.Partition
			if again {
				refused[partitionName{t.Topic, p.Partition}] = true
				rp.ErrorCode = int16(protocol.InvalidRequest)
				continue
			}
			if !timestampServed(p.Timestamp, req.Version) {
				rp.ErrorCode = int16(protocol.UnsupportedVersion)
				continue
			}
			partition, err := c.Broker.Partition(t.Topic, p.Partition)
			if err != nil {
				rp.ErrorCode = c.code(err)
				continue
			}
			epoch := int32(-1)
			if req.Version >= 4 {
				epoch = p.CurrentLeaderEpoch
			}
			asked = append(asked, broker.OffsetQuery{Partition: partition, TimestampMs: p.Timestamp, LeaderEpoch: epoch,
				Committed: req.Version >= 2 && req.IsolationLevel == readCommitted})
			out = append(out, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	c.Broker.ListOffsets(asked, func() {
		for i := range asked {
			q, rp := &asked[i], out[i]
			if q.Err != nil {
				rp.ErrorCode = c.code(q.Err)
				continue
			}
			rp.Offset, rp.Timestamp, rp.LeaderEpoch = q.Offset, q.FoundTimestampMs, q.FoundEpoch
		}
		c.answer(resp)
	})
}

// readCommitted is an isolation level: records of transactions count when they are committed.
const readCommitted = 1

type partitionName struct {
	topic string
	index int32
}

// timestampServed says from which version on a special time may be asked for.
func timestampServed(timestampMs int64, version int16) bool {
	switch timestampMs {
	case broker.MaxTimestamp:
		return version >= 7
	case broker.EarliestLocalTimestamp:
		return version >= 8
	case broker.LatestTieredTimestamp:
		return version >= 9
	case broker.EarliestPendingUploadTimestamp:
		return version >= 11
	}
	return timestampMs >= broker.EarliestTimestamp
}
