// Package txn is the coordinator of transactions as a pure step machine: InitProducerId with a transactional id,
// AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, DescribeTransactions and ListTransactions, as Apache Kafka 4.x answers them, to
// the error code (KIP-98, KIP-360, KIP-664, KIP-890).
//
// A [Machine] is the state of one partition of __transaction_state: every transactional id that hashes to it. It has no clock,
// no goroutine, no socket and no randomness; time and producer ids come in with the events.
//
//	effects := m.Step(&txn.Init{Head: txn.Head{NowMs: now, Token: op}, TransactionalID: "t", …})
//
// The caller, called the driver below, carries the effects out in their order:
//
//   - EffectReply: the request that came with this Token is answered: Err and Result. Every token is answered exactly once.
//   - EffectPersist: append Records to the partition's log, and send [Persisted] with the same ID when they are durable, or
//     when the log has refused them. While that is unknown nothing is said; the machine itself gives up waiting for it.
//   - EffectMarkers: have the leaders of Marker.Partitions append a marker, and send [Marked] with what became of each, in one
//     event or several. Partitions that fail are asked for again after Config.MarkerRetryMs, so a leader is looked up anew.
//   - EffectProducerID: the event that came with this Token needs a producer id that nobody had: draw one, give it to the event
//     (DrawnProducerID) and Step it again. The machine has changed nothing. Or answer the token with an error.
//   - EffectChanged: a transaction changed its state; for logs.
//
// # Rules of the driver
//
//   - One goroutine at a time: a Machine belongs to the executor that owns the partition.
//   - The effects of a Step are valid until the next Step; nothing is kept of an event but its Token.
//   - After each Step it compares [Machine.NextDeadline] with its timer and sends [Tick] when that moment has come.
//   - Persisted events that succeed come in the order of their effects. A leader that stops being one sends [Unload].
//   - A new leader replays the log with [Machine.Load] and then sends [Loaded]: markers that may be missing are written again.
//
// # Invariants
//
//   - What a transaction is, is what the log says: a transition counts when its record is durable, and until then every request
//     for the id is told to try again (ErrConcurrentTransactions).
//   - The decision to commit or abort is durable before a marker is written, and before EndTxn is answered.
//   - A transaction is complete when each of its partitions has the marker, or is gone.
//   - EndTxn of KIP-890 raises the epoch, so that one that comes late finds another epoch and never ends the next transaction;
//     its repetition is told by the epoch before the current one.
//
// # Where it differs from Kafka, on purpose
//
//   - Whoever is fenced, by InitProducerId or by a timeout, is fenced by one step of the epoch. Kafka takes two, so that the old
//     producer's EndTxn isn't taken for a repetition, and overflows at the last epoch. Here the record says that the epoch was
//     not raised by EndTxn (client transaction version 0).
//   - A timeout aborts at its own moment; Kafka looks every ten seconds.
package txn
