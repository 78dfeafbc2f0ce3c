// Package group is the coordinator of consumer groups as a pure step machine: the classic group protocol (JoinGroup,
// SyncGroup, Heartbeat, LeaveGroup), the consumer protocol (ConsumerGroupHeartbeat, KIP-848; the files consumer_*.go) and the
// committed offsets, as Apache Kafka 4.x answers them, to the error code. A group is of one protocol; an empty one becomes one of
// the other when a member of that comes.
//
// A [Machine] is the state of one partition of __consumer_offsets: every group whose id hashes to it. It has no clock, no
// goroutine, no socket and no randomness. Time and the random part of member ids come in with the events, so the same events
// give the same effects, always.
//
//	effects := m.Step(&group.Join{Head: group.Head{NowMs: now, Token: op}, GroupID: "g", …})
//
// The caller, called the driver below, carries the effects out in their order:
//
//   - EffectReply: the request that came with this Token is answered: Err and Result. Every token of a request is answered
//     exactly once, at once or later.
//   - EffectPersist: append Records to the partition's log. When they are durable, or when the log has refused them, tell it
//     with a [Persisted] event of the same ID. Whatever promises durability (a commit, an assignment, the new id of a static
//     member, a deletion) is answered only after that.
//   - EffectGroupChanged: a group changed its state; for logs and for those who watch.
//
// # Rules of the driver
//
//   - One goroutine at a time: a Machine belongs to the executor that owns the partition.
//   - The effects of a Step are valid until the next Step. Events and what they point to belong to the driver again as soon
//     as Step returns, save for an event that is held: its Token is answered later and the event must stay untouched
//     until then. Bytes that outlive the step are copied by the machine.
//   - After each Step it compares [Machine.NextDeadline] with its timer and sends [Tick] when that moment has come.
//   - Persisted events that succeed come in the order of their effects. Err means that the records are not in the log and never
//     will be; while that is unknown (replicas are slow) the driver says nothing, the machine itself gives up waiting after
//     Config.OffsetCommitTimeoutMs. A leader that stops being one sends [Unload].
//   - A new leader replays the log with [Machine.Load] and then sends [TopicsChanged] and [Loaded]: members keep their place and
//     get a fresh session. TopicsChanged follows whenever topics come, grow or go.
//
// # Invariants
//
//   - State changes go through Group.become, which refuses an illegal one (state.go has the table).
//   - In one generation a group has one leader, and each member one assignment, set by that leader's SyncGroup and no other.
//   - Whenever a member or a pending id goes away, for whatever reason, the question "have all joined?" is asked again.
//   - In a consumer group no partition is given to a member before the one that had it said that it gave it up, or was expelled.
//   - The state of a consumer group may be ahead of the log, the answers never are (consumer_write.go).
//   - Committed offsets become visible (OffsetFetch) when they are durable, not before; those of a transaction (TxnCommit, txn.go)
//     with its marker (TransactionEnded). Of two for one partition the one that is later in the log stays.
//
// # Where it is better than Kafka, on purpose
//
//   - An id that was given out for MEMBER_ID_REQUIRED (KIP-394) and superseded by another one on the same connection is
//     still accepted but no longer waited for. Kafka lets it hold up the group for a session timeout.
//   - All that a static member's new JoinGroup says replaces the old, client id and host included.
//   - A parked request that its own member repeats, or whose member is removed, is answered. Kafka forgets some of these.
//   - A JoinGroup that is refused leaves no empty group behind.
//   - A ConsumerGroupHeartbeat of a group that nobody knows is UNKNOWN_MEMBER_ID, and the member joins anew. Kafka's
//     GROUP_ID_NOT_FOUND ends a Java consumer; but Kafka's groups don't go with RAM. A member that joins again (epoch 0) is welcome
//     under its own id, and regular expressions are looked up at once and not in the background.
//   - A commit with an epoch before the current one is taken for partitions that the member has had since then, as in Kafka 4.3; of
//     that a coordinator that was loaded knows nothing.
//   - The offsets of an empty consumer group are kept from when it became empty; Kafka goes by the commits alone.
package group
