package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
)

// DeleteGroups, key 42, versions 0–3 (KIP-229, KIP-1043). A group that is named twice is answered once.
func (c *call) deleteGroups(req *kmsg.DeleteGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	seen := map[string]bool{}
	for _, id := range req.Groups {
		if !seen[id] {
			seen[id] = true
			rg := kmsg.NewDeleteGroupsResponseGroup()
			rg.Group = id
			resp.Groups = append(resp.Groups, rg)
		}
	}
	g := newGather(len(resp.Groups), func() { c.answer(resp) })
	for i := range resp.Groups {
		rg := &resp.Groups[i]
		broker.AskCoordinator(c.Broker, rg.Group, &group.Delete{GroupID: rg.Group}, nil, func(_ any, err error) {
			rg.ErrorCode = c.code(err)
			g.done()
		})
	}
}
