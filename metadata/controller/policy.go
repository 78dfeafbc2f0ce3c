package controller

import (
	"millrace/metadata"
)

// Policy is what the controller is told about the cluster from outside the
// image: defaults, limits, and judgement of settings.
type Policy struct {
	NumPartitions     int32 // num.partitions, for topics that ask for −1; default 1
	ReplicationFactor int16 // default.replication.factor, for topics that ask for −1; default 1

	// ReplicationFactorMax is how many replicas the brokers can keep in step.
	// Default 1: there is no replication yet.
	ReplicationFactorMax int16

	// PartitionsPerRequestMax bounds what one request can create; more is a
	// policy violation. Apache Kafka allows somewhat less than 10,000. Default 20,000.
	PartitionsPerRequestMax int

	// PartitionsMax bounds the partitions of the cluster; a request that would
	// lead beyond it is a policy violation. Default 1,000,000.
	PartitionsMax int

	// ValidateConfigs judges a topic's own settings as a whole. What it
	// returns goes to the client, as ErrInvalidConfig unless it is an
	// *metadata.Error itself. nil: anything goes.
	ValidateConfigs func(topic string, configs map[string]string) error

	// NewTopicID draws the id of a new topic. Default metadata.NewTopicID.
	NewTopicID func() metadata.TopicID
}

// Defaults for the fields of Policy that are zero.
const (
	partitionsPerRequestMaxDefault = 20_000
	partitionsMaxDefault           = 1_000_000
)

// WithDefaults returns p with every zero field set. The planning methods need
// such a Policy.
func (p Policy) WithDefaults() Policy {
	p.NumPartitions = orDefault(p.NumPartitions, 1)
	p.ReplicationFactor = orDefault(p.ReplicationFactor, 1)
	p.ReplicationFactorMax = orDefault(p.ReplicationFactorMax, 1)
	p.PartitionsPerRequestMax = orDefault(p.PartitionsPerRequestMax, partitionsPerRequestMaxDefault)
	p.PartitionsMax = orDefault(p.PartitionsMax, partitionsMaxDefault)
	if p.NewTopicID == nil {
		p.NewTopicID = metadata.NewTopicID
	}
	return p
}

func orDefault[T int | int16 | int32](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}
