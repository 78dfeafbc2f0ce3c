package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
	"millrace/metadata"
)

// ConsumerGroupDescribe, key 69, versions 0–1 (KIP-848, KIP-1099).
func (c *call) consumerGroupDescribe(req *kmsg.ConsumerGroupDescribeRequest) {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	resp.Groups = make([]kmsg.ConsumerGroupDescribeResponseGroup, len(req.Groups))
	g := newGather(len(req.Groups), func() { c.answer(resp) })
	for i, id := range req.Groups {
		rg := &resp.Groups[i]
		rg.Default()
		rg.Group = id
		if id == "" {
			rg.ErrorCode = c.code(group.ErrInvalidGroupID)
			g.done()
			continue
		}
		e := &group.DescribeConsumer{GroupID: id}
		broker.AskCoordinator(c.Broker, id, e, nil, func(r *group.DescribeConsumerResult, err error) {
			if err != nil {
				rg.ErrorCode, rg.ErrorMessage = c.code(err), message(err)
			} else {
				c.describedConsumers(rg, r)
				if req.IncludeAuthorizedOperations {
					rg.AuthorizedOperations = groupOperations
				}
			}
			g.done()
		})
	}
}

// typeConsumerMember is a member that uses the consumer protocol (KIP-1099).
const typeConsumerMember = 1

func (c *call) describedConsumers(rg *kmsg.ConsumerGroupDescribeResponseGroup, r *group.DescribeConsumerResult) {
	rg.State, rg.Epoch, rg.AssignmentEpoch, rg.AssignorName = r.State.String(), r.Epoch, r.AssignmentEpoch, r.Assignor
	rg.Members = make([]kmsg.ConsumerGroupDescribeResponseGroupMember, len(r.Members))
	image := c.image()
	for i, m := range r.Members {
		rm := &rg.Members[i]
		rm.Default()
		rm.MemberID, rm.InstanceID, rm.RackID, rm.MemberEpoch = m.MemberID, m.InstanceID, m.RackID, m.MemberEpoch
		rm.ClientID, rm.ClientHost, rm.SubscribedTopics = m.ClientID, m.ClientHost, m.Names
		rm.SubscribedTopicRegex = &m.Regex // an empty one where there is none, as in Kafka
		rm.Assignment.TopicPartitions = namedPartitions(image, m.Assigned)
		rm.TargetAssignment.TopicPartitions = namedPartitions(image, m.Target)
		rm.MemberType = typeConsumerMember
	}
}

// namedPartitions leaves out topics that are gone: they have no name any more.
func namedPartitions(image *metadata.Image, topics []group.TopicPartitions) (named []kmsg.AssignmentTopicPartition) {
	for _, t := range topics {
		if topic := image.TopicByID(metadata.TopicID(t.Topic)); topic != nil {
			n := kmsg.NewAssignmentTopicPartition()
			n.TopicID, n.Topic, n.Partitions = t.Topic, topic.Name, t.Partitions
			named = append(named, n)
		}
	}
	return named
}
