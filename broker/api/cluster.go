package api

import (
	"millrace/broker"
	"millrace/metadata"
)

// Cluster is the central server as the desk needs it: what a broker asks of it, and what only administrators do.
type Cluster interface {
	broker.Cluster
	ElectLeaders(spec metadata.ElectionSpec, done func([]metadata.ElectionResult, error))
	AlterReassignments(specs []metadata.ReassignmentSpec, allowFactorChange bool, done func([]metadata.ReassignmentResult))
	Reassignments(refs []metadata.PartitionRef) []metadata.Reassignment
	AlterConfigs(specs []metadata.ConfigSpec, validateOnly bool, done func([]metadata.ConfigResult))
	UnregisterBroker(id int32, done func(error))
}

// byTopic groups what is told of partitions by their topics, in the order of the first mention, as answers have it.
type byTopic[P any] struct {
	names []string
	parts map[string][]P
}

func (b *byTopic[P]) add(topic string, part P) {
	if b.parts == nil {
		b.parts = map[string][]P{}
	}
	if _, known := b.parts[topic]; !known {
		b.names = append(b.names, topic)
	}
	b.parts[topic] = append(b.parts[topic], part)
}
