package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
)

// OffsetForLeaderEpoch, key 23, versions 2–4 (KIP-101, KIP-279, KIP-320). A partition that is named twice is answered twice.
func (c *call) offsetForLeaderEpoch(req *kmsg.OffsetForLeaderEpochRequest) {
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	var asked []broker.EpochQuery
	var out []*kmsg.OffsetForLeaderEpochResponseTopicPartition
	resp.Topics = make([]kmsg.OffsetForLeaderEpochResponseTopic, 0, len(req.Topics))
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.OffsetForLeaderEpochResponseTopicPartition, len(t.Partitions))
		for i, p := range t.Partitions {
			rp := &rt.Partitions[i]
			rp.Default()
			rp.Partition = p.Partition
			partition, err := c.Broker.Partition(t.Topic, p.Partition)
			if err != nil {
				rp.ErrorCode = c.code(err)
				continue
			}
			asked = append(asked, broker.EpochQuery{Partition: partition, Epoch: p.LeaderEpoch, LeaderEpoch: p.CurrentLeaderEpoch})
			out = append(out, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	c.Broker.OffsetsForEpochs(asked, func() {
		for i := range asked {
			q, rp := &asked[i], out[i]
			rp.ErrorCode, rp.LeaderEpoch, rp.EndOffset = c.code(q.Err), q.EndEpoch, q.EndOffset
		}
		c.answer(resp)
	})
}
