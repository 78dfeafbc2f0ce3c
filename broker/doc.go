// Package broker is one broker: the partitions it leads, the workers that own them, and its coordinators. It offers
// operations in domain terms (append, fetch, offsets by time, join group, commit …), each with a completion; it knows no
// wire structure and no socket. broker/api and broker/console are its front desks.
//
// # Types
//
// Broker holds the table of partitions. Partition is one led partition: its log, its producers' sequences, the
// fetches that wait at its end. Produce and Fetch are operations of the hot path: structs that their caller keeps and
// fills again, and jobs.Tasks themselves. FetchSet is what a fetch session reads. Visit is the same road for everything that may allocate. Coordinator hosts the group machine
// of one partition of __consumer_offsets.
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
// # Invariants
//
//   - Offsets are assigned by the owner of the partition, in the order in which appends arrive at its executor.
//   - A record is readable once the high watermark has passed it. With one replica that is at once.
//   - A waiting fetch is linked into each of its partitions or into none; only the owners link and unlink. The parts of
//     a FetchSet (a fetch session) are linked for as long as they have nothing to tell.
//   - Whoever is refused learns it before anything was changed: memory full, too few replicas, a sequence out of
//     order, a fenced epoch.
package broker
