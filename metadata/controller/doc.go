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
//   - Partitions are placed round robin over the brokers by id. A topic starts
//     where the one before it ended, so topics with one partition spread too.
//   - The first replica is the preferred leader and leads at first.
//   - A broker that leaves hands its partitions to the brokers left, round
//     robin. Epochs rise with it.
//   - The deltas of a plan are in an order in which they can be carried out in
//     several transactions, each leaving a sound state.
//
// # Ownership
//
// Images are read, never written. What a plan's deltas hold belongs to whoever
// gets them; nothing of the command is kept but strings.
package controller
