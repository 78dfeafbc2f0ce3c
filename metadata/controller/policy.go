package controller

import (
	"strconv"
	"strings"

	"millrace/metadata"
)

// Policy is what the controller is told about the cluster from outside the
// image: defaults, limits, and judgement of settings.
type Policy struct {
	NumPartitions     int32 // num.partitions, for topics that ask for −1; default 1
	ReplicationFactor int16 // default.replication.factor, for topics that ask for −1; default 1

	// InternalReplicationFactor is how many replicas internal topics have
	// (offsets.topic.replication.factor), as far as there are brokers for them: with
	// fewer they are created all the same, and grow when more brokers come
	// (GrowInternal). With three or more, and while as many brokers are registered,
	// min.insync.replicas of such a topic is 2, unless it is set for it. 0: they are like other topics.
	InternalReplicationFactor int16
	internalMinISR            int32 // as of an image

	// ReplicationFactorMax is the most replicas that a partition may have.
	// Default: as many as there are brokers.
	ReplicationFactorMax int16

	MinInSyncReplicas     int32 // min.insync.replicas, for topics that don't set it; default 1
	UncleanLeaderElection bool  // unclean.leader.election.enable, for topics that don't set it

	// NoHandover: the brokers don't share a process, so the log of a partition's
	// only replica can't be handed over in RAM when its broker is removed. What was
	// not copied before is lost then.
	NoHandover bool

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

	// ValidateResource judges the settings of anything else, likewise. nil: anything goes.
	ValidateResource func(r metadata.ConfigResource, configs map[string]string) error

	// ListConfig tells whether a setting is a list, to which items can be added, and what it is where it isn't set.
	// nil: none is.
	ListConfig func(img *metadata.Image, kind metadata.ConfigKind, name string) (whenUnset string, list bool)

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
	p.MinInSyncReplicas = orDefault(p.MinInSyncReplicas, 1)
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

// The settings of a topic that the controller goes by. Their values were judged
// when they were set; one that can't be read counts as not set.
const (
	minInSyncReplicas     = "min.insync.replicas"
	uncleanLeaderElection = "unclean.leader.election.enable"
)

// asOf is p with what the brokers' common settings say in an image: they come before those that a process started with.
func (p Policy) asOf(img *metadata.Image) Policy {
	if common := img.ResourceConfigs(metadata.DefaultBroker); len(common) > 0 {
		p.MinInSyncReplicas, p.UncleanLeaderElection = minInSyncOf(common, p.MinInSyncReplicas), p.unclean(common)
	}
	if n := len(img.Brokers()); n > internalMinISR && p.InternalReplicationFactor > internalMinISR {
		p.internalMinISR = internalMinISR
	}
	return p
}

// minInSync is min.insync.replicas of a topic; p is asOf an image.
func (p Policy) minInSync(topic string, configs map[string]string) int32 {
	otherwise := p.MinInSyncReplicas
	if metadata.IsInternal(topic) {
		otherwise = max(otherwise, p.internalMinISR)
	}
	return minInSyncOf(configs, otherwise)
}

func minInSyncOf(configs map[string]string, otherwise int32) int32 {
	if text, set := configs[minInSyncReplicas]; set {
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32); err == nil && n >= 1 {
			return int32(n)
		}
	}
	return otherwise
}

func (p Policy) unclean(configs map[string]string) bool {
	switch strings.ToLower(strings.TrimSpace(configs[uncleanLeaderElection])) {
	case "true":
		return true
	case "false":
		return false
	}
	return p.UncleanLeaderElection
}
