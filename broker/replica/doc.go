// Package replica is the replication of a partition as a pure step machine: leader and follower, high watermark, ISR, leader
// epochs, the queue of acks=all. Replicas lose their log when their broker restarts; the rules here are Kafka's (KIP-101,
// 279, 595, 903, 966) with what that demands.
//
// A [Machine] is one replica of one partition on one broker. It has no clock, no goroutine, no socket and no records: it
// knows offsets and epochs. Time comes in with the events, so the same events give the same effects, always.
//
//	for _, f := range m.Step(&replica.Fetch{Head: replica.Head{NowMs: now}, From: follower, …}) { … }
//
// # Rules of the driver
//
//   - One goroutine at a time: a Machine belongs to the worker that owns the partition.
//   - Effects are carried out in their order, before the next Step, which uses the slice again. EffectAppend is the last of
//     its step; Replicated follows it, and nothing before.
//   - The log is the driver's and moves only as told: it appends what Admit has allowed and says so (Appended), and does
//     what the effects say. Replica and log must agree on start and end whenever Step is called.
//   - After each Step it compares [Machine.NextDeadline] with its timer and sends [Tick] when that moment has come.
//   - Answers (AlterAnswer, FetchAnswer, Snapshot) go to the machine that asked, not to a later one of the same partition.
//   - Metadata come as events, from images in their order. The replica set that loses a member needs a new leader epoch from
//     the controller, or a fetch of that replica's past could count when it comes back.
//
// # Invariants
//
//   - start ≤ high watermark ≤ end. The high watermark of a replica rises, but for a declared loss.
//   - What lies below any replica's high watermark is the same at all of them, and in the log of everyone who may be elected:
//     it is on the maximal ISR, and was when that had min.insync.replicas members.
//   - Whatever a leader believes of its ISR, the controller's is a subset of its maximal ISR, as long as it may still commit.
//   - A broker counts as what it is in this life (its incarnation), as leader, in the ISR, in a proposal and when it fetches.
//   - A follower's log is cut where leader epochs diverge, never at its high watermark.
//   - No offset above the ceiling in the metadata is given out; a loss generation begins at the ceiling of the one before.
//
// # What is decided otherwise than in Kafka
//
//   - A refused proposal is withdrawn by another one and not forgotten (isr.go).
//   - A replica that lags by time may not join; Kafka looks at its end alone. That also keeps ISRs from flapping.
//   - Idle followers need no fetch to stay in the ISR: what has everything can't lag (leader.go).
//   - Too few replicas in sync fail the produces that wait at once, with NOT_ENOUGH_REPLICAS_AFTER_APPEND.
//   - A follower that holds only what its leader has removed must drop that before it counts (Machine.comparable).
//
// The tests are scripts (testdata), tables, and an exploration of whole clusters that checks the invariants after each step.
// With -tags mutants each rule (rules.go) can be switched off, and the exploration must then find a record lost.
package replica
