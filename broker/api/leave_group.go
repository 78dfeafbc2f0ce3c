package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
)

// LeaveGroup, key 13, versions 0–5 (KIP-345, KIP-800).
func (c *call) leaveGroup(req *kmsg.LeaveGroupRequest) {
	e := &group.Leave{GroupID: req.Group, Members: make([]group.LeaveMember, len(req.Members))}
	if req.Version < 3 {
		e.Members = []group.LeaveMember{{MemberID: req.MemberID}}
	} else {
		for i, m := range req.Members {
			e.Members[i] = group.LeaveMember{MemberID: m.MemberID, InstanceID: m.InstanceID}
			if m.Reason != nil {
				e.Members[i].Reason = *m.Reason
			}
		}
	}
	broker.AskCoordinator(c.Broker, req.Group, e, nil, func(r *group.LeaveResult, err error) {
		c.answer(c.left(req, r, err))
	})
}

func (c *call) left(req *kmsg.LeaveGroupRequest, r *group.LeaveResult, err error) *kmsg.LeaveGroupResponse {
	resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	resp.ErrorCode = c.code(err)
	switch {
	case r == nil:
	case req.Version < 3: // one member, and its error is the answer's
		resp.ErrorCode = c.code(r.Members[0].Err)
	default:
		resp.Members = make([]kmsg.LeaveGroupResponseMember, len(r.Members))
		for i, m := range r.Members {
			rm := &resp.Members[i]
			rm.Default()
			rm.MemberID, rm.InstanceID, rm.ErrorCode = m.MemberID, m.InstanceID, c.code(m.Err)
		}
	}
	return resp
}
