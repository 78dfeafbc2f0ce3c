// Package broker is one broker: the replicas it has, the workers that own them, and its coordinators. It offers
// operations in domain terms (append, fetch, offsets by time, join group, commit …), each with a completion; it knows no
// wire structure and no socket. broker/api and broker/console are its front desks.
//
// # Types
//
// Broker holds the table of replicas. Partition is one of them: its log (broker/plog), its replication (broker/replica), its
// producers' sequences, the fetches that wait. Produce and Fetch are operations of the hot path: structs that their caller keeps and
// fills again, and jobs.Tasks themselves. FetchSet is what a fetch session reads. Visit is the same road for everything that
// may allocate. Coordinator hosts the group machine of one partition of __consumer_offsets, while this broker leads it, and
// txnCoordinator that of one of __transaction_state. Source is another broker to read from, fetchers are the ones that read; Peer
// is another broker to speak with about transactions. An Admission lets a transactional produce in.
//
// # Ownership
//
// A partition belongs to exactly one worker, a serial executor (package jobs), and is touched nowhere else; so it has
// no lock. An operation over several partitions is one task that walks them in the request's order and hops to the
// executor that owns the next one. While executors are idle a hop is a function call on the caller, so an operation
// on one thread costs no hand-over at all; and since the walk is serial, limits over the whole request (a fetch's
// max_bytes) need no arithmetic between threads. The alternative, splitting an operation and gathering the parts,
// costs an atomic counter and a second array, and loses the order of partitions that Kafka promises for max_bytes.
//
// An operation belongs to the broker from Start until its Done is called, exactly once, on whichever goroutine
// finished it. Done must not block. After it the caller may use the struct again.
//
// A partition decides nothing about replication: it brings its machine what happens and carries out what that says
// (replication.go). Nothing that follows from an effect may step the machine again before the step is over.
//
// # Invariants
//
//   - Offsets are assigned by the leader, in the order in which appends arrive at its executor.
//   - A record is readable once the high watermark has passed it, and acknowledged with acks=all then. With one replica that is
//     at once.
//   - Who reads committed records reads below the last stable offset: the first offset of a transaction without a committed
//     marker. Every replica can tell it.
//   - A transaction is opened in a partition only after its coordinator has said so, and no marker has come since.
//   - A waiting fetch is linked into each of its partitions or into none; only the owners link and unlink. The parts of
//     a FetchSet (a fetch session) are linked for as long as they have nothing to tell. Consumers wait for the high watermark,
//     followers for the end of the log.
//   - Whoever is refused learns it before anything was changed: memory full, too few replicas, a sequence out of
//     order, a fenced epoch.
package broker
