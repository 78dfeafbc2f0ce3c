package api_test

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"millrace/broker"
	"millrace/broker/api"
	"millrace/config"
	"millrace/jobs"
	"millrace/metadata"
	"millrace/metadata/central"
	"millrace/metadata/memory"
	"millrace/protocol"
	"millrace/protocol/kafka"
	"millrace/slab"
)

// groupDesk is one broker with its desk, and no socket.
type groupDesk struct {
	*testing.T
	desk    *api.Desk
	central *central.Server
	session *api.Session
}

func newGroupDesk(t *testing.T, set ...string) *groupDesk {
	t.Helper()
	cfg, _, err := config.Load(config.Input{Overrides: set})
	if err != nil {
		t.Fatal(err)
	}
	d := &groupDesk{T: t}
	pool, wheel, handover := slab.NewPool(slab.Options{LimitBytes: 64 << 20}), jobs.NewWheel(), broker.NewHandover()
	d.central, err = central.Open(central.Options{Store: memory.Open(memory.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	b := broker.New(1, broker.Deps{Cluster: d.central, Config: cfg, Slabs: pool, Wheel: wheel, Handover: handover,
		Log: zap.NewNop(), Now: time.Now})
	d.central.Subscribe(func(old, new *metadata.Image, deltas []metadata.Delta) {
		b.Leave(old, new, deltas)
		b.Lead(old, new, deltas)
	})
	d.desk = api.NewDesk(api.Deps{Broker: b, Cluster: d.central, Config: cfg, Log: zap.NewNop()})
	t.Cleanup(func() {
		b.Close()
		d.central.Close()
		wheel.Stop()
		handover.Close()
		if left := pool.Close(); left != 0 {
			t.Errorf("%d slabs were not given back", left)
		}
	})
	registered := make(chan error, 1)
	d.central.RegisterBroker(metadata.BrokerSpec{ID: 1, Endpoints: []metadata.Endpoint{
		{Name: "PLAINTEXT", Host: "127.0.0.1", Port: 9092, SecurityProtocol: "PLAINTEXT"}}},
		func(_ *metadata.Broker, err error) { registered <- err })
	if err := <-registered; err != nil {
		t.Fatal(err)
	}
	d.session = d.connect()
	return d
}

func (d *groupDesk) connect() *api.Session {
	return d.desk.Open(netip.MustParseAddrPort("127.0.0.1:9092"), netip.MustParseAddrPort("10.0.0.7:5000"))
}

// topic makes a topic, or makes it again.
func (d *groupDesk) topic(name string, partitions int32) *metadata.Topic {
	d.Helper()
	done := make(chan metadata.TopicResult, 1)
	d.central.CreateTopics([]metadata.TopicSpec{{Name: name, Partitions: partitions, ReplicationFactor: 1}}, false,
		func(r []metadata.TopicResult) { done <- r[0] })
	r := <-done
	if r.Err != nil {
		d.Fatal(r.Err)
	}
	return r.Topic
}

// replySlot takes one answer.
type replySlot chan protocol.Reply

func (s replySlot) Reply(r protocol.Reply) { s <- r }
func (s replySlot) Drop()                  { panic("dropped") }
func (s replySlot) Fail(reason string)     { panic("failed: " + reason) }

// send starts a request at a version; the answer is what the channel will bring.
func (d *groupDesk) send(s *api.Session, req kmsg.Request, version int16) replySlot {
	d.Helper()
	req.SetVersion(version)
	frame := binary.BigEndian.AppendUint16(nil, uint16(req.Key()))
	frame = binary.BigEndian.AppendUint16(frame, uint16(version))
	frame = binary.BigEndian.AppendUint32(frame, 77)
	frame = append(frame, 0, 6, 'c', 'l', 'i', 'e', 'n', 't')
	if req.IsFlexible() {
		frame = append(frame, 0)
	}
	slot := make(replySlot, 1)
	d.desk.Serve(s, req.AppendTo(frame), slot)
	return slot
}

// receive decodes an answer.
func receive[R kmsg.Response](d *groupDesk, slot replySlot, version int16) R {
	d.Helper()
	var reply protocol.Reply
	select {
	case reply = <-slot:
	case <-time.After(10 * time.Second):
		d.Fatal("no answer")
	}
	defer reply.Release()
	var resp R
	r := kmsg.ResponseForKey(resp.Key())
	r.SetVersion(version)
	b := reply.Buf.B[8:]
	if r.IsFlexible() {
		b = b[1:]
	}
	if err := r.ReadFrom(b); err != nil {
		d.Fatal(err)
	}
	return r.(R)
}

func ask[R kmsg.Response](d *groupDesk, req kmsg.Request, version int16) R {
	d.Helper()
	return receive[R](d, d.send(d.session, req, version), version)
}

// each runs f at every version of an API that the table has.
func (d *groupDesk) each(key kmsg.Key, f func(version int16)) {
	d.Helper()
	a := kafka.Lookup(key.Int16())
	for v := a.Min; v <= a.Max; v++ {
		f(v)
		if d.Failed() {
			d.Fatalf("at version %d of %s", v, key.Name())
		}
	}
}

// codeIs complains about an error code that is not the one wanted.
func (d *groupDesk) codeIs(got int16, want protocol.Code, what string) {
	d.Helper()
	if protocol.Code(got) != want {
		d.Errorf("%s: %v, want %v", what, protocol.Code(got), want)
	}
}

func findCoordinator(d *groupDesk) {
	d.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey = "g"
	d.codeIs(ask[*kmsg.FindCoordinatorResponse](d, req, 0).ErrorCode, protocol.None, "FindCoordinator")
}

func TestFindCoordinator(t *testing.T) {
	d := newGroupDesk(t)
	d.each(kmsg.FindCoordinator, func(v int16) {
		for _, kind := range []int8{0, 1, 2, 9} {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKey, req.CoordinatorKeys, req.CoordinatorType = "g", []string{"g", ""}, kind
			resp := ask[*kmsg.FindCoordinatorResponse](d, req, v)
			want, port, id := protocol.None, int32(9092), int32(1)
			if kind != 0 && v > 0 {
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
func (d *groupDesk) join(id string, v int16) *kmsg.JoinGroupResponse {
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
	d := newGroupDesk(t)
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

func (d *groupDesk) checkLeave(id, member string, v int16) {
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
	d := newGroupDesk(t)
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
	d := newGroupDesk(t)
	findCoordinator(d)
	first := d.join("g", 9)
	ask[*kmsg.SyncGroupResponse](d, syncRequest("g", first), 5)

	d.session = d.connect()
	ask[*kmsg.JoinGroupResponse](d, joinRequest("g", ""), 9)
	second := ask[*kmsg.JoinGroupResponse](d, joinRequest("g", ""), 9).MemberID
	parked := d.send(d.session, joinRequest("g", second), 9)
	again := d.send(d.connect(), joinRequest("g", first.MemberID), 9)
	for _, slot := range []replySlot{parked, again} {
		resp := receive[*kmsg.JoinGroupResponse](d, slot, 9)
		d.codeIs(resp.ErrorCode, protocol.None, "JoinGroup")
		if resp.Generation != 2 {
			t.Errorf("generation %d", resp.Generation)
		}
	}
}
