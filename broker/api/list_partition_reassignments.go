package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
)

// ListPartitionReassignments, key 46, version 0 (KIP-455).
func (c *call) listPartitionReassignments(req *kmsg.ListPartitionReassignmentsRequest) {
	var refs []metadata.PartitionRef
	if req.Topics != nil {
		refs = []metadata.PartitionRef{}
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			refs = append(refs, metadata.PartitionRef{Topic: t.Topic, Partition: p})
		}
	}
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	var topics byTopic[kmsg.ListPartitionReassignmentsResponseTopicPartition]
	for _, r := range c.Cluster.Reassignments(refs) {
		rp := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
		rp.Partition, rp.Replicas, rp.AddingReplicas, rp.RemovingReplicas = r.Partition, r.Replicas, r.Adding, r.Removing
		topics.add(r.Topic, rp)
	}
	for _, name := range topics.names {
		rt := kmsg.NewListPartitionReassignmentsResponseTopic()
		rt.Topic, rt.Partitions = name, topics.parts[name]
		resp.Topics = append(resp.Topics, rt)
	}
	c.answer(resp)
}
