package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/protocol"
)

// DeleteRecords, key 21, versions 0–2 (KIP-107). −1 is the high watermark.
func (c *call) deleteRecords(req *kmsg.DeleteRecordsRequest) {
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	var asked []broker.DeleteRecords
	var out []*kmsg.DeleteRecordsResponseTopicPartition
	for _, t := range req.Topics {
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, len(t.Partitions))
		for i, p := range t.Partitions {
			rp := &rt.Partitions[i]
			rp.Default()
			rp.Partition, rp.LowWatermark = p.Partition, -1
			if known := c.image().Topic(t.Topic); known != nil && known.Internal {
				rp.ErrorCode = int16(protocol.InvalidTopicException)
				continue
			}
			partition, err := c.Broker.Partition(t.Topic, p.Partition)
			if err != nil {
				rp.ErrorCode = c.code(err)
				continue
			}
			asked = append(asked, broker.DeleteRecords{Partition: partition, Before: p.Offset})
			out = append(out, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	c.Broker.DeleteRecords(asked, func() {
		for i := range asked {
			if asked[i].Err != nil {
				out[i].ErrorCode = c.code(asked[i].Err)
			} else {
				out[i].LowWatermark = asked[i].LowWatermark
			}
		}
		c.answer(resp)
	})
}
