//go:build !mutants

package replica

// The rules that keep acknowledged records safe, one by one. They are constants, so that they cost nothing; with the build
// tag mutants they can be switched off, and the tests must then find what goes wrong (rules_mutants.go).
const (
	ruleLeaderBound      = true // R2: only the incarnation that was elected leads
	ruleMaximalISR       = true // the high watermark waits for those who may have joined
	ruleHighNeedsMinISR  = true // and moves only with min.insync.replicas members
	ruleJoinAtHigh       = true // to join, a replica needs all below the high watermark
	ruleJoinAtEpochStart = true // and all below the start of the leader epoch
	ruleFetchEpoch       = true // fetches count in their own leader epoch only
	ruleFetchIncarnation = true // and for the incarnation that sent them only
	ruleResetProgress    = true // a new leader epoch knows nothing of its followers
	ruleDivergence       = true // a follower's last epoch is compared with the leader's log
	ruleExactEpochEnd    = true // an epoch ends where the next begins
	ruleOwnEpochEnd      = true // truncation goes by the follower's epoch end too
	ruleTruncateByEpoch  = true // and not by its high watermark
	ruleAnswerEpoch      = true // an answer counts only for the log that asked
	ruleClipHigh         = true // a follower's high watermark ends with its log
	ruleComparable       = true // records that can't be compared count for nothing
	ruleWithdraw         = true // a refused proposal binds until it can't be accepted any more
	ruleAckAtHigh        = true // acks=all waits for the high watermark
	ruleLossReset        = true // a declared loss drops everything
	ruleCeiling          = true // no offset above the ceiling
)
