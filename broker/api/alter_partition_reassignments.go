package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
)

// AlterPartitionReassignments, key 45, versions 0–1 (KIP-455, KIP-860).
//
// A partition that is named twice is refused; Apache Kafka carries out both in turn.
func (c *call) alterPartitionReassignments(req *kmsg.AlterPartitionAssignmentsRequest) {
	var specs []metadata.ReassignmentSpec
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			ref := metadata.PartitionRef{Topic: t.Topic, Partition: p.Partition}
			specs = append(specs, metadata.ReassignmentSpec{PartitionRef: ref, Replicas: p.Replicas})
		}
	}
	allow := req.Version == 0 || req.AllowReplicationFactorChange
	c.Cluster.AlterReassignments(specs, allow, func(results []metadata.ReassignmentResult) {
		resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
		resp.AllowReplicationFactorChange = allow
		var topics byTopic[kmsg.AlterPartitionAssignmentsResponseTopicPartition]
		for _, r := range results {
			rp := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.ErrorMessage = r.Partition, c.code(r.Err), message(r.Err)
			topics.add(r.Topic, rp)
		}
		for _, name := range topics.names {
			rt := kmsg.NewAlterPartitionAssignmentsResponseTopic()
			rt.Topic, rt.Partitions = name, topics.parts[name]
			resp.Topics = append(resp.Topics, rt)
		}
		c.answer(resp)
	})
}
