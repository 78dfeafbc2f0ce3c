package group

// PersistID tells the EffectPersists of one machine apart; they count up from 1.
type PersistID uint64

// EffectKind says what an Effect asks for.
type EffectKind uint8

// The kinds of effects.
const (
	EffectReply EffectKind = iota + 1
	EffectPersist
	EffectGroupChanged
)

// Effect is one thing that the driver has to do. Which fields count depends on Kind.
type Effect struct {
	Kind EffectKind

	// EffectReply: answer Token. Err is nil or an error of this package. Result is *JoinResult, *SyncResult, *LeaveResult,
	// *CommitResult (also of a TxnCommit), *OffsetsResult, *DeleteOffsetsResult, *DescribeResult, *ConsumerHeartbeatResult, *DescribeConsumerResult or
	// *ListResult after the event's kind, nil after Heartbeat and Delete. A
	// JoinResult is always there, also beside an error; the others only if Err is nil. Results belong to the driver; what they
	// point to must not be changed.
	Token  any
	Err    error
	Result any

	// EffectPersist: append Records and send Persisted with this ID.
	ID      PersistID
	Records []Record
	// Transactional: in batches that belong to the transaction of this producer.
	Transactional bool
	ProducerID    int64
	ProducerEpoch int16

	// EffectGroupChanged
	Group GroupChange
}

// Record is a key and a value of __consumer_offsets in Kafka's own format; a nil value is a tombstone. The bytes are the
// driver's.
type Record struct {
	Key   []byte
	Value []byte
}

// GroupChange tells of a group's new state.
type GroupChange struct {
	GroupID    string
	State      State
	Generation int32
	Members    int
	Reason     string
}

// JoinResult answers a Join. MemberID is the one to use from now on (with ErrMemberIDRequired: to join with). Without
// success Generation is -1 and the rest is empty, but for static members that could not be stored.
type JoinResult struct {
	MemberID       string
	Generation     int32
	ProtocolType   *string
	ProtocolName   *string
	Leader         string
	SkipAssignment bool
	Members        []JoinMember // for the leader only
}

// JoinMember is what the leader learns of a member.
type JoinMember struct {
	MemberID   string
	InstanceID *string
	Metadata   []byte
}

// SyncResult answers a Sync.
type SyncResult struct {
	ProtocolType *string
	ProtocolName *string
	Assignment   []byte
}

// ConsumerHeartbeatResult answers a ConsumerHeartbeat.
type ConsumerHeartbeatResult struct {
	MemberID            string
	MemberEpoch         int32
	HeartbeatIntervalMs int32 // 0 for a member that leaves
	// AssignmentGiven: Assignment is what the member shall have. Otherwise that is as it was told before.
	AssignmentGiven bool
	Assignment      []TopicPartitions
}

// LeaveResult answers a Leave, member by member as they were asked for.
type LeaveResult struct {
	Members []LeaveMemberResult
}

// LeaveMemberResult is nil, ErrUnknownMemberID or ErrFencedInstanceID for one member.
type LeaveMemberResult struct {
	MemberID   string
	InstanceID *string
	Err        error
}

// CommitResult answers a Commit: topics and partitions as they were asked for.
type CommitResult struct {
	Topics []CommitTopicResult
}

// CommitTopicResult is one topic of a CommitResult.
type CommitTopicResult struct {
	Name       string
	Partitions []CommitPartitionResult
}

// CommitPartitionResult is nil or ErrOffsetMetadataTooLarge for one partition.
type CommitPartitionResult struct {
	Partition int32
	Err       error
}

// OffsetsResult answers a FetchOffsets: as asked for, or sorted by name and partition if all were.
type OffsetsResult struct {
	Topics []OffsetsTopic
}

// OffsetsTopic is one topic of an OffsetsResult.
type OffsetsTopic struct {
	Name       string
	Partitions []OffsetsPartition
}

// OffsetsPartition is a committed offset; Offset and LeaderEpoch are -1 where there is none. Err is ErrUnstableOffset if it was
// to be stable and a transaction has not ended.
type OffsetsPartition struct {
	Partition   int32
	Err         error
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// DeleteOffsetsResult answers a DeleteOffsets: nil or ErrSubscribedToTopic for each topic as they were asked for.
type DeleteOffsetsResult struct {
	Topics []error
}

// DescribeResult answers a Describe. With ErrGroupNotFound it is nil; below version 6 that means the state Dead.
type DescribeResult struct {
	State        State
	ProtocolType string
	Protocol     string // the chosen one while the group is stable, else ""
	Generation   int32
	Members      []DescribeMember
}

// DescribeMember is one member of a DescribeResult; Metadata is empty unless the group is stable.
type DescribeMember struct {
	MemberID   string
	InstanceID *string
	ClientID   string
	ClientHost string
	Metadata   []byte
	Assignment []byte
}

// DescribeConsumerResult answers a DescribeConsumer.
type DescribeConsumerResult struct {
	State           State
	Epoch           int32
	AssignmentEpoch int32
	Assignor        string
	Members         []DescribedConsumer // sorted by id
}

// DescribedConsumer is one member of a DescribeConsumerResult.
type DescribedConsumer struct {
	MemberID         string
	InstanceID       *string
	RackID           *string
	MemberEpoch      int32
	ClientID         string
	ClientHost       string
	Names            []string
	Regex            string // "": none
	Assigned, Target []TopicPartitions
}

// ListResult answers a List, sorted by group id.
type ListResult struct {
	Groups []ListedGroup
}

// ListedGroup is one group of a ListResult.
type ListedGroup struct {
	GroupID      string
	ProtocolType string
	State        State
	Type         string // "classic" or "consumer"
}
