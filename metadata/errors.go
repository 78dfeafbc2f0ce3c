package metadata

import (
	"errors"
	"fmt"
)

// The kinds of refusal of the controller and the central server. An answer
// holds an *Error that wraps one of them, with a sentence for the client.
// Each is named after the protocol's error code that it becomes on the wire.
var (
	ErrInvalidRequest           = errors.New("invalid request")
	ErrInvalidTopic             = errors.New("invalid topic")
	ErrTopicExists              = errors.New("topic already exists")
	ErrUnknownTopic             = errors.New("unknown topic or partition")
	ErrUnknownTopicID           = errors.New("unknown topic id")
	ErrTopicAuthorizationFailed = errors.New("topic authorization failed")
	ErrInvalidPartitions        = errors.New("invalid partitions")
	ErrInvalidReplicationFactor = errors.New("invalid replication factor")
	ErrInvalidReplicaAssignment = errors.New("invalid replica assignment")
	ErrInvalidConfig            = errors.New("invalid config")
	ErrPolicyViolation          = errors.New("policy violation")
	ErrUnknownBroker            = errors.New("broker id not registered")
	ErrDuplicateBroker          = errors.New("duplicate broker registration")
	ErrInvalidRegistration      = errors.New("invalid registration")
	ErrUnavailable              = errors.New("metadata store not available")

	ErrNotController               = errors.New("not controller")
	ErrStaleBrokerEpoch            = errors.New("stale broker epoch")
	ErrFencedLeaderEpoch           = errors.New("fenced leader epoch")
	ErrInvalidUpdateVersion        = errors.New("invalid update version")
	ErrIneligibleReplica           = errors.New("ineligible replica")
	ErrElectionNotNeeded           = errors.New("election not needed")
	ErrPreferredLeaderNotAvailable = errors.New("preferred leader not available")
	ErrEligibleLeadersNotAvailable = errors.New("eligible leaders not available")
	ErrNoReassignmentInProgress    = errors.New("no reassignment in progress")
)

// Error is a refusal: what kind, and a sentence for whoever asked.
type Error struct {
	Kind    error // one of the Err… values of this package
	Message string
}

// Errorf makes an Error of the kind.
func Errorf(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Error is the sentence alone, as it goes to a client beside the code.
func (e *Error) Error() string { return e.Message }

// Unwrap makes errors.Is(err, ErrTopicExists) and its like work.
func (e *Error) Unwrap() error { return e.Kind }
