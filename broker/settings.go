package broker

import (
	"math"
	"strconv"

	"go.uber.org/zap"

	"millrace/broker/plog"
	"millrace/config"
	"millrace/metadata"
	"millrace/slab"
)

// settings are a topic's configs as its partitions use them.
type settings struct {
	log         plog.Config
	minInSync   int
	compactOnly bool
}

// settings resolves a topic's configs. They were checked when they were set, so an error here is told and the value
// at fault passed over.
func (b *Broker) settings(t *metadata.Topic) settings {
	c, err := b.Config().Topic(t.Configs)
	if err != nil {
		b.deps.Log.Error("a topic's config can't be used", zap.String("topic", t.Name), zap.Error(err))
	}
	s := settings{
		log: plog.Config{
			RetentionMs: c.RetentionMs, RetentionBytes: c.RetentionBytes,
			RetentionCheckMs: b.deps.Config.LogRetentionCheckIntervalMs,
			SegmentBytes:     int64(c.SegmentBytes), SegmentMs: c.SegmentMs,
			MaxMessageBytes:      c.MaxMessageBytes,
			TimestampBeforeMaxMs: c.TimestampBeforeMaxMs, TimestampAfterMaxMs: c.TimestampAfterMaxMs,
			// The coordinators of __consumer_offsets rewrite their logs themselves (Coordinator.compact).
			Compact: c.CleanupCompact && t.Name != metadata.ConsumerOffsetsTopic, DeleteRetentionMs: c.DeleteRetentionMs,
			MinCompactionLagMs: c.MinCompactionLagMs, MaxCompactionLagMs: c.MaxCompactionLagMs,
			MinCleanableDirtyRatio: c.MinCleanableDirtyRatio,
			Use:                    slab.UseRecords,
		},
		minInSync:   int(c.MinInsyncReplicas),
		compactOnly: c.CleanupCompact && !c.CleanupDelete,
	}
	if c.LogAppendTime {
		s.log.TimestampType = plog.LogAppendTime
	}
	if !c.CleanupDelete {
		s.log.RetentionMs, s.log.RetentionBytes = -1, -1
	}
	if t.Internal {
		s.log.Use = slab.UseInternal
		// Only coordinators write to it. What they accepted must find room: the members of a large group are one record.
		s.log.MaxMessageBytes = math.MaxInt32
	}
	return s
}

// AutoTopic is the topic that is created under a name because somebody asked for it: with the broker's defaults, or,
// for a topic of the cluster's own, with what that needs.
func AutoTopic(name string, c *config.Config) metadata.TopicSpec {
	switch name {
	case metadata.ConsumerOffsetsTopic:
		return offsetsTopic(c)
	case metadata.TransactionStateTopic:
		return transactionsTopic(c)
	}
	return metadata.TopicSpec{Name: name, Partitions: -1, ReplicationFactor: -1}
}

// offsetsTopic is __consumer_offsets as Apache Kafka makes it, but for its replicas: the controller gives it as many as
// offsets.topic.replication.factor asks for and there are brokers, and more when more come.
func offsetsTopic(c *config.Config) metadata.TopicSpec {
	compact, segment := "compact", strconv.Itoa(int(c.OffsetsTopicSegmentBytes))
	return metadata.TopicSpec{
		Name: metadata.ConsumerOffsetsTopic, Partitions: c.OffsetsTopicNumPartitions, ReplicationFactor: -1,
		Configs: map[string]*string{"cleanup.policy": &compact, "segment.bytes": &segment},
	}
}

// transactionsTopic is __transaction_state as Apache Kafka makes it; of its replicas the same holds.
func transactionsTopic(c *config.Config) metadata.TopicSpec {
	compact, segment := "compact", strconv.Itoa(int(c.TransactionsTopicSegmentBytes))
	return metadata.TopicSpec{
		Name: metadata.TransactionStateTopic, Partitions: c.TransactionsTopicNumPartitions, ReplicationFactor: -1,
		Configs: map[string]*string{"cleanup.policy": &compact, "segment.bytes": &segment},
	}
}
