// Package metadata holds what the cluster knows about itself: its brokers, its
// topics, and who leads which partition.
//
// # The types
//
//   - Image: everything, at one revision. It never changes; all readers share
//     it without a lock. The next image shares what didn't change.
//   - Delta: one change of an image. The controller plans deltas.
//   - Store: keys and values with a revision counter, after etcd's model.
//     Package memory is one in the process, package storetest what all are held
//     to.
//   - The commands (TopicSpec, BrokerSpec, …) and their answers, with errors
//     that are an *Error of one of the Err… kinds.
//
// # The road of a change
//
// A command and the newest image go into the controller, which plans deltas.
// Image.Transactions makes a Txn of them that compares all that the plan relied
// on. Store.Commit carries it out, the store's watch delivers the events, and
// Image.Replay makes deltas and the next image of them. Only what comes back from
// the store is true: an image isn't built of a plan. So every node that watches
// the same store sees the same images, whoever made the change.
//
// # Ownership and invariants
//
// Everything reachable from an Image, a Delta or a Store's answer is shared and
// immutable. Nobody writes to it, also not in tests.
//
//   - A topic has at least one partition; its partitions are 0 … n−1, and n
//     never shrinks.
//   - Settings of what isn't a topic (brokers, groups, client metrics) hang on a
//     name, and need not belong to anything that exists.
//   - A TopicID is never used again; a name may be. What hangs on a topic in
//     the store (settings, partitions) hangs on the id.
//   - Partition epochs, leader epochs, loss generations and offset ceilings only
//     rise. The ISR is a subset of the replicas, the leader is in the ISR.
//   - An id that a broker had is not issued again.
//   - Producer ids are handed out once, ever (KIP-98).
//   - No two topics have equal normal names (NormalName), as in Apache Kafka.
//
// What a partition says about its replicas names members: brokers in one life. An
// entry counts while the broker is registered in that life, so one write, the
// next registration, voids all its entries at once.
package metadata
