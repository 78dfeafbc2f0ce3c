// Package controller decides about the cluster: which broker gets which id,
// where partitions are placed, who leads them, and what of a request is refused.
//
// It is a step machine without state. Each method of Policy takes the image of
// the cluster and a command, and returns the deltas that carry it out and the
// answer. There is no clock, no goroutine and no I/O in it; randomness (topic
// ids) comes in through the Policy. The same image and command give the same
// plan, so that a test is a script of commands with the deltas that follow.
//
// A plan is a proposal. It counts when the deltas have been through the store,
// which refuses them if the image has changed meanwhile; then the command is
// planned again.
//
// # Rules
//
// Validation, its order, and the kind of each error are Apache Kafka's 4.x
// (ReplicationControlManager and ControllerApis there): a client that relies on
// an error code finds the same here. Where a rule is left open, or a later
// issue extends it, the method says so.
//
//   - Partitions are placed round robin over the brokers, those of one rack apart. A
//     topic starts where the one before it ended, so topics with one partition
//     spread too.
//   - The first replica is the preferred leader and leads at first. Later leaders
//     are elected round robin over the members of the ISR, in the order of the
//     replicas, from the one after the failed leader on.
//   - Replicas live in RAM. An entry of an ISR or ELR is void when its broker has
//     registered again; only a live entry can be elected. While an entry may be
//     alive the partition waits for it; when all are void the records are declared
//     lost, and a new loss generation begins above the offset ceiling of the old.
//   - A fenced broker is out of every ISR, but what it has isn't void.
//   - A partition whose replica set loses a member begins a new leader epoch.
//   - The deltas of a plan are in an order in which they can be carried out in
//     several transactions, each leaving a sound state. What is missing after
//     half a plan, Settle finds.
//
// The files in reading order: policy.go, placement.go, topics.go; draft.go and
// settle.go, which hold the rules of replication; alter.go, elections.go,
// reassign.go, drain.go, brokers.go, which ask for something; grow.go; detector.go.
//
// # Ownership
//
// Images are read, never written. What a plan's deltas hold belongs to whoever
// gets them; nothing of the command is kept but strings.
package controller
