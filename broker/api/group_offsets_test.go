package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
	"millrace/protocol"
)

// commitRequest commits one offset of one topic. Topics are named by id where the version does so.
func commitRequest(id string, t *metadata.Topic, name string, partition int32, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = id, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = name
	if t != nil {
		rt.TopicID = t.ID
	} else {
		rt.TopicID = metadata.TopicID{9}
	}
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata = partition, offset, 3, new("note")
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

func TestOffsetCommit(t *testing.T) {
	d := newDesk(t, 1, "offset.metadata.max.bytes=5")
	topic := d.topic("t", 2)
	findCoordinator(d)
	d.each(kmsg.OffsetCommit, func(v int16) {
		tests := []struct {
			what   string
			topic  *metadata.Topic
			name   string
			change func(*kmsg.OffsetCommitRequest)
			want   protocol.Code
		}{
			{"a commit", topic, "t", func(*kmsg.OffsetCommitRequest) {}, protocol.None},
			{"no group id", topic, "t", func(r *kmsg.OffsetCommitRequest) { r.Group = "" }, protocol.None},
			{"no metadata", topic, "t", func(r *kmsg.OffsetCommitRequest) { r.Topics[0].Partitions[0].Metadata = nil }, protocol.None},
			{"unknown topic", nil, "u", func(*kmsg.OffsetCommitRequest) {}, protocol.UnknownTopicOrPartition},
			{"unknown partition", topic, "t", func(r *kmsg.OffsetCommitRequest) { r.Topics[0].Partitions[0].Partition = 2 },
				protocol.UnknownTopicOrPartition},
			{"long metadata", topic, "t", func(r *kmsg.OffsetCommitRequest) { r.Topics[0].Partitions[0].Metadata = new("123456") },
				protocol.OffsetMetadataTooLarge},
			{"a member of nothing", topic, "t", func(r *kmsg.OffsetCommitRequest) { r.Group, r.Generation = "x", 1 },
				protocol.IllegalGeneration},
			{"a wrong member", topic, "t", func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = "x", 1 },
				protocol.UnknownMemberID},
		}
		for _, test := range tests {
			want := test.want
			switch {
			case v >= 10 && test.topic == nil:
				want = protocol.UnknownTopicID
			case v >= 9 && want == protocol.IllegalGeneration:
				want = protocol.GroupIDNotFound
			}
			req := commitRequest("g", test.topic, test.name, 0, int64(v))
			test.change(req)
			resp := ask[*kmsg.OffsetCommitResponse](d, req, v)
			rt := resp.Topics[0]
			d.codeIs(rt.Partitions[0].ErrorCode, want, test.what)
			if v < 10 && rt.Topic != test.name || v >= 10 && rt.TopicID != req.Topics[0].TopicID ||
				rt.Partitions[0].Partition != req.Topics[0].Partitions[0].Partition {
				t.Errorf("%s: %+v", test.what, rt)
			}
		}
	})
}

// TestCommitOfSeveral: what exists is committed, what does not is told, each in its place.
func TestCommitOfSeveral(t *testing.T) {
	d := newDesk(t, 1)
	topic := d.topic("t", 2)
	findCoordinator(d)
	req := commitRequest("g", nil, "u", 0, 1)
	req.Topics = append(req.Topics, commitRequest("g", topic, "t", 5, 1).Topics...)
	req.Topics[1].Partitions = append(req.Topics[1].Partitions, commitRequest("g", topic, "t", 1, 11).Topics[0].Partitions...)
	req.Topics = append(req.Topics, commitRequest("g", nil, "u", 1, 1).Topics...)
	resp := ask[*kmsg.OffsetCommitResponse](d, req, 9)
	d.codeIs(resp.Topics[0].Partitions[0].ErrorCode, protocol.UnknownTopicOrPartition, "u/0")
	d.codeIs(resp.Topics[1].Partitions[0].ErrorCode, protocol.UnknownTopicOrPartition, "t/5")
	d.codeIs(resp.Topics[1].Partitions[1].ErrorCode, protocol.None, "t/1")
	d.codeIs(resp.Topics[2].Partitions[0].ErrorCode, protocol.UnknownTopicOrPartition, "u/1")
	if got := d.fetchOffset("g", topic, 1, 9); got.Offset != 11 || got.LeaderEpoch != 3 || *got.Metadata != "note" {
		t.Errorf("fetched %+v", got)
	}
	none := kmsg.NewPtrOffsetCommitRequest()
	none.Group, none.Generation = "g", -1
	if resp := ask[*kmsg.OffsetCommitResponse](d, none, 9); len(resp.Topics) != 0 {
		t.Errorf("%+v", resp)
	}
}

// fetchOffset asks for one offset at any version.
func (d *desk) fetchOffset(id string, topic *metadata.Topic, partition int32, v int16) kmsg.OffsetFetchResponseGroupTopicPartition {
	d.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = id, true
	rt := kmsg.NewOffsetFetchRequestTopic()
	rt.Topic, rt.Partitions = topic.Name, []int32{partition}
	req.Topics = append(req.Topics, rt)
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = id
	gt := kmsg.NewOffsetFetchRequestGroupTopic()
	gt.Topic, gt.TopicID, gt.Partitions = topic.Name, topic.ID, []int32{partition}
	g.Topics = append(g.Topics, gt)
	req.Groups = append(req.Groups, g)
	resp := ask[*kmsg.OffsetFetchResponse](d, req, v)
	if v >= 8 {
		d.codeIs(resp.Groups[0].ErrorCode, protocol.None, "OffsetFetch")
		return resp.Groups[0].Topics[0].Partitions[0]
	}
	d.codeIs(resp.ErrorCode, protocol.None, "OffsetFetch")
	p := resp.Topics[0].Partitions[0]
	if v < 5 {
		p.LeaderEpoch = 3
	}
	return kmsg.OffsetFetchResponseGroupTopicPartition{Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch,
		Metadata: p.Metadata, ErrorCode: p.ErrorCode}
}

func TestOffsetFetch(t *testing.T) {
	d := newDesk(t, 1)
	topic := d.topic("t", 2)
	findCoordinator(d)
	d.codeIs(ask[*kmsg.OffsetCommitResponse](d, commitRequest("g", topic, "t", 0, 7), 9).Topics[0].Partitions[0].ErrorCode,
		protocol.None, "OffsetCommit")
	d.each(kmsg.OffsetFetch, func(v int16) {
		if p := d.fetchOffset("g", topic, 0, v); p.Offset != 7 || *p.Metadata != "note" || p.LeaderEpoch != 3 || p.ErrorCode != 0 {
			t.Errorf("%+v", p)
		}
		for _, id := range []string{"g", "nobody", ""} {
			partition := int32(1)
			if p := d.fetchOffset(id, topic, partition, v); p.Offset != -1 || p.ErrorCode != 0 || p.Metadata == nil || *p.Metadata != "" {
				t.Errorf("%q without an offset: %+v", id, p)
			}
		}
		if v >= 2 {
			d.checkFetchAll(topic, v)
		}
		if v >= 10 {
			p := d.fetchOffset("g", &metadata.Topic{ID: metadata.TopicID{9}}, 0, v)
			d.codeIs(p.ErrorCode, protocol.UnknownTopicID, "unknown topic id")
		}
	})
}

// checkFetchAll: no list of topics means all of them, an empty list none.
func (d *desk) checkFetchAll(topic *metadata.Topic, v int16) {
	d.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.Topics = "g", nil
	all, none := kmsg.NewOffsetFetchRequestGroup(), kmsg.NewOffsetFetchRequestGroup()
	all.Group, none.Group, none.Topics = "g", "g", []kmsg.OffsetFetchRequestGroupTopic{}
	req.Groups = append(req.Groups, all, none)
	resp := ask[*kmsg.OffsetFetchResponse](d, req, v)
	if v < 8 {
		if len(resp.Topics) != 1 || resp.Topics[0].Topic != "t" || resp.Topics[0].Partitions[0].Offset != 7 {
			d.Errorf("all topics: %+v", resp)
		}
		return
	}
	topics := resp.Groups[0].Topics
	if len(topics) != 1 || v < 10 && topics[0].Topic != "t" || v >= 10 && topics[0].TopicID != topic.ID ||
		topics[0].Partitions[0].Offset != 7 {
		d.Errorf("all topics: %+v", resp)
	}
	if len(resp.Groups[1].Topics) != 0 {
		d.Errorf("no topics: %+v", resp.Groups[1])
	}
}

func TestDescribeListDeleteGroups(t *testing.T) {
	d := newDesk(t, 1)
	topic := d.topic("t", 1)
	findCoordinator(d)
	j := d.join("stable", 9)
	ask[*kmsg.SyncGroupResponse](d, syncRequest("stable", j), 5)
	d.each(kmsg.DescribeGroups, func(v int16) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups, req.IncludeAuthorizedOperations = []string{"stable", "nobody", ""}, v%2 == 1
		resp := ask[*kmsg.DescribeGroupsResponse](d, req, v)
		g := resp.Groups[0]
		d.codeIs(g.ErrorCode, protocol.None, "DescribeGroups")
		if g.State != "Stable" || g.ProtocolType != "consumer" || g.Protocol != "range" || len(g.Members) != 1 {
			t.Errorf("%+v", g)
		}
		m := g.Members[0]
		if m.ClientID != "client" || m.ClientHost != "/10.0.0.7" || string(m.ProtocolMetadata) != "meta" || string(m.MemberAssignment) != "all" {
			t.Errorf("%+v", m)
		}
		if asked := v >= 3 && v%2 == 1; (g.AuthorizedOperations != -1<<31) != asked {
			t.Errorf("authorized operations %d", g.AuthorizedOperations)
		}
		for _, g := range resp.Groups[1:] {
			want := protocol.None
			if v >= 6 {
				want = protocol.GroupIDNotFound
			}
			d.codeIs(g.ErrorCode, want, "unknown group")
			if g.State != "Dead" || v >= 6 && (g.ErrorMessage == nil || g.AuthorizedOperations != -1<<31) {
				t.Errorf("%+v", g)
			}
		}
	})
	d.each(kmsg.ListGroups, func(v int16) {
		resp := ask[*kmsg.ListGroupsResponse](d, kmsg.NewPtrListGroupsRequest(), v)
		g := resp.Groups[0]
		if len(resp.Groups) != 1 || g.Group != "stable" || g.ProtocolType != "consumer" || v >= 4 && g.GroupState != "Stable" ||
			v >= 5 && g.GroupType != "classic" {
			t.Errorf("%+v", resp)
		}
	})
	d.each(kmsg.DeleteGroups, func(v int16) {
		ask[*kmsg.OffsetCommitResponse](d, commitRequest("simple", topic, "t", 0, 7), 9)
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{"simple", "stable", "nobody", "simple"}
		resp := ask[*kmsg.DeleteGroupsResponse](d, req, v)
		if len(resp.Groups) != 3 {
			t.Fatalf("%+v", resp)
		}
		for i, want := range []protocol.Code{protocol.None, protocol.NonEmptyGroup, protocol.GroupIDNotFound} {
			d.codeIs(resp.Groups[i].ErrorCode, want, resp.Groups[i].Group)
		}
		if p := d.fetchOffset("simple", topic, 0, 9); p.Offset != -1 {
			t.Errorf("after the deletion: %+v", p)
		}
	})
}

// TestWithoutCoordinator: before there is one, every API says so in its own way.
func TestWithoutCoordinator(t *testing.T) {
	d := newDesk(t, 1)
	topic := d.topic("t", 1)
	d.codeIs(ask[*kmsg.JoinGroupResponse](d, joinRequest("g", ""), 9).ErrorCode, protocol.NotCoordinator, "JoinGroup")
	d.codeIs(ask[*kmsg.OffsetCommitResponse](d, commitRequest("g", topic, "t", 0, 1), 9).Topics[0].Partitions[0].ErrorCode,
		protocol.NotCoordinator, "OffsetCommit")
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group = "g"
	d.codeIs(ask[*kmsg.LeaveGroupResponse](d, leave, 5).ErrorCode, protocol.NotCoordinator, "LeaveGroup")
	d.codeIs(ask[*kmsg.LeaveGroupResponse](d, leave, 1).ErrorCode, protocol.NotCoordinator, "LeaveGroup")
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Group = "g"
	rt := kmsg.NewOffsetFetchRequestTopic()
	rt.Topic, rt.Partitions = "t", []int32{0}
	fetch.Topics = append(fetch.Topics, rt)
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "g"
	fetch.Groups = append(fetch.Groups, g)
	d.codeIs(ask[*kmsg.OffsetFetchResponse](d, fetch, 1).Topics[0].Partitions[0].ErrorCode, protocol.NotCoordinator, "OffsetFetch 1")
	d.codeIs(ask[*kmsg.OffsetFetchResponse](d, fetch, 7).ErrorCode, protocol.NotCoordinator, "OffsetFetch 7")
	d.codeIs(ask[*kmsg.OffsetFetchResponse](d, fetch, 9).Groups[0].ErrorCode, protocol.NotCoordinator, "OffsetFetch 9")
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"g"}
	d.codeIs(ask[*kmsg.DescribeGroupsResponse](d, describe, 5).Groups[0].ErrorCode, protocol.NotCoordinator, "DescribeGroups")
	drop := kmsg.NewPtrDeleteGroupsRequest()
	drop.Groups = []string{"g"}
	d.codeIs(ask[*kmsg.DeleteGroupsResponse](d, drop, 3).Groups[0].ErrorCode, protocol.NotCoordinator, "DeleteGroups")
	if resp := ask[*kmsg.ListGroupsResponse](d, kmsg.NewPtrListGroupsRequest(), 5); resp.ErrorCode != 0 || len(resp.Groups) != 0 {
		t.Errorf("ListGroups: %+v", resp)
	}
}
