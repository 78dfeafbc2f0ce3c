package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
)

// DescribeGroups, key 15, versions 0–6 (KIP-345, KIP-430, KIP-1043).
//
// A group that nobody knows, or that is of the consumer protocol, is Dead; that this is an error too is only said from version 6 on.
func (c *call) describeGroups(req *kmsg.DescribeGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(req.Groups))
	g := newGather(len(req.Groups), func() { c.answer(resp) })
	for i, id := range req.Groups {
		rg := &resp.Groups[i]
		rg.Default()
		rg.Group = id
		broker.AskCoordinator(c.Broker, id, &group.Describe{GroupID: id}, nil, func(r *group.DescribeResult, err error) {
			c.described(req, rg, r, err)
			g.done()
		})
	}
}

func (c *call) described(req *kmsg.DescribeGroupsRequest, rg *kmsg.DescribeGroupsResponseGroup, r *group.DescribeResult,
	err error) {
	if errors.Is(err, group.ErrGroupNotFound) {
		rg.State = group.Dead.String()
		if req.Version >= 6 {
			rg.ErrorCode, rg.ErrorMessage = c.code(err), new(err.Error())
		}
	} else if err != nil {
		rg.ErrorCode = c.code(err)
	}
	if req.IncludeAuthorizedOperations && rg.ErrorCode == 0 {
		rg.AuthorizedOperations = groupOperations
	}
	if err != nil {
		return
	}
	rg.State, rg.ProtocolType, rg.Protocol = r.State.String(), r.ProtocolType, r.Protocol
	rg.Members = make([]kmsg.DescribeGroupsResponseGroupMember, len(r.Members))
	for i, m := range r.Members {
		rm := &rg.Members[i]
		rm.Default()
		rm.MemberID, rm.InstanceID, rm.ClientID, rm.ClientHost = m.MemberID, m.InstanceID, m.ClientID, m.ClientHost
		rm.ProtocolMetadata, rm.MemberAssignment = m.Metadata, m.Assignment
	}
}
