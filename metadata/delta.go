package metadata

// Delta is one change of the image. The controller plans deltas, a Txn carries
// them to the Store, and Replay makes them again of what the Store delivers:
// only then do they count. Each is exactly one key of the Store (TopicDeleted:
// the topic's keys). What a delta refers to is immutable.
type Delta interface{ delta() }

// ClusterNamed gives the cluster its id, once.
type ClusterNamed struct{ ClusterID string }

// BrokerRegistered is a broker that came to life: new, or again with another
// incarnation (and so without its old data).
type BrokerRegistered struct{ Broker *Broker }

// BrokerChanged is a registered broker with new endpoints or rack, or that is
// fenced or draining now, or isn't any more. The incarnation is the same.
type BrokerChanged struct{ Broker *Broker }

// BrokerRemoved is a broker that left for good. Its id is remembered, so that
// it isn't issued again.
type BrokerRemoved struct {
	ID       int32
	Revision int64 // of the key that remembers it; 0 in a plan
}

// BrokerAlive is a broker that is heard of, in this life. It ends by itself when
// the lease does.
type BrokerAlive struct {
	ID          int32
	Incarnation uint64
	Lease       LeaseID // in a plan only
	Revision    int64   // of the key; 0 in a plan
}

// BrokerSilent is the end of BrokerAlive: the broker's lease is over. What
// follows from it is for the controller to say.
type BrokerSilent struct{ ID int32 }

// ControllerElected is who decides about the cluster until the lease ends.
type ControllerElected struct {
	Name     string  // for people
	Token    uint64  // not 0; drawn by the one who was elected, at each start of its process
	Lease    LeaseID // in a plan only
	Revision int64   // of the key: nobody was elected since then; 0 in a plan
}

// ControllerResigned is the end of ControllerElected.
type ControllerResigned struct{}

// TopicCreated is a new topic with all its partitions and settings.
type TopicCreated struct{ Topic *Topic }

// TopicDeleted is the end of a topic.
type TopicDeleted struct {
	Name string
	ID   TopicID
}

// PartitionsAdded makes a topic longer: the first of Partitions is number First.
type PartitionsAdded struct {
	Name       string
	ID         TopicID
	First      int32
	Partitions []Partition
	Revision   int64 // of the topic's key; 0 in a plan
}

// PartitionChanged is a partition's new state.
type PartitionChanged struct {
	Name      string
	ID        TopicID
	Index     int32
	Partition Partition
}

// ConfigChanged is the whole of a topic's own settings after a change.
type ConfigChanged struct {
	Name     string
	ID       TopicID
	Configs  map[string]string
	Revision int64 // of the key of the settings; 0 in a plan
}

// ResourceConfigChanged is the whole of the settings of a resource that isn't a topic, after a change. None is the end of
// the resource, as far as it is one of settings only.
type ResourceConfigChanged struct {
	Resource ConfigResource
	Configs  map[string]string
	Revision int64 // of the key; 0 in a plan, and without settings
}

// ProducerIDsAllocated moves the first producer id that is still free.
type ProducerIDsAllocated struct {
	Next     int64
	Revision int64 // of the counter's key; 0 in a plan
}

func (ClusterNamed) delta()          {}
func (BrokerRegistered) delta()      {}
func (BrokerChanged) delta()         {}
func (BrokerRemoved) delta()         {}
func (BrokerAlive) delta()           {}
func (BrokerSilent) delta()          {}
func (ControllerElected) delta()     {}
func (ControllerResigned) delta()    {}
func (TopicCreated) delta()          {}
func (TopicDeleted) delta()          {}
func (PartitionsAdded) delta()       {}
func (PartitionChanged) delta()      {}
func (ConfigChanged) delta()         {}
func (ResourceConfigChanged) delta() {}
func (ProducerIDsAllocated) delta()  {}
