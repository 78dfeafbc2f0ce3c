package api

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol"
)

// FetchSnapshot, key 59, version 1 (KIP-630, KIP-853). Between brokers only: it isn't advertised.
//
// Apache Kafka's controllers read snapshots of their log with it. Here a follower reads what its leader knows of a
// partition's time before the log start offset. So some fields have a meaning of their own:
//
//   - the topic's "name" is its id in Kafka's text form, which tells a topic from a later one of the same name;
//   - the replica's directory id begins with the broker's incarnation (big endian), and the rest of it is zero: version
//     0 has no room for that;
//   - there is one partition to a request; its content comes whole, whatever snapshot id, position and size say.
func (c *call) fetchSnapshot(req *kmsg.FetchSnapshotRequest) {
	resp := req.ResponseKind().(*kmsg.FetchSnapshotResponse)
	if len(req.Topics) != 1 || len(req.Topics[0].Partitions) != 1 {
		resp.ErrorCode = int16(protocol.InvalidRequest)
		c.answer(resp)
		return
	}
	asked := &req.Topics[0].Partitions[0]
	topic, part := kmsg.NewFetchSnapshotResponseTopic(), kmsg.NewFetchSnapshotResponseTopicPartition()
	topic.Topic, part.Partition, part.SnapshotID.EndOffset = req.Topics[0].Topic, asked.Partition, asked.SnapshotID.EndOffset
	done := func(content []byte, err error) {
		part.ErrorCode, part.Size, part.Bytes = int16(codeOf(err)), int64(len(content)), content
		topic.Partitions = append(topic.Partitions, part)
		resp.Topics = append(resp.Topics, topic)
		c.answer(resp)
	}
	id, err := metadata.ParseTopicID(req.Topics[0].Topic)
	if err != nil {
		done(nil, metadata.ErrUnknownTopicID)
		return
	}
	from := metadata.Member{Broker: req.ReplicaID, Incarnation: binary.BigEndian.Uint64(asked.ReplicaDirectoryID[:8])}
	key := broker.PartitionKey{Topic: id, Index: asked.Partition}
	c.Broker.Snapshot(from, key, asked.CurrentLeaderEpoch, done)
}
