package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
)

// ElectLeaders, key 43, versions 0–2 (KIP-183, KIP-460).
//
// A partition that is named twice is answered once. Asked for all partitions, topics of which no partition needed an
// election are left out. An unclean election is for a partition that nobody leads; where no live replica is known to
// have all records it is a declared loss, since what a replica has left in its RAM isn't taken for more than it is.
func (c *call) electLeaders(req *kmsg.ElectLeadersRequest) {
	spec := metadata.ElectionSpec{Type: metadata.ElectionType(req.ElectionType)}
	if req.Topics != nil {
		spec.Partitions = []metadata.PartitionRef{}
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			spec.Partitions = append(spec.Partitions, metadata.PartitionRef{Topic: t.Topic, Partition: p})
		}
	}
	if spec.Type != metadata.ElectPreferred && spec.Type != metadata.ElectUnclean {
		err := metadata.Errorf(metadata.ErrInvalidRequest, "Unknown election type %d", req.ElectionType)
		c.answer(c.elected(req, failedElections(spec, err), err))
		return
	}
	c.Cluster.ElectLeaders(spec, func(results []metadata.ElectionResult, err error) {
		if err != nil {
			results = failedElections(spec, err)
		}
		c.answer(c.elected(req, results, err))
	})
}

// failedElections says of each partition that was named what is true of the whole request.
func failedElections(spec metadata.ElectionSpec, err error) []metadata.ElectionResult {
	results := make([]metadata.ElectionResult, len(spec.Partitions))
	for i, ref := range spec.Partitions {
		results[i] = metadata.ElectionResult{PartitionRef: ref, Err: err}
	}
	return results
}

func (c *call) elected(req *kmsg.ElectLeadersRequest, results []metadata.ElectionResult, err error) *kmsg.ElectLeadersResponse {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	resp.ErrorCode = c.code(err)
	var topics byTopic[kmsg.ElectLeadersResponseTopicPartition]
	for _, r := range results {
		rp := kmsg.NewElectLeadersResponseTopicPartition()
		rp.Partition, rp.ErrorCode, rp.ErrorMessage = r.Partition, c.code(r.Err), message(r.Err)
		topics.add(r.Topic, rp)
	}
	for _, name := range topics.names {
		rt := kmsg.NewElectLeadersResponseTopic()
		rt.Topic, rt.Partitions = name, topics.parts[name]
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
