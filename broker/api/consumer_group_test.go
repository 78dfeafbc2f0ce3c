package api_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

func consumerJoin(id, member string, topics ...string) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.RebalanceTimeoutMillis, req.SubscribedTopicNames = id, member, 60_000, topics
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return req
}

func consumerBeat(id, member string, epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = id, member, epoch
	return req
}

// TestConsumerGroupMembership walks through the lives of two members at each version.
func TestConsumerGroupMembership(t *testing.T) {
	d := newDesk(t, 1)
	findCoordinator(d)
	topic := d.topic("t", 2)
	d.each(kmsg.ConsumerGroupHeartbeat, func(v int16) {
		id := "g" + string(rune('0'+v))
		beat := func(req *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
			t.Helper()
			resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](d, req, v)
			d.codeIs(resp.ErrorCode, protocol.None, "ConsumerGroupHeartbeat")
			return resp
		}
		member := "m1"
		if v == 0 {
			member = "" // the coordinator draws one
		}
		one := beat(consumerJoin(id, member, "t"))
		if one.MemberID == nil || *one.MemberID == "" || v > 0 && *one.MemberID != "m1" || one.MemberEpoch != 2 ||
			one.HeartbeatIntervalMillis != 5000 || one.Assignment == nil {
			t.Fatalf("%+v", one)
		}
		d.want(fmt.Sprint(one.Assignment.Topics), fmt.Sprint([]kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{
			{TopicID: topic.ID, Partitions: []int32{0, 1}}}), "assignment of the first")
		if two := beat(consumerJoin(id, "m2", "t")); two.MemberEpoch != 3 || len(two.Assignment.Topics) != 0 {
			t.Errorf("%+v", two)
		}
		if r := beat(consumerBeat(id, *one.MemberID, 2)); r.MemberEpoch != 2 || len(r.Assignment.Topics[0].Partitions) != 1 {
			t.Errorf("%+v", r)
		}
		d.checkConsumerGroup(id, "Reconciling")
		if r := beat(consumerBeat(id, "m2", 3)); r.Assignment != nil {
			t.Errorf("a partition was given that is not free: %+v", r)
		}
		beat(consumerBeat(id, *one.MemberID, -1))
		if r := beat(consumerBeat(id, "m2", 3)); r.MemberEpoch != 4 || len(r.Assignment.Topics[0].Partitions) != 2 {
			t.Errorf("%+v", r)
		}
		d.checkConsumerGroup(id, "Stable")
	})
}

func (d *desk) checkConsumerGroup(id, state string) {
	d.Helper()
	d.each(kmsg.ConsumerGroupDescribe, func(v int16) {
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Groups, req.IncludeAuthorizedOperations = []string{id, "nobody", ""}, true
		resp := ask[*kmsg.ConsumerGroupDescribeResponse](d, req, v)
		g := resp.Groups[0]
		if g.ErrorCode != 0 || g.State != state || g.AssignorName != "uniform" || g.AuthorizedOperations <= 0 ||
			g.Epoch != g.AssignmentEpoch || len(g.Members) == 0 {
			d.Errorf("%+v", g)
		}
		for _, m := range g.Members {
			if m.SubscribedTopics[0] != "t" || v > 0 && m.MemberType != 1 || m.TargetAssignment.TopicPartitions[0].Topic != "t" {
				d.Errorf("%+v", m)
			}
		}
		d.codeIs(resp.Groups[1].ErrorCode, protocol.GroupIDNotFound, "a group that is not")
		d.codeIs(resp.Groups[2].ErrorCode, protocol.InvalidGroupID, "a group without a name")
		if resp.Groups[1].ErrorMessage == nil || *resp.Groups[1].ErrorMessage != "Group nobody not found." {
			d.Errorf("%+v", resp.Groups[1])
		}
	})
	list := ask[*kmsg.ListGroupsResponse](d, &kmsg.ListGroupsRequest{TypesFilter: []string{"consumer"}, StatesFilter: []string{state}}, 5)
	found := false
	for _, g := range list.Groups {
		found = found || g.Group == id && g.GroupType == "consumer" && g.GroupState == state && g.ProtocolType == "consumer"
	}
	if !found {
		d.Errorf("%s is not listed: %+v", id, list.Groups)
	}
	for _, v := range []int16{5, 6} {
		rg := ask[*kmsg.DescribeGroupsResponse](d, &kmsg.DescribeGroupsRequest{Groups: []string{id}}, v).Groups[0]
		want := protocol.None
		if v == 6 {
			want = protocol.GroupIDNotFound
		}
		d.codeIs(rg.ErrorCode, want, "DescribeGroups")
		if rg.State != "Dead" || v == 6 && *rg.ErrorMessage != "Group "+id+" is not a classic group." {
			d.Errorf("%+v", rg)
		}
	}
}

func TestConsumerGroupErrors(t *testing.T) {
	d := newDesk(t, 1)
	findCoordinator(d)
	d.topic("t", 1)
	d.join("classic", 9)
	ask[*kmsg.ConsumerGroupHeartbeatResponse](d, consumerJoin("g", "m", "t"), 1)
	static := consumerJoin("g", "s", "t")
	static.InstanceID = new("i")
	ask[*kmsg.ConsumerGroupHeartbeatResponse](d, static, 1)
	tests := []struct {
		what   string
		group  string
		change func(*kmsg.ConsumerGroupHeartbeatRequest)
		want   protocol.Code
	}{
		{"no group", "", func(*kmsg.ConsumerGroupHeartbeatRequest) {}, protocol.InvalidRequest},
		{"no member id", "g", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberID = "" }, protocol.InvalidRequest},
		{"no subscription", "g", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicNames = nil }, protocol.InvalidRequest},
		{"null partitions", "g", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Topics = nil }, protocol.InvalidRequest},
		{"assignor", "g", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.ServerAssignor = new("x") }, protocol.UnsupportedAssignor},
		{"regex", "g", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicRegex = new("(") }, protocol.InvalidRegularExpression},
		{"classic group", "classic", func(*kmsg.ConsumerGroupHeartbeatRequest) {}, protocol.GroupIDNotFound},
		{"member", "g", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = 1 }, protocol.UnknownMemberID},
		{"epoch", "g", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberID, r.MemberEpoch = "m", 7 }, protocol.FencedMemberEpoch},
		{"instance id", "g", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.InstanceID = new("i") }, protocol.UnreleasedInstanceID},
		{"fenced", "g", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.InstanceID, r.MemberEpoch = new("i"), 3 }, protocol.FencedInstanceID},
		{"group of nobody", "x", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = 2 }, protocol.UnknownMemberID},
		{"leaves a group of nobody", "x", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -1 }, protocol.GroupIDNotFound},
	}
	for _, test := range tests {
		req := consumerJoin(test.group, "new", "t")
		test.change(req)
		resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](d, req, 1)
		d.codeIs(resp.ErrorCode, test.want, test.what)
		if resp.ErrorMessage == nil || *resp.ErrorMessage == "" || resp.Assignment != nil {
			t.Errorf("%s: %+v", test.what, resp)
		}
	}
	d.codeIs(ask[*kmsg.JoinGroupResponse](d, joinRequest("g", ""), 9).ErrorCode, protocol.InconsistentGroupProtocol, "JoinGroup")
}

// TestConsumerGroupOffsets: a member commits and fetches with its epoch.
func TestConsumerGroupOffsets(t *testing.T) {
	d := newDesk(t, 1)
	findCoordinator(d)
	topic := d.topic("t", 1)
	ask[*kmsg.ConsumerGroupHeartbeatResponse](d, consumerJoin("g", "m", "t"), 1)
	commit := func(v int16, epoch int32) int16 {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.MemberID, req.Generation = "g", "m", epoch
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic, rt.TopicID = "t", topic.ID
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Offset = 5
		rt.Partitions = append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)
		return ask[*kmsg.OffsetCommitResponse](d, req, v).Topics[0].Partitions[0].ErrorCode
	}
	d.codeIs(commit(8, 2), protocol.UnsupportedVersion, "commit without epochs")
	d.codeIs(commit(9, 1), protocol.StaleMemberEpoch, "commit with another epoch")
	d.codeIs(commit(9, 2), protocol.None, "commit")
	d.codeIs(commit(10, 2), protocol.None, "commit")
	for _, test := range []struct {
		member *string
		epoch  int32
		want   protocol.Code
	}{{new("m"), 2, protocol.None}, {new("m"), 3, protocol.StaleMemberEpoch}, {new("x"), 1, protocol.UnknownMemberID}, {nil, -1, protocol.None}} {
		req := kmsg.NewPtrOffsetFetchRequest()
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group, g.MemberID, g.MemberEpoch = "g", test.member, test.epoch
		req.Groups = append(req.Groups, g)
		d.codeIs(ask[*kmsg.OffsetFetchResponse](d, req, 9).Groups[0].ErrorCode, test.want, "OffsetFetch")
	}
}

// TestMetadataByID: consumers that were assigned ids ask for the names. Java's send an empty name beside the id.
func TestMetadataByID(t *testing.T) {
	d := newDesk(t, 1)
	topic := d.topic("t", 1)
	for _, name := range []*string{nil, new(""), new("another")} {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{{Topic: name, TopicID: topic.ID}, {Topic: name, TopicID: [16]byte{1}}}
		resp := ask[*kmsg.MetadataResponse](d, req, 13)
		if known := resp.Topics[0]; known.ErrorCode != 0 || *known.Topic != "t" || known.TopicID != topic.ID {
			t.Errorf("%+v", known)
		}
		if unknown := resp.Topics[1]; unknown.Topic != nil || unknown.TopicID != [16]byte{1} {
			t.Errorf("%+v", unknown)
		}
		d.codeIs(resp.Topics[1].ErrorCode, protocol.UnknownTopicID, "an id of nothing")
	}
}
