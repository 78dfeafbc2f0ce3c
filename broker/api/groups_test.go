package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

func findCoordinator(d *desk) {
	d.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey = "g"
	d.codeIs(ask[*kmsg.FindCoordinatorResponse](d, req, 0).ErrorCode, protocol.None, "FindCoordinator")
}

func TestFindCoordinator(t *testing.T) {
	d := newDesk(t, 1)
	d.each(kmsg.FindCoordinator, func(v int16) {
		for _, kind := range []int8{0, 1, 2, 9} {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKey, req.CoordinatorKeys, req.CoordinatorType = "g", []string{"g", ""}, kind
			resp := ask[*kmsg.FindCoordinatorResponse](d, req, v)
			want, port, id := protocol.None, int32(9001), int32(1)
			if kind > 1 && v > 0 {
				want, port, id = protocol.InvalidRequest, -1, -1
			}
			if v < 4 {
				d.codeIs(resp.ErrorCode, want, "FindCoordinator")
				if resp.Port != port || resp.NodeID != id {
					t.Errorf("%+v", resp)
				}
				continue
			}
			if len(resp.Coordinators) != 2 || resp.Coordinators[1].Key != "" {
				t.Fatalf("%+v", resp)
			}
			for _, rc := range resp.Coordinators {
				d.codeIs(rc.ErrorCode, want, rc.Key)
				if rc.Port != port || rc.NodeID != id {
					t.Errorf("%+v", rc)
				}
			}
		}
	})
}

func joinRequest(id, member string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = id, member, 60_000, 60_000
	req.ProtocolType = "consumer"
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte("meta")
	req.Protocols = append(req.Protocols, p)
	return req
}

// join brings a member into a group at a version, with the second round where that is needed.
func (d *desk) join(id string, v int16) *kmsg.JoinGroupResponse {
	d.Helper()
	resp := ask[*kmsg.JoinGroupResponse](d, joinRequest(id, ""), v)
	if v >= 4 {
		d.codeIs(resp.ErrorCode, protocol.MemberIDRequired, "first JoinGroup")
		resp = ask[*kmsg.JoinGroupResponse](d, joinRequest(id, resp.MemberID), v)
	}
	d.codeIs(resp.ErrorCode, protocol.None, "JoinGroup")
	return resp
}

func syncRequest(id string, j *kmsg.JoinGroupResponse) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = id, j.MemberID, j.Generation
	req.ProtocolType, req.Protocol = new("consumer"), new("range")
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = j.MemberID, []byte("all")
	req.GroupAssignment = append(req.GroupAssignment, a)
	return req
}

// TestMembership walks through a member's life at each version of JoinGroup and at the versions of the other APIs that
// came at about the same time.
func TestMembership(t *testing.T) {
	d := newDesk(t, 1)
	findCoordinator(d)
	d.each(kmsg.JoinGroup, func(v int16) {
		id := "g" + string(rune('0'+v))
		j := d.join(id, v)
		if j.Generation != 1 || j.LeaderID != j.MemberID || len(j.Members) != 1 || string(j.Members[0].ProtocolMetadata) != "meta" ||
			j.Protocol == nil || *j.Protocol != "range" || v >= 7 && *j.ProtocolType != "consumer" {
			t.Fatalf("%+v", j)
		}
		s := ask[*kmsg.SyncGroupResponse](d, syncRequest(id, j), min(v, 5))
		d.codeIs(s.ErrorCode, protocol.None, "SyncGroup")
		if string(s.MemberAssignment) != "all" || v >= 5 && *s.Protocol != "range" {
			t.Errorf("%+v", s)
		}
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Group, beat.MemberID, beat.Generation = id, j.MemberID, 1
		d.codeIs(ask[*kmsg.HeartbeatResponse](d, beat, min(v, 4)).ErrorCode, protocol.None, "Heartbeat")
		beat.Generation = 2
		d.codeIs(ask[*kmsg.HeartbeatResponse](d, beat, min(v, 4)).ErrorCode, protocol.IllegalGeneration, "Heartbeat")
		d.checkLeave(id, j.MemberID, min(v, 5))
	})
}

func (d *desk) checkLeave(id, member string, v int16) {
	d.Helper()
	for _, want := range []protocol.Code{protocol.None, protocol.UnknownMemberID} {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group, req.MemberID = id, member
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID, m.Reason = member, new("done")
		req.Members = append(req.Members, m)
		resp := ask[*kmsg.LeaveGroupResponse](d, req, v)
		if v < 3 {
			d.codeIs(resp.ErrorCode, want, "LeaveGroup")
			continue
		}
		d.codeIs(resp.ErrorCode, protocol.None, "LeaveGroup")
		d.codeIs(resp.Members[0].ErrorCode, want, "its member")
	}
}

// TestJoinGroupErrors: what a refused JoinGroup carries beside its code.
func TestJoinGroupErrors(t *testing.T) {
	d := newDesk(t, 1)
	findCoordinator(d)
	d.each(kmsg.JoinGroup, func(v int16) {
		tests := []struct {
			what   string
			change func(*kmsg.JoinGroupRequest)
			want   protocol.Code
		}{
			{"no group id", func(r *kmsg.JoinGroupRequest) { r.Group = "" }, protocol.InvalidGroupID},
			{"session", func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1 }, protocol.InvalidSessionTimeout},
			{"member", func(r *kmsg.JoinGroupRequest) { r.MemberID = "nobody" }, protocol.UnknownMemberID},
			{"protocols", func(r *kmsg.JoinGroupRequest) { r.Protocols = nil }, protocol.InconsistentGroupProtocol},
			{"type", func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "" }, protocol.InconsistentGroupProtocol},
		}
		for _, test := range tests {
			req := joinRequest("g", "")
			test.change(req)
			resp := ask[*kmsg.JoinGroupResponse](d, req, v)
			d.codeIs(resp.ErrorCode, test.want, test.what)
			if resp.Generation != -1 || resp.MemberID != req.MemberID || resp.LeaderID != "" || len(resp.Members) != 0 ||
				v >= 7 && (resp.Protocol != nil || resp.ProtocolType != nil) {
				t.Errorf("%s: %+v", test.what, resp)
			}
		}
	})
	// From version 5 on SyncGroup must name the protocol.
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID = "g", "m"
	d.codeIs(ask[*kmsg.SyncGroupResponse](d, sync, 5).ErrorCode, protocol.InconsistentGroupProtocol, "SyncGroup")
	d.codeIs(ask[*kmsg.SyncGroupResponse](d, sync, 4).ErrorCode, protocol.UnknownMemberID, "SyncGroup")
}

// TestTwoIDsOnOneConnection (confluentinc/librdkafka#5569): the id that is not used does not hold the group up.
func TestTwoIDsOnOneConnection(t *testing.T) {
	d := newDesk(t, 1)
	findCoordinator(d)
	first := d.join("g", 9)
	ask[*kmsg.SyncGroupResponse](d, syncRequest("g", first), 5)

	d.session = d.connect()
	ask[*kmsg.JoinGroupResponse](d, joinRequest("g", ""), 9)
	second := ask[*kmsg.JoinGroupResponse](d, joinRequest("g", ""), 9).MemberID
	parked := d.send(d.session, joinRequest("g", second), 9)
	again := d.send(d.connect(), joinRequest("g", first.MemberID), 9)
	for _, slot := range []*slot{parked, again} {
		resp := receive[*kmsg.JoinGroupResponse](d, slot, 9)
		d.codeIs(resp.ErrorCode, protocol.None, "JoinGroup")
		if resp.Generation != 2 {
			t.Errorf("generation %d", resp.Generation)
		}
	}
}
