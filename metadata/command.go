package metadata

// The commands of the central server and its answers, in domain terms: broker
// and the front desks see these types only, never the server that acts on them.

// BrokerSpec asks for a registration.
type BrokerSpec struct {
	ID        int32 // −1: the next free id, starting at 1
	Rack      string
	Endpoints []Endpoint
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

// ConfigSpec asks for a change of one topic's own settings.
type ConfigSpec struct {
	Name    string
	Set     map[string]*string // nil: back to the default
	Replace bool               // settings that Set doesn't name go back to their default (AlterConfigs, not incremental)
}

// PartitionsResult answers for one PartitionsSpec.
type PartitionsResult struct {
	Name string
	Err  error
}

// ConfigResult answers for one ConfigSpec.
type ConfigResult struct {
	Name string
	Err  error
}
