package group

// Config holds the limits of a coordinator; the names in the comments are Kafka's broker settings.
type Config struct {
	InitialRebalanceDelayMs         int64 // group.initial.rebalance.delay.ms: how long a new group waits for more members
	MinSessionTimeoutMs             int32 // group.min.session.timeout.ms
	MaxSessionTimeoutMs             int32 // group.max.session.timeout.ms
	MaxSize                         int   // group.max.size
	OffsetMetadataMaxSize           int   // offset.metadata.max.bytes, in UTF-16 units, which is what Kafka counts
	OffsetsRetentionMs              int64 // offsets.retention.minutes
	OffsetsRetentionCheckIntervalMs int64 // offsets.retention.check.interval.ms
	OffsetCommitTimeoutMs           int64 // offsets.commit.timeout.ms: how long an answer waits for durability
	ConsumerSessionTimeoutMs        int64 // group.consumer.session.timeout.ms
	ConsumerHeartbeatIntervalMs     int32 // group.consumer.heartbeat.interval.ms
	ConsumerMaxSize                 int   // group.consumer.max.size
	// Assignors are those that members of consumer groups may ask for, AssignorUniform and AssignorRange; the first is for those
	// who don't ask (group.consumer.assignors).
	Assignors []string
	// NewMemberJoinTimeoutMs is how long the JoinGroup of a member without history may stay parked: its client may be long
	// gone, and it has no session yet. Five minutes in Kafka, not a setting there.
	NewMemberJoinTimeoutMs int64
}

// DefaultConfig is Kafka's.
func DefaultConfig() Config {
	return Config{
		InitialRebalanceDelayMs:         3_000,
		MinSessionTimeoutMs:             6_000,
		MaxSessionTimeoutMs:             1_800_000,
		MaxSize:                         1<<31 - 1,
		OffsetMetadataMaxSize:           4_096,
		OffsetsRetentionMs:              7 * 24 * 60 * 60 * 1_000,
		OffsetsRetentionCheckIntervalMs: 600_000,
		OffsetCommitTimeoutMs:           5_000,
		ConsumerSessionTimeoutMs:        45_000,
		ConsumerHeartbeatIntervalMs:     5_000,
		ConsumerMaxSize:                 1<<31 - 1,
		Assignors:                       []string{AssignorUniform, AssignorRange},
		NewMemberJoinTimeoutMs:          5 * 60 * 1_000,
	}
}
