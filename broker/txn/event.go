package txn

import "regexp"

// Event is something that happened to a coordinator. Step takes pointers to the structs of this file and nothing else.
type Event interface {
	// Stamp sets the event's Head.
	Stamp(nowMs int64, token any)
	// DrawnProducerID answers an EffectProducerID; the event is then to be stepped again.
	DrawnProducerID(id int64)
	head() *Head
}

// Head is what every event carries.
type Head struct {
	// NowMs is the time in milliseconds since 1970. If it goes back the machine takes the latest it has seen.
	NowMs int64
	// Token comes back in the Reply. The machine never looks at it. Events that are no requests need none.
	Token any

	drawnID int64
	drawn   bool
}

// Stamp sets time and token.
func (h *Head) Stamp(nowMs int64, token any) { h.NowMs, h.Token = nowMs, token }

// DrawnProducerID gives the event a producer id to use.
func (h *Head) DrawnProducerID(id int64) { h.drawnID, h.drawn = id, true }

func (h *Head) head() *Head { return h }

// None stands for a producer id or epoch that there isn't.
const None = -1

// Init is an InitProducerId request with a transactional id, versions 0–5.
type Init struct {
	Head
	TransactionalID string
	TimeoutMs       int32
	// ProducerID and ProducerEpoch are what the producer believes to have (KIP-360); both None below version 3 and at its start.
	ProducerID    int64
	ProducerEpoch int16
}

// Add is one transaction of an AddPartitionsToTxn request, versions 0–5, or an AddOffsetsToTxn request: then the one partition
// is that of the group in __consumer_offsets. That partitions exist is the driver's to check.
type Add struct {
	Head
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	Version         int8 // the client's transaction version: 2 from version 5 of AddPartitionsToTxn on, else 0
	Partitions      []Partition
	// VerifyOnly asks whether the partitions belong to the transaction (KIP-890) and adds none.
	VerifyOnly bool
}

// End is an EndTxn request, versions 0–5.
type End struct {
	Head
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	Commit          bool
	Version         int8 // the client's transaction version: 2 from version 5 on, else 0. 2 raises the epoch.
}

// Describe is one id of a DescribeTransactions request.
type Describe struct {
	Head
	TransactionalID string
}

// List is a ListTransactions request, versions 0–2. Empty filters let everything through.
type List struct {
	Head
	States      []State
	FilterState bool // look at States, even if it is empty
	ProducerIDs []int64
	DurationMs  int64          // longer than that since the transaction's start; below 0: any
	Pattern     *regexp.Regexp // found in the id; nil: any. Kafka means the whole id: anchor it.
}

// Marked tells what became of markers that an EffectMarkers asked for, in one event or several.
type Marked struct {
	Head
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	Results         []MarkedPartition
}

// MarkedPartition is the outcome for one partition.
type MarkedPartition struct {
	Partition
	Outcome MarkerOutcome
}

// MarkerOutcome is what became of a marker.
type MarkerOutcome uint8

// The outcomes.
const (
	MarkerWritten MarkerOutcome = iota + 1 // and durable
	MarkerGone                             // the partition exists no more, so nothing is to be marked
	MarkerRetry                            // the leader wasn't reached, isn't the leader, or couldn't
	MarkerFenced                           // a coordinator with a later epoch has written: this one is none any more
)

// Persisted answers an EffectPersist.
type Persisted struct {
	Head
	ID PersistID
	// Err is nil when the records are durable. Otherwise it is the error of this package that who waits will get, and the
	// records are not in the log and never will be.
	Err error
}

// Tick says what time it is: what was due by then happens.
type Tick struct{ Head }

// Loaded ends the replay of the log. An empty machine needs it too.
type Loaded struct{ Head }

// Unload says that the partition is led elsewhere now. All who wait are answered with ErrNotCoordinator, and so is every
// request that still comes.
type Unload struct{ Head }
