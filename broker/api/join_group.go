package api

import (
	"crypto/rand"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
)

// JoinGroup, key 11, versions 0–9 (KIP-62, KIP-345, KIP-394, KIP-559, KIP-800, KIP-814).
//
// Where the group's behaviour is better than Apache Kafka's on purpose is said in package broker/group.
func (c *call) joinGroup(req *kmsg.JoinGroupRequest) {
	e := &group.Join{
		GroupID: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID,
		ClientID: string(c.header.ClientID), ClientHost: "/" + c.session.Remote.Addr().Unmap().String(),
		ConnectionID: c.session.id, SessionTimeoutMs: req.SessionTimeoutMillis, RebalanceTimeoutMs: req.RebalanceTimeoutMillis,
		ProtocolType: req.ProtocolType, Protocols: make([]group.Protocol, len(req.Protocols)),
		RequireMemberID: req.Version >= 4, SkipAssignment: req.Version >= 9,
	}
	if req.Version == 0 {
		e.RebalanceTimeoutMs = -1 // there is no such field
	}
	for i, p := range req.Protocols {
		e.Protocols[i] = group.Protocol{Name: p.Name, Metadata: p.Metadata}
	}
	if req.Reason != nil {
		e.Reason = *req.Reason
	}
	if e.MemberID == "" {
		e.NewMemberUUID = newUUID()
	}
	broker.AskCoordinator(c.Broker, req.Group, e, nil, func(r *group.JoinResult, err error) {
		c.answer(joined(req, r, c.code(err)))
	})
}

func joined(req *kmsg.JoinGroupRequest, r *group.JoinResult, code int16) *kmsg.JoinGroupResponse {
	resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
	resp.ErrorCode, resp.Generation = code, -1
	if r != nil {
		resp.MemberID, resp.Generation, resp.LeaderID = r.MemberID, r.Generation, r.Leader
		resp.ProtocolType, resp.Protocol, resp.SkipAssignment = r.ProtocolType, r.ProtocolName, r.SkipAssignment
		resp.Members = make([]kmsg.JoinGroupResponseMember, len(r.Members))
		for i, m := range r.Members {
			rm := &resp.Members[i]
			rm.Default()
			rm.MemberID, rm.InstanceID, rm.ProtocolMetadata = m.MemberID, m.InstanceID, m.Metadata
		}
	}
	return resp
}

// newUUID is a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
