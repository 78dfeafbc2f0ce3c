package txn

// PersistID tells the EffectPersists of one machine apart; they count up from 1.
type PersistID uint64

// EffectKind says what an Effect asks for.
type EffectKind uint8

// The kinds of effects.
const (
	EffectReply EffectKind = iota + 1
	EffectPersist
	EffectMarkers
	EffectProducerID
	EffectChanged
)

// Effect is one thing that the driver has to do. Which fields count depends on Kind.
type Effect struct {
	Kind EffectKind

	// EffectReply: answer Token. Err is nil or an error of this package. Result is *InitResult, *AddResult, *EndResult,
	// *DescribeResult or *ListResult after the event's kind, nil beside an error. EffectProducerID: the Token of the event.
	Token  any
	Err    error
	Result any

	// EffectPersist: append Records and send Persisted with this ID.
	ID      PersistID
	Records []Record

	// EffectMarkers
	Marker Marker

	// EffectChanged
	Change Change
}

// Record is a key and a value of __transaction_state in Kafka's own format; a nil value is a tombstone. The bytes are the
// driver's.
type Record struct {
	Key   []byte
	Value []byte
}

// Partition names a partition.
type Partition struct {
	Topic string
	Index int32
}

// Marker is what ends a transaction in its partitions. The driver adds its own epoch as the coordinator's.
type Marker struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	Commit          bool
	Version         int8        // the client's transaction version
	Partitions      []Partition // sorted
}

// Change tells of a transaction's new state.
type Change struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	State           State
	Reason          string
}

// InitResult answers an Init.
type InitResult struct {
	ProducerID    int64
	ProducerEpoch int16
}

// AddResult answers an Add: nil for each of the partitions, in their order, or ErrTransactionAbortable for those that a
// VerifyOnly did not find.
type AddResult struct {
	Errs []error
}

// EndResult answers an End: what the producer goes on with.
type EndResult struct {
	ProducerID    int64
	ProducerEpoch int16
}

// DescribeResult answers a Describe.
type DescribeResult struct {
	State         State
	TimeoutMs     int32
	StartMs       int64 // -1: nothing was begun
	ProducerID    int64
	ProducerEpoch int16
	Partitions    []Partition // sorted; not to be changed
}

// ListResult answers a List, sorted by id.
type ListResult struct {
	Transactions []Listed
}

// Listed is one transaction of a ListResult.
type Listed struct {
	TransactionalID string
	ProducerID      int64
	State           State
}
