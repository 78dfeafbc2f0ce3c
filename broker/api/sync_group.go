package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
)

// SyncGroup, key 14, versions 0–5 (KIP-345, KIP-559).
func (c *call) syncGroup(req *kmsg.SyncGroupRequest) {
	resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
	if req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
		resp.ErrorCode = c.code(group.ErrInconsistentProtocol) // from version 5 on they must be told
		c.answer(resp)
		return
	}
	e := &group.Sync{
		GroupID: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation,
		ProtocolType: req.ProtocolType, ProtocolName: req.Protocol,
		Assignments: make([]group.Assignment, len(req.GroupAssignment)),
	}
	for i, a := range req.GroupAssignment {
		e.Assignments[i] = group.Assignment{MemberID: a.MemberID, Assignment: a.MemberAssignment}
	}
	broker.AskCoordinator(c.Broker, req.Group, e, nil, func(r *group.SyncResult, err error) {
		if errors.Is(err, group.ErrLoading) {
			err = group.ErrRebalanceInProgress // clients know no better code here; they join again, as on Apache Kafka
		}
		resp.ErrorCode = c.code(err)
		if r != nil {
			resp.ProtocolType, resp.Protocol, resp.MemberAssignment = r.ProtocolType, r.ProtocolName, r.Assignment
		}
		c.answer(resp)
	})
}
