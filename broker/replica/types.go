package replica

// NoBroker stands for a broker id where there is none: no leader.
const NoBroker int32 = -1

// Member is a broker as long as its RAM lives: a broker that restarts is another member under the same id (R1).
type Member struct {
	Broker      int32
	Incarnation uint64 // never 0 for a broker that is registered
}

// NoMember is the leader of a partition that has none.
var NoMember = Member{Broker: NoBroker}

// Replica is one of a partition's replicas as the metadata knows it.
type Replica struct {
	Member      // the current registration; Incarnation 0 if there is none
	Fenced bool // or being drained: it may not join the ISR
}

// Config is what a machine is told once. Times are in milliseconds.
type Config struct {
	Self Member // this broker
	// LagTimeMaxMs is replica.lag.time.max.ms: how long a replica may go without having all that the leader had.
	LagTimeMaxMs int64
	// AlterRetryMs is how long an AlterPartition may go unanswered before it is sent again, and how long a replica that the
	// controller refused is left alone.
	AlterRetryMs int64
	// FetchBackoffMs is replica.fetch.backoff.ms: the pause of a follower after an error.
	FetchBackoffMs int64
	// FetchBackoffFirstMs, if it is less, is the pause after the first error in a row; it doubles with each. After an election a
	// follower often asks before its leader has heard of it. 0: FetchBackoffMs from the start.
	FetchBackoffFirstMs int64
	// OffsetCeilingStep is by how much the offset ceiling is raised; it is asked for when less than half of it is left.
	// A large step costs nothing but a larger jump of the offsets after a declared loss.
	OffsetCeilingStep int64
	// Buffer is where effects are written; nil: the machine has one of its own. Machines of one goroutine may share one if none
	// of them is stepped while the effects of another are carried out.
	Buffer *Buffer
}

// Buffer holds the effects of a step until the next.
type Buffer struct{ effects []Effect }

// DefaultConfig has Kafka's defaults where Kafka has them.
func DefaultConfig(self Member) Config {
	return Config{
		Self: self, LagTimeMaxMs: 30_000, AlterRetryMs: 1_000, FetchBackoffMs: 1_000, OffsetCeilingStep: 1 << 30,
	}
}

// Epochs is the leader epoch cache of the partition's log, as broker/plog has it. The machine only ever looks.
type Epochs interface {
	// EpochEnd is the largest epoch ≤ the given one and the offset at which it ends; an epoch before all that are known ends
	// where the first begins. −1, −1 for one after all that are known.
	EpochEnd(epoch int32) (endEpoch int32, endOffset int64)
	// EpochAt is the epoch of an offset, −1 if it is not known.
	EpochAt(offset int64) int32
	// BatchStart is the first offset of the batch that an offset lies in, but not below the log's start; the offset itself if
	// there is no such batch. A log can be cut only between two.
	BatchStart(offset int64) int64
}

// Held is what a replica's RAM holds already when its machine is made.
type Held struct {
	StartOffset, EndOffset int64
	HighWatermark          int64 // between the two
	LossGeneration         int32 // of the records
}

// Role is what a replica is at the moment.
type Role uint8

// The roles.
const (
	// Offline: the partition has no leader that this replica could follow, or this broker is no replica of it.
	Offline Role = iota
	// Follower: it copies the leader's log.
	Follower
	// Leader: it appends and serves.
	Leader
)

var roleNames = [...]string{"Offline", "Follower", "Leader"}

func (r Role) String() string { return roleNames[r] }

// Position is where a follower stands: what it asks its leader for. An answer counts only while the follower is still where
// it was when it asked, so answers that come late or twice do no harm. LastEpoch is part of it because a log may be cut back
// and grow to the same end again.
type Position struct {
	Leader      Member
	LeaderEpoch int32
	Offset      int64 // the follower's log end offset
	LastEpoch   int32 // the leader epoch of the record before Offset; −1 if there is none
}

// Answer is a leader's answer to a follower's fetch, apart from records.
type Answer struct {
	HighWatermark int64
	LogStart      int64
	// DivergingEpoch and DivergingEnd: the follower's log is not a prefix of the leader's; in the leader's, that epoch ends at
	// that offset (KIP-595). −1, −1 if all is well.
	DivergingEpoch int32
	DivergingEnd   int64
}

// Diverges tells whether the follower has to cut its log back.
func (a *Answer) Diverges() bool { return a.DivergingEpoch >= 0 }

// Proposal is an AlterPartition: what the leader asks the controller to write. The controller accepts it if it comes from
// the partition's leader, both epochs are the current ones, and every member that is new is registered with that
// incarnation and not fenced. Accepting it raises the partition epoch, also when ISR is as it was: that is how a leader
// makes sure that no older copy of a proposal can still take effect.
type Proposal struct {
	ID             uint64 // counts up; a proposal that is sent again keeps its own
	LeaderEpoch    int32
	PartitionEpoch int32 // that it builds on
	ISR            []Member
	OffsetCeiling  int64 // never below the current one
}
