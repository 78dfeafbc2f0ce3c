package api

import (
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
	"millrace/protocol"
)

// DescribeTopicPartitions, key 75, version 0 (KIP-966): topics by name, so many partitions at a time; where it goes on is
// told by a cursor.
func (c *call) describeTopicPartitions(req *kmsg.DescribeTopicPartitionsRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	image := c.image()
	names, ok := topicsFrom(image, req)
	if !ok {
		for _, t := range req.Topics {
			rt := kmsg.NewDescribeTopicPartitionsResponseTopic()
			rt.Topic, rt.ErrorCode = &t.Topic, int16(protocol.InvalidRequest)
			rt.AuthorizedOperations = math.MinInt32
			resp.Topics = append(resp.Topics, rt)
		}
		c.answer(resp)
		return
	}
	left := int(max(1, min(req.ResponsePartitionLimit, c.Config.MaxRequestPartitions)))
	for _, name := range names {
		first := int32(0)
		if req.Cursor != nil && req.Cursor.Topic == name {
			first = req.Cursor.Partition
		}
		t := image.Topic(name)
		if t != nil && left == 0 {
			resp.NextCursor = cursorAt(name, first)
			break
		}
		if t == nil {
			if len(req.Topics) > 0 {
				resp.Topics = append(resp.Topics, noSuchTopic(name))
			}
			continue
		}
		rt := kmsg.NewDescribeTopicPartitionsResponseTopic()
		rt.Topic, rt.TopicID, rt.IsInternal, rt.AuthorizedOperations = &t.Name, t.ID, t.Internal, topicOperations
		end := min(len(t.Partitions), int(first)+left)
		for i := int(first); i < end; i++ {
			rt.Partitions = append(rt.Partitions, describedPartition(image, int32(i), &t.Partitions[i]))
		}
		resp.Topics = append(resp.Topics, rt)
		left -= len(rt.Partitions)
		if end < len(t.Partitions) {
			resp.NextCursor = cursorAt(name, int32(end))
			break
		}
	}
	c.answer(resp)
}

// topicsFrom are the names that the answer begins with or goes on with, sorted, each once; false if the cursor is none that
// an answer to this request can have had.
func topicsFrom(image *metadata.Image, req *kmsg.DescribeTopicPartitionsRequest) (names []string, ok bool) {
	from := ""
	if req.Cursor != nil {
		from = req.Cursor.Topic
	}
	if len(req.Topics) == 0 {
		for _, t := range image.Topics() {
			if t.Name >= from {
				names = append(names, t.Name)
			}
		}
		return names, req.Cursor == nil || req.Cursor.Partition >= 0
	}
	for _, t := range req.Topics {
		if t.Topic >= from {
			names = append(names, t.Topic)
		}
	}
	slices.Sort(names)
	if req.Cursor != nil && (!slices.Contains(names, from) || req.Cursor.Partition < 0) {
		return nil, false
	}
	return slices.Compact(names), true
}

func cursorAt(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	return &c
}

func noSuchTopic(name string) kmsg.DescribeTopicPartitionsResponseTopic {
	rt := kmsg.NewDescribeTopicPartitionsResponseTopic()
	rt.Topic, rt.ErrorCode, rt.AuthorizedOperations = &name, int16(protocol.UnknownTopicOrPartition), topicOperations
	if metadata.ValidateTopicName(name) != nil {
		rt.ErrorCode = int16(protocol.InvalidTopicException)
	}
	return rt
}

func describedPartition(image *metadata.Image, index int32, p *metadata.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	rp := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	rp.Partition, rp.LeaderID, rp.LeaderEpoch = index, image.LeaderOf(p), p.LeaderEpoch
	rp.Replicas, rp.ISR, rp.OfflineReplicas = p.Replicas, image.LiveISR(p), image.Offline(p)
	rp.EligibleLeaderReplicas, rp.LastKnownELR = append([]int32{}, p.ELR...), []int32{}
	return rp
}
