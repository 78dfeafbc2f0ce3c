package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
)

// CreatePartitions, key 37, versions 0–3 (KIP-195).
func (c *call) createPartitions(req *kmsg.CreatePartitionsRequest) {
	specs := make([]metadata.PartitionsSpec, len(req.Topics))
	for i, t := range req.Topics {
		specs[i] = metadata.PartitionsSpec{Name: t.Topic, Count: t.Count}
		if t.Assignment != nil {
			specs[i].Assignment = [][]int32{}
		}
		for _, a := range t.Assignment {
			specs[i].Assignment = append(specs[i].Assignment, a.Replicas)
		}
	}
	c.Cluster.CreatePartitions(specs, req.ValidateOnly, func(results []metadata.PartitionsResult) {
		resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
		answered := map[string]bool{}
		for _, r := range results {
			if answered[r.Name] {
				continue
			}
			answered[r.Name] = true
			rt := kmsg.NewCreatePartitionsResponseTopic()
			rt.Topic, rt.ErrorCode, rt.ErrorMessage = r.Name, c.code(r.Err), message(r.Err)
			resp.Topics = append(resp.Topics, rt)
		}
		c.answer(resp)
	})
}
