package group

// Event is something that happened to a coordinator. Step takes pointers to the structs of this file and nothing else.
type Event interface {
	// Stamp sets the event's Head.
	Stamp(nowMs int64, token any)
	head() *Head
}

// Head is what every event carries.
type Head struct {
	// NowMs is the time in milliseconds since 1970. It should not go back; if it does, the machine takes the latest it has seen.
	NowMs int64
	// Token comes back in the Reply. The machine never looks at it. Events that are no requests (Tick, Persisted, …) need none.
	Token any
}

// Stamp sets both.
func (h *Head) Stamp(nowMs int64, token any) { h.NowMs, h.Token = nowMs, token }

func (h *Head) head() *Head { return h }

// Join is a JoinGroup request, versions 0–9.
type Join struct {
	Head
	GroupID    string
	MemberID   string  // "" for a member without an id yet
	InstanceID *string // group.instance.id (KIP-345); nil for a dynamic member
	ClientID   string
	ClientHost string // "/10.1.2.3", as Kafka writes it
	// ConnectionID tells connections apart, 0 if that is unknown. It only serves to see that a client asked for an id twice.
	ConnectionID     uint64
	SessionTimeoutMs int32
	// RebalanceTimeoutMs below 0 means that the request had no such field (version 0): then the session timeout stands for it.
	RebalanceTimeoutMs int32
	ProtocolType       string
	Protocols          []Protocol // in the member's order of preference
	// RequireMemberID: a dynamic member without an id gets one and must join again with it (version 4 and above, KIP-394).
	RequireMemberID bool
	// SkipAssignment: the client understands that field of the answer (version 9 and above, KIP-814).
	SkipAssignment bool
	Reason         string // KIP-800
	// NewMemberUUID is the random part of a member id, should one be needed: 36 characters, drawn by the driver.
	NewMemberUUID string
}

// Protocol is one way a member can work (for consumers: an assignor) with what it has to say about itself.
type Protocol struct {
	Name     string
	Metadata []byte
}

// Sync is a SyncGroup request, versions 0–5. Only the leader sends assignments.
type Sync struct {
	Head
	GroupID      string
	MemberID     string
	InstanceID   *string
	Generation   int32
	ProtocolType *string // nil below version 5
	ProtocolName *string // nil below version 5
	Assignments  []Assignment
}

// Assignment is what the leader gives to one member; opaque to the coordinator.
type Assignment struct {
	MemberID   string
	Assignment []byte
}

// Heartbeat is a Heartbeat request, versions 0–4. Its answer has no result but the error.
type Heartbeat struct {
	Head
	GroupID    string
	MemberID   string
	InstanceID *string
	Generation int32
}

// ConsumerHeartbeat is a ConsumerGroupHeartbeat request, versions 0–1 (KIP-848). What is not given is as it was before.
type ConsumerHeartbeat struct {
	Head
	GroupID    string
	MemberID   string // drawn by the client from version 1 on
	ClientID   string
	ClientHost string
	// MemberEpoch is 0 to join, -1 to leave, -2 for a static member that leaves and will be back.
	MemberEpoch        int32
	InstanceID         *string
	RackID             *string
	RebalanceTimeoutMs int32 // -1: not given
	NamesGiven         bool
	Names              []string // subscribed topics
	Regex              *string  // the subscription's regular expression, RE2; "": none any more
	Assignor           *string
	OwnedGiven         bool
	Owned              []TopicPartitions // what the member has
	// RequireMemberID: a member that joins without an id is refused (version 1 and above). Otherwise it gets NewMemberID.
	RequireMemberID bool
	NewMemberID     string
}

// Leave is a LeaveGroup request, versions 0–5; below version 3 with one member.
type Leave struct {
	Head
	GroupID string
	Members []LeaveMember
}

// LeaveMember is one who leaves, or is made to: by member id, by instance id with an empty member id, or by both.
type LeaveMember struct {
	MemberID   string
	InstanceID *string
	Reason     string // KIP-800
}

// Commit is an OffsetCommit request, versions 2–10.
type Commit struct {
	Head
	GroupID    string // "" is a group like any other here (old simple consumers)
	MemberID   string
	InstanceID *string
	Generation int32 // below 0: a commit from outside the group's protocol
	// RetentionMs is the retention of versions 2–4 for these offsets; below 0: the coordinator's own.
	RetentionMs int64
	// GroupNotFound: an unknown group is ErrGroupNotFound (version 9 and above) and not ErrIllegalGeneration.
	GroupNotFound bool
	// UnsupportedEpochs: versions below 9 don't know of member epochs, so members of consumer groups can't use them.
	UnsupportedEpochs bool
	Topics            []CommitTopic
}

// TxnCommit is a TxnOffsetCommit request, versions 0–6: a commit that counts when the producer's transaction is committed. That
// the transaction knows of it is the driver's to check. RetentionMs is below 0; GroupNotFound isn't looked at.
type TxnCommit struct {
	Commit
	ProducerID    int64
	ProducerEpoch int16
}

// TransactionEnded is a transaction's marker in this partition's log. It comes when it is durable, behind the Persisted of what
// was before it in the log.
type TransactionEnded struct {
	Head
	ProducerID int64
	Commit     bool
}

// CommitTopic is one topic of a commit. That topic and partitions exist is the driver's to check.
type CommitTopic struct {
	Name       string
	Partitions []CommitPartition
}

// CommitPartition is one offset to keep.
type CommitPartition struct {
	Partition   int32
	Offset      int64
	LeaderEpoch int32 // -1: unknown
	Metadata    string
}

// FetchOffsets is one group of an OffsetFetch request, versions 1–10.
type FetchOffsets struct {
	Head
	GroupID string
	All     bool // every topic that has an offset; Topics is not looked at
	Topics  []FetchTopic
	// RequireStable: wait for the commits that are on their way, and tell of transactions (version 7 and above, KIP-447).
	RequireStable bool
	// MemberID and MemberEpoch are those of a member of a consumer group (version 9 and above); nil: it is nobody's.
	MemberID    *string
	MemberEpoch int32
}

// FetchTopic is one topic of a FetchOffsets or DeleteOffsets.
type FetchTopic struct {
	Name       string
	Partitions []int32
}

// DeleteOffsets is an OffsetDelete request, version 0. That topics and partitions exist is the driver's to check.
type DeleteOffsets struct {
	Head
	GroupID string
	Topics  []FetchTopic
}

// Describe is one group of a DescribeGroups request, versions 0–6.
type Describe struct {
	Head
	GroupID string
}

// DescribeConsumer is one group of a ConsumerGroupDescribe request, versions 0–1.
type DescribeConsumer struct {
	Head
	GroupID string
}

// List is a ListGroups request, versions 0–5. Empty filters let everything through; names are compared without case.
type List struct {
	Head
	States []string // KIP-518
	Types  []string // KIP-848
}

// Delete is one group of a DeleteGroups request, versions 0–3.
type Delete struct {
	Head
	GroupID string
}

// TopicDeleted says that a topic is gone: the offsets committed for it go too, in every group.
type TopicDeleted struct {
	Head
	Topic string
}

// TopicsChanged says what topics there are from now on. Names are those that came, went or got more partitions since the view
// before. A machine without a view knows no topic.
type TopicsChanged struct {
	Head
	View  TopicView
	Names []string
}

// Persisted answers an EffectPersist.
type Persisted struct {
	Head
	ID PersistID
	// Err is nil when the records are durable. Otherwise it is the error of this package that those who wait will get, and the
	// records are not in the log.
	Err error
}

// Tick says what time it is: what was due by then happens.
type Tick struct{ Head }

// Loaded ends the replay of the log: members get a fresh session, timers start. An empty machine needs it too.
type Loaded struct{ Head }

// Unload says that the partition is led elsewhere now. All that is parked is answered with ErrNotCoordinator, and so is every
// event that still comes.
type Unload struct{ Head }
