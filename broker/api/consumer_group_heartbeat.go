package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
)

// ConsumerGroupHeartbeat, key 68, versions 0–1 (KIP-848, KIP-1082).
//
// Held against Apache Kafka 4.4, which resolves regular expressions in the background (an empty assignment first) and refuses a
// static member that joins again under its own id (UNRELEASED_INSTANCE_ID). A member of a group that nobody knows is told
// UNKNOWN_MEMBER_ID and not GROUP_ID_NOT_FOUND, so that it joins anew; package broker/group says why.
func (c *call) consumerGroupHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) {
	e := &group.ConsumerHeartbeat{
		GroupID: req.Group, MemberID: req.MemberID, MemberEpoch: req.MemberEpoch, InstanceID: req.InstanceID, RackID: req.RackID,
		ClientID: string(c.header.ClientID), ClientHost: "/" + c.session.Remote.Addr().Unmap().String(),
		RebalanceTimeoutMs: req.RebalanceTimeoutMillis, NamesGiven: req.SubscribedTopicNames != nil, Names: req.SubscribedTopicNames,
		Regex: req.SubscribedTopicRegex, Assignor: req.ServerAssignor, OwnedGiven: req.Topics != nil,
		RequireMemberID: req.Version >= 1,
	}
	for _, t := range req.Topics {
		e.Owned = append(e.Owned, group.TopicPartitions{Topic: t.TopicID, Partitions: t.Partitions})
	}
	if e.MemberID == "" {
		e.NewMemberID = newUUID()
	}
	broker.AskCoordinator(c.Broker, req.Group, e, nil, func(r *group.ConsumerHeartbeatResult, err error) {
		resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
		if resp.ErrorCode = c.code(err); err != nil {
			resp.ErrorMessage = message(err)
			c.answer(resp)
			return
		}
		resp.MemberID, resp.MemberEpoch, resp.HeartbeatIntervalMillis = &r.MemberID, r.MemberEpoch, r.HeartbeatIntervalMs
		if r.AssignmentGiven {
			a := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
			a.Topics = make([]kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic, len(r.Assignment))
			for i, t := range r.Assignment {
				a.Topics[i].TopicID, a.Topics[i].Partitions = t.Topic, t.Partitions
			}
			resp.Assignment = &a
		}
		c.answer(resp)
	})
}
