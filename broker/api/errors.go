package api

import (
	"errors"

	"millrace/broker"
	"millrace/broker/group"
	"millrace/broker/plog"
	"millrace/broker/replica"
	"millrace/broker/txn"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/record"
)

// Errors of the front desk itself.
var (
	errInvalidAcks   = errors.New("acks must be -1, 0 or 1")
	errInternalTopic = errors.New("clients may not write to an internal topic")
	errZstd          = errors.New("zstd may be produced from version 7 of the request on")
	errNoTransaction = errors.New("records of a transaction without a transactional id")
	errNotAttempted  = errors.New("another partition of the request does not exist")
)

// wire is where an error of any package becomes a code of the protocol. The first kind that errors.Is finds counts.
var wire = []struct {
	err  error
	code protocol.Code
}{
	{broker.ErrUnknownPartition, protocol.UnknownTopicOrPartition},
	{broker.ErrUnknownTopicID, protocol.UnknownTopicID},
	{broker.ErrNotLeader, protocol.NotLeaderOrFollower},
	{broker.ErrFencedLeaderEpoch, protocol.FencedLeaderEpoch},
	{broker.ErrUnknownLeaderEpoch, protocol.UnknownLeaderEpoch},
	{broker.ErrNotEnoughReplicas, protocol.NotEnoughReplicas},
	{broker.ErrOutOfOrderSequence, protocol.OutOfOrderSequenceNumber},
	{broker.ErrInvalidProducerEpoch, protocol.InvalidProducerEpoch},
	{broker.ErrInvalidTxnState, protocol.InvalidTxnState},
	{broker.ErrUnverified, protocol.InvalidTxnState},
	{broker.ErrCoordinatorFenced, protocol.TransactionCoordinatorFenced},
	{broker.ErrPolicyViolation, protocol.PolicyViolation},
	{broker.ErrClosing, protocol.NotLeaderOrFollower},

	{replica.ErrNotLeader, protocol.NotLeaderOrFollower},
	{replica.ErrFencedLeaderEpoch, protocol.FencedLeaderEpoch},
	{replica.ErrUnknownLeaderEpoch, protocol.UnknownLeaderEpoch},
	{replica.ErrNotReplica, protocol.UnknownLeaderEpoch},
	{replica.ErrStaleIncarnation, protocol.StaleBrokerEpoch},
	{replica.ErrOffsetOutOfRange, protocol.OffsetOutOfRange},
	{replica.ErrNotEnoughReplicas, protocol.NotEnoughReplicas},
	{replica.ErrNotEnoughReplicasAfterAppend, protocol.NotEnoughReplicasAfterAppend},
	{replica.ErrRequestTimedOut, protocol.RequestTimedOut},
	{replica.ErrOffsetNotAvailable, protocol.OffsetNotAvailable},
	{replica.ErrOffsetCeiling, protocol.KafkaStorageError},
	{replica.ErrIneligibleReplica, protocol.IneligibleReplica},

	{errInvalidAcks, protocol.InvalidRequiredAcks},
	{errInternalTopic, protocol.InvalidTopicException},
	{errZstd, protocol.UnsupportedCompressionType},
	{errNoTransaction, protocol.TransactionalIDAuthorizationFailed},
	{errNotAttempted, protocol.OperationNotAttempted},

	{plog.ErrOffsetOutOfRange, protocol.OffsetOutOfRange},
	{plog.ErrMessageTooLarge, protocol.MessageTooLarge},
	{plog.ErrRecordListTooLarge, protocol.RecordListTooLarge},
	{plog.ErrInvalidTimestamp, protocol.InvalidTimestamp},
	{plog.ErrStorage, protocol.KafkaStorageError},

	{record.ErrCorrupt, protocol.CorruptMessage},
	{record.ErrInvalidRecord, protocol.InvalidRecord},
	{record.ErrUnsupportedCompression, protocol.UnsupportedCompressionType},
	{record.ErrTooLarge, protocol.MessageTooLarge},

	{metadata.ErrInvalidRequest, protocol.InvalidRequest},
	{metadata.ErrInvalidTopic, protocol.InvalidTopicException},
	{metadata.ErrTopicExists, protocol.TopicAlreadyExists},
	{metadata.ErrUnknownTopic, protocol.UnknownTopicOrPartition},
	{metadata.ErrUnknownTopicID, protocol.UnknownTopicID},
	{metadata.ErrTopicAuthorizationFailed, protocol.TopicAuthorizationFailed},
	{metadata.ErrInvalidPartitions, protocol.InvalidPartitions},
	{metadata.ErrInvalidReplicationFactor, protocol.InvalidReplicationFactor},
	{metadata.ErrInvalidReplicaAssignment, protocol.InvalidReplicaAssignment},
	{metadata.ErrInvalidConfig, protocol.InvalidConfig},
	{metadata.ErrPolicyViolation, protocol.PolicyViolation},
	{metadata.ErrUnavailable, protocol.CoordinatorNotAvailable},
	{metadata.ErrUnknownBroker, protocol.BrokerIDNotRegistered},
	{metadata.ErrDuplicateBroker, protocol.DuplicateBrokerRegistration},
	{metadata.ErrInvalidRegistration, protocol.InvalidRegistration},
	{metadata.ErrNotController, protocol.NotController},
	{metadata.ErrStaleBrokerEpoch, protocol.StaleBrokerEpoch},
	{metadata.ErrFencedLeaderEpoch, protocol.FencedLeaderEpoch},
	{metadata.ErrInvalidUpdateVersion, protocol.InvalidUpdateVersion},
	{metadata.ErrIneligibleReplica, protocol.IneligibleReplica},
	{metadata.ErrElectionNotNeeded, protocol.ElectionNotNeeded},
	{metadata.ErrPreferredLeaderNotAvailable, protocol.PreferredLeaderNotAvailable},
	{metadata.ErrEligibleLeadersNotAvailable, protocol.EligibleLeadersNotAvailable},
	{metadata.ErrNoReassignmentInProgress, protocol.NoReassignmentInProgress},

	{group.ErrCoordinatorNotAvailable, protocol.CoordinatorNotAvailable},
	{group.ErrNotCoordinator, protocol.NotCoordinator},
	{group.ErrLoading, protocol.CoordinatorLoadInProgress},
	{group.ErrInvalidGroupID, protocol.InvalidGroupID},
	{group.ErrIllegalGeneration, protocol.IllegalGeneration},
	{group.ErrInconsistentProtocol, protocol.InconsistentGroupProtocol},
	{group.ErrUnknownMemberID, protocol.UnknownMemberID},
	{group.ErrInvalidSessionTimeout, protocol.InvalidSessionTimeout},
	{group.ErrRebalanceInProgress, protocol.RebalanceInProgress},
	{group.ErrMemberIDRequired, protocol.MemberIDRequired},
	{group.ErrGroupMaxSize, protocol.GroupMaxSizeReached},
	{group.ErrFencedInstanceID, protocol.FencedInstanceID},
	{group.ErrNonEmptyGroup, protocol.NonEmptyGroup},
	{group.ErrSubscribedToTopic, protocol.GroupSubscribedToTopic},
	{group.ErrGroupNotFound, protocol.GroupIDNotFound},
	{group.ErrInvalidRequest, protocol.InvalidRequest},
	{group.ErrFencedMemberEpoch, protocol.FencedMemberEpoch},
	{group.ErrUnreleasedInstanceID, protocol.UnreleasedInstanceID},
	{group.ErrUnsupportedAssignor, protocol.UnsupportedAssignor},
	{group.ErrStaleMemberEpoch, protocol.StaleMemberEpoch},
	{group.ErrInvalidRegularExpression, protocol.InvalidRegularExpression},
	{group.ErrUnsupportedVersion, protocol.UnsupportedVersion},
	{group.ErrOffsetMetadataTooLarge, protocol.OffsetMetadataTooLarge},
	{group.ErrUnstableOffset, protocol.UnstableOffsetCommit},

	{txn.ErrCoordinatorNotAvailable, protocol.CoordinatorNotAvailable},
	{txn.ErrNotCoordinator, protocol.NotCoordinator},
	{txn.ErrLoading, protocol.CoordinatorLoadInProgress},
	{txn.ErrInvalidRequest, protocol.InvalidRequest},
	{txn.ErrInvalidTxnState, protocol.InvalidTxnState},
	{txn.ErrInvalidProducerIDMapping, protocol.InvalidProducerIDMapping},
	{txn.ErrInvalidTransactionTimeout, protocol.InvalidTransactionTimeout},
	{txn.ErrConcurrentTransactions, protocol.ConcurrentTransactions},
	{txn.ErrProducerFenced, protocol.ProducerFenced},
	{txn.ErrTransactionalIDNotFound, protocol.TransactionalIDNotFound},
	{txn.ErrTransactionAbortable, protocol.TransactionAbortable},
}

// codeOf is the code of an error; nil is None.
func codeOf(err error) protocol.Code {
	if err == nil {
		return protocol.None
	}
	for i := range wire {
		if errors.Is(err, wire[i].err) {
			return wire[i].code
		}
	}
	return protocol.UnknownServerError
}
