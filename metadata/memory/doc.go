// Package memory is a metadata.Store in the memory of one process: the zero-setup
// default of a server that hosts all brokers itself.
//
// Nothing survives the process. That fits the cluster's data, which doesn't
// either: a new process starts with a new cluster id and new topic ids, so
// that no client takes what it remembers for valid.
//
// # Ownership
//
// The Store owns nothing that runs: no goroutine waits in it. A commit hands its
// events to the watchers on the committer's own goroutine before done is called,
// so in one process a change is seen everywhere when its caller gets the answer.
// If a watcher is just being served by somebody else, that one goes on with the
// new events. Leases use timers of the runtime; Close stops them.
//
// # Invariants
//
//   - Each effective Txn is one revision, revision numbers have no gaps.
//   - The history is bounded in bytes. A watcher that falls behind it gets
//     ErrCompacted, never a gap.
//   - deliver and done are called without a lock held.
package memory
