package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/group"
)

// ListGroups, key 16, versions 0–5 (KIP-518, KIP-848). The groups of this broker; clients ask each.
func (c *call) listGroups(req *kmsg.ListGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	c.Broker.ListGroups(req.StatesFilter, req.TypesFilter, func(groups []group.ListedGroup, err error) {
		if err != nil {
			resp.ErrorCode = c.code(err)
			groups = nil
		}
		resp.Groups = make([]kmsg.ListGroupsResponseGroup, len(groups))
		for i, g := range groups {
			rg := &resp.Groups[i]
			rg.Default()
			rg.Group, rg.ProtocolType, rg.GroupState, rg.GroupType = g.GroupID, g.ProtocolType, g.State.String(), g.Type
		}
		c.answer(resp)
	})
}
