package replica

// Event is something that happened to a replica. Step takes pointers to the structs of this file and nothing else. Events
// and what they point to belong to the driver again when Step returns.
type Event interface{ head() *Head }

// Head is what every event carries.
type Head struct {
	// NowMs is the time in milliseconds, of a clock that doesn't jump: a jump forward looks as if all followers had been silent.
	// Should it go back, the machine takes the latest that it has seen.
	NowMs int64
}

func (h *Head) head() *Head { return h }

// Metadata is the partition as it stands in an image of the cluster. It is sent when the partition has changed, or the
// registration of one of its replicas; sending one twice does nothing.
type Metadata struct {
	Head
	Revision       int64  // of the image; an event of a lower one than before is passed over
	Leader         Member // NoMember: none
	LeaderEpoch    int32
	PartitionEpoch int32 // rises with every change of this event's fields, but for the registrations in Replicas
	LossGeneration int32 // rises when the records were lost; LeaderEpoch rises with it
	BaseOffset     int64 // where the log of this loss generation began: 0 at first, then the ceiling of the one before
	OffsetCeiling  int64 // end offsets stay at or below it
	Replicas       []Replica
	ISR            []Member // an entry of another incarnation than is registered is void, and on its way out
	// MinISR is min.insync.replicas, no more than the replication factor (replicas that are being added not counted). The
	// controller's rules for the ELR must go by the same figure at the same partition epoch: or a leader could commit what a
	// member of the ELR lacks.
	MinISR int
}

// Appended says that the leader's log has grown. Only after Admit has allowed it.
type Appended struct {
	Head
	EndOffset int64
}

// Await asks for an EffectComplete when the records below Offset are committed, or never will be in time: an acks=all
// produce after its append, or one that turned out to be a repetition of what the log holds.
type Await struct {
	Head
	Offset     int64 // ≤ the log end offset
	DeadlineMs int64
	Token      any
}

// Fetch is a follower's fetch at the leader. It is answered by an EffectAnswerFetch of the same step. A fetch that waits for
// records is sent again when it is woken: leadership may have changed meanwhile.
type Fetch struct {
	Head
	From        Member
	LeaderEpoch int32
	Offset      int64
	LastEpoch   int32 // of the record before Offset; −1: none
	Token       any
}

// AlterAnswer is the controller's answer to a proposal. Err is nil, ErrIneligibleReplica, or anything else that leaves open
// whether the proposal was or will be carried out: a lost connection, but also refused epochs, since the metadata are
// about to tell what has changed. The latter needn't be sent at all.
type AlterAnswer struct {
	Head
	ID             uint64
	Err            error
	PartitionEpoch int32 // the new one, if Err is nil
}

// LogStart says that the leader removed records from the start of its log: retention, or DeleteRecords. Offset is at most
// the high watermark. Followers do it when they are told (EffectTrim).
type LogStart struct {
	Head
	Offset int64
}

// FetchAnswer is what came of a follower's fetch.
type FetchAnswer struct {
	Head
	Position Position // that was asked for
	Err      error    // the leader's, or that it couldn't be reached
	Answer   Answer   // with ErrOffsetOutOfRange LogStart is needed too
	Records  bool     // there are some
}

// Replicated follows an EffectAppend: the end of the log now, and what kept the driver from appending everything.
type Replicated struct {
	Head
	EndOffset int64
	Err       error
}

// Snapshot is the outcome of an EffectCopySnapshot.
type Snapshot struct {
	Head
	LeaderEpoch int32 // of the effect
	Err         error
	StartOffset int64 // the log start offset that the content belongs to
	Token       any   // the content; it comes back with EffectInstallSnapshot, unless it came too late
}

// Tick is due at NextDeadline.
type Tick struct{ Head }

// Stop ends the machine: the partition is going away. Whoever waits is told; later events do nothing.
type Stop struct{ Head }
