package metadata

// The commands of the central server and its answers, in domain terms: broker
// and the front desks see these types only, never the server that acts on them.

// BrokerSpec asks for a registration.
type BrokerSpec struct {
	ID        int32 // −1: the next free id, starting at 1
	Rack      string
	Endpoints []Endpoint

	// Incarnation is for a process that drew one itself, so that it can ask
	// again when an answer was lost. 0: the central server draws one.
	Incarnation uint64

	// Lease is the broker's sign of life (BrokerAlive). 0: none is given; it is
	// somebody else's business then to see that the broker dies.
	Lease LeaseID

	// Replace says that whoever asks has seen the broker dead that has the id
	// now. Without it an id is given again at once only to the same address,
	// since nobody else can listen there; else when the old one is fenced.
	Replace bool
}

// TopicSpec asks for one topic (CreateTopics). Either the counts or Assignment
// decide about partitions; with an Assignment both counts are −1.
type TopicSpec struct {
	Name              string
	Partitions        int32 // −1: num.partitions
	ReplicationFactor int16 // −1: default.replication.factor
	Assignment        []ReplicaAssignment
	Configs           map[string]*string // nil values are refused, as Kafka does
}

// ReplicaAssignment places one partition by hand. It is an element of a list
// and not of a map so that a partition named twice can be refused.
type ReplicaAssignment struct {
	Partition int32
	Replicas  []int32 // the first is the preferred leader
}

// TopicResult answers for one TopicSpec. Topic is the topic as created, or as
// it would have been when only validation was asked for; nil if Err is not.
type TopicResult struct {
	Name  string
	Topic *Topic
	Err   error
}

// TopicRef names a topic by its name or by its id, not both.
type TopicRef struct {
	Name string
	ID   TopicID
}

// DeleteResult answers for one TopicRef. Name and ID are both set if the topic
// was found.
type DeleteResult struct {
	Name string
	ID   TopicID
	Err  error
}

// PartitionsSpec asks for more partitions of one topic (CreatePartitions).
type PartitionsSpec struct {
	Name       string
	Count      int32     // the new total
	Assignment [][]int32 // one list of replicas for each added partition; nil: automatic
}

// ConfigSpec asks for a change of the settings of one topic, or of another resource that has some (AlterConfigs). No
// setting is named in more than one of the maps.
type ConfigSpec struct {
	Kind     ConfigKind
	Name     string
	Set      map[string]*string // nil: back to the default
	Append   map[string]string  // items, separated by commas, that a list is to have besides those it has
	Subtract map[string]string  // items that it isn't to have
	Replace  bool               // settings that aren't named go back to their default (AlterConfigs, not incremental)
}

// PartitionsResult answers for one PartitionsSpec.
type PartitionsResult struct {
	Name string
	Err  error
}

// ConfigResult answers for one ConfigSpec.
type ConfigResult struct {
	Kind ConfigKind
	Name string
	Err  error
}

// AlterPartitionSpec is what the leader of a partition asks for (AlterPartition,
// KIP-497 and KIP-903, and the offset ceiling, which is ours).
type AlterPartitionSpec struct {
	Topic          TopicID
	Partition      int32
	LeaderEpoch    int32
	PartitionEpoch int32 // that the proposal builds on
	ISR            []Member
	OffsetCeiling  int64 // 0: as it is
}

// AlterPartitionResult answers for one AlterPartitionSpec. With Err nil exactly
// what was asked for has been written.
type AlterPartitionResult struct {
	Topic     TopicID
	Partition int32
	State     Partition // as it stands now; zero if there is no such partition
	Err       error
}

// PartitionRef names a partition.
type PartitionRef struct {
	Topic     string
	Partition int32
}

// ElectionType is who is to lead (KIP-183, KIP-460). The numbers are the protocol's.
type ElectionType int8

// The types of elections.
const (
	ElectPreferred ElectionType = 0 // the first replica, if it is in sync
	ElectUnclean   ElectionType = 1 // any replica, if nobody leads; if need be with a declared loss
)

// ElectionSpec asks for elections (ElectLeaders).
type ElectionSpec struct {
	Type       ElectionType
	Partitions []PartitionRef // nil: all
}

// ElectionResult answers for one partition. With all partitions asked for there
// is none for those that needed no election.
type ElectionResult struct {
	PartitionRef
	Err error
}

// ReassignmentSpec asks for another set of replicas of one partition
// (AlterPartitionReassignments, KIP-455).
type ReassignmentSpec struct {
	PartitionRef
	Replicas []int32 // the first is the preferred leader; nil: the reassignment that is under way is to be cancelled
}

// ReassignmentResult answers for one ReassignmentSpec.
type ReassignmentResult struct {
	PartitionRef
	Err error
}

// Reassignment is one that is under way (ListPartitionReassignments).
type Reassignment struct {
	PartitionRef
	Replicas, Adding, Removing []int32 // as in Partition
}

// DrainState is how far a broker is on its way out. It may leave when nothing
// stands in any of the lists.
type DrainState struct {
	Leading int            // partitions that it leads still
	Copying []PartitionRef // are being copied to another broker
	Waiting []PartitionRef // wait until enough of their other replicas are in sync
	Stuck   []PartitionRef // have no other broker to go to
	Left    bool           // it is out of every ISR, and may stop
}

// Ready tells whether every partition keeps its MinISR without the broker.
func (s *DrainState) Ready() bool { return len(s.Copying)+len(s.Waiting)+len(s.Stuck) == 0 }
