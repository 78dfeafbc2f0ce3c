package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
)

// DescribeProducers, key 61, version 0 (KIP-664): what partitions' leaders know of producers.
func (c *call) describeProducers(req *kmsg.DescribeProducersRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	resp.Topics = make([]kmsg.DescribeProducersResponseTopic, len(req.Topics))
	var asked []broker.ProducerQuery
	var out []*kmsg.DescribeProducersResponseTopicPartition
	for i, t := range req.Topics {
		rt := &resp.Topics[i]
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.DescribeProducersResponseTopicPartition, len(t.Partitions))
		for j, index := range t.Partitions {
			rp := &rt.Partitions[j]
			rp.Default()
			rp.Partition = index
			partition, err := c.Broker.Partition(t.Topic, index)
			if err != nil {
				c.failDescription(rp, err)
				continue
			}
			asked = append(asked, broker.ProducerQuery{Partition: partition})
			out = append(out, rp)
		}
	}
	c.Broker.DescribeProducers(asked, func() {
		for i := range asked {
			if err := asked[i].Err; err != nil {
				c.failDescription(out[i], err)
				continue
			}
			for _, p := range asked[i].Producers {
				out[i].ActiveProducers = append(out[i].ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
					ProducerID: p.ID, ProducerEpoch: int32(p.Epoch), LastSequence: p.LastSequence, LastTimestamp: p.LastTimestampMs,
					CoordinatorEpoch: p.CoordinatorEpoch, CurrentTxnStartOffset: p.FirstOffset,
				})
			}
		}
		c.answer(resp)
	})
}

func (c *call) failDescription(rp *kmsg.DescribeProducersResponseTopicPartition, err error) {
	rp.ErrorCode, rp.ErrorMessage = c.code(err), new(err.Error())
}
