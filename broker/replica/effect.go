package replica

// EffectKind says what an Effect asks for.
type EffectKind uint8

// The kinds of effects, with the fields that count.
const (
	// EffectRole: the replica has a new Role, or the same one in a new LeaderEpoch. It comes after everything that ends the
	// old role, and before what begins the new one.
	EffectRole EffectKind = iota + 1
	// EffectBeginEpoch: note that LeaderEpoch begins at the end of the log, which is Offset.
	EffectBeginEpoch
	// EffectHighWatermark: it is now Offset. Usually it rose; after an EffectReset or EffectInstallSnapshot it is what it is.
	EffectHighWatermark
	// EffectISR: the leader's ISR is another, or that of another epoch; see Machine.ISR.
	EffectISR
	// EffectComplete: the Await with Token is over. Err is nil (committed), ErrNotEnoughReplicasAfterAppend,
	// ErrRequestTimedOut or ErrNotLeader.
	EffectComplete
	// EffectAnswerFetch: answer the Fetch with Token with Err and Answer (whose HighWatermark and LogStart also count beside
	// ErrOffsetOutOfRange). Without an error and divergence, with the records from the offset on, up to the log's end. If
	// there are none it may wait for some, unless AtOnce says that the answer has something else to tell.
	EffectAnswerFetch
	// EffectAlterPartition: send Proposal to the controller. It is the machine's; copy what outlives the carrying out.
	EffectAlterPartition
	// EffectFetch: the follower's position is now Position: fetch from there, until there is another EffectFetch or an
	// EffectStopFetch. Answers that leave the position as it is bring none: the fetcher goes on by itself.
	EffectFetch
	// EffectStopFetch: do not fetch for this partition.
	EffectStopFetch
	// EffectAppend: append the records of this FetchAnswer, as they are, at the end of the log, which is Offset; then send
	// Replicated before anything else. In an empty log the first batch may begin below that, if the leader's log start lies
	// inside of it.
	EffectAppend
	// EffectTruncate: cut off all records at and above Offset, and the epochs that begin there. Producer state goes back too.
	// Offset may be the log's end: then only an epoch without records goes.
	EffectTruncate
	// EffectTrim: Offset is the new log start offset.
	EffectTrim
	// EffectReset: a declared loss. Drop the log and all state that belongs to it; an empty one begins at Offset.
	EffectReset
	// EffectCopySnapshot: ask Position.Leader for what a log that starts at its log start offset needs to know about what was
	// before (producer state, aborted transactions, epochs), at Offset or above, and send the outcome as a Snapshot event.
	EffectCopySnapshot
	// EffectInstallSnapshot: like EffectReset at Offset, then put in place the snapshot with Token.
	EffectInstallSnapshot
)

// Effect is one thing that the driver has to do. Which fields count depends on Kind.
type Effect struct {
	Kind        EffectKind
	Role        Role
	LeaderEpoch int32
	Offset      int64
	Token       any
	Err         error
	AtOnce      bool
	Position    Position
	Answer      Answer
	Proposal    *Proposal
}
