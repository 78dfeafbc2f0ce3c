package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
	"millrace/metadata"
	"millrace/protocol"
)

// OffsetDelete, key 47, version 0 (KIP-496). A topic without partitions isn't in the answer, as on Apache Kafka.
func (c *call) offsetDelete(req *kmsg.OffsetDeleteRequest) {
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	image := c.image()
	e := &group.DeleteOffsets{GroupID: req.Group}
	var out [][]*kmsg.OffsetDeleteResponseTopicPartition // of each topic of e
	topics := make([]kmsg.OffsetDeleteResponseTopic, 0, len(req.Topics))
	for _, t := range req.Topics {
		if len(t.Partitions) == 0 {
			continue
		}
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.OffsetDeleteResponseTopicPartition, len(t.Partitions))
		known := image.Topic(t.Topic)
		asked := group.FetchTopic{Name: t.Topic}
		var places []*kmsg.OffsetDeleteResponseTopicPartition
		for i, p := range t.Partitions {
			rp := &rt.Partitions[i]
			rp.Partition = p.Partition
			if !hasPartition(known, p.Partition) {
				rp.ErrorCode = int16(protocol.UnknownTopicOrPartition)
				continue
			}
			asked.Partitions, places = append(asked.Partitions, p.Partition), append(places, rp)
		}
		if len(places) > 0 {
			e.Topics, out = append(e.Topics, asked), append(out, places)
		}
		topics = append(topics, rt)
	}
	broker.AskCoordinator(c.Broker, req.Group, e, nil, func(r *group.DeleteOffsetsResult, err error) {
		if err != nil {
			resp.ErrorCode = c.code(err)
			c.answer(resp)
			return
		}
		for i, err := range r.Topics {
			for _, rp := range out[i] {
				rp.ErrorCode = c.code(err)
			}
		}
		resp.Topics = topics
		c.answer(resp)
	})
}

// hasPartition takes nil for a topic that isn't there.
func hasPartition(t *metadata.Topic, index int32) bool {
	return t != nil && index >= 0 && int(index) < len(t.Partitions)
}
