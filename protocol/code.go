package protocol

import "strconv"

// Code is an error code of the Kafka protocol, as it stands in responses
// (https://kafka.apache.org/protocol#protocol_error_codes). The constants are those
// of Kafka 4, under Kafka's names.
type Code int16

// The error codes. Whether a client may try again is told by Retriable.
const (
	UnknownServerError                     Code = -1
	None                                   Code = 0
	OffsetOutOfRange                       Code = 1
	CorruptMessage                         Code = 2
	UnknownTopicOrPartition                Code = 3
	InvalidFetchSize                       Code = 4
	LeaderNotAvailable                     Code = 5
	NotLeaderOrFollower                    Code = 6
	RequestTimedOut                        Code = 7
	BrokerNotAvailable                     Code = 8
	ReplicaNotAvailable                    Code = 9
	MessageTooLarge                        Code = 10
	StaleControllerEpoch                   Code = 11
	OffsetMetadataTooLarge                 Code = 12
	NetworkException                       Code = 13
	CoordinatorLoadInProgress              Code = 14
	CoordinatorNotAvailable                Code = 15
	NotCoordinator                         Code = 16
	InvalidTopicException                  Code = 17
	RecordListTooLarge                     Code = 18
	NotEnoughReplicas                      Code = 19
	NotEnoughReplicasAfterAppend           Code = 20
	InvalidRequiredAcks                    Code = 21
	IllegalGeneration                      Code = 22
	InconsistentGroupProtocol              Code = 23
	InvalidGroupID                         Code = 24
	UnknownMemberID                        Code = 25
	InvalidSessionTimeout                  Code = 26
	RebalanceInProgress                    Code = 27
	InvalidCommitOffsetSize                Code = 28
	TopicAuthorizationFailed               Code = 29
	GroupAuthorizationFailed               Code = 30
	ClusterAuthorizationFailed             Code = 31
	InvalidTimestamp                       Code = 32
	UnsupportedSaslMechanism               Code = 33
	IllegalSaslState                       Code = 34
	UnsupportedVersion                     Code = 35
	TopicAlreadyExists                     Code = 36
	InvalidPartitions                      Code = 37
	InvalidReplicationFactor               Code = 38
	InvalidReplicaAssignment               Code = 39
	InvalidConfig                          Code = 40
	NotController                          Code = 41
	InvalidRequest                         Code = 42
	UnsupportedForMessageFormat            Code = 43
	PolicyViolation                        Code = 44
	OutOfOrderSequenceNumber               Code = 45
	DuplicateSequenceNumber                Code = 46
	InvalidProducerEpoch                   Code = 47
	InvalidTxnState                        Code = 48
	InvalidProducerIDMapping               Code = 49
	InvalidTransactionTimeout              Code = 50
	ConcurrentTransactions                 Code = 51
	TransactionCoordinatorFenced           Code = 52
	TransactionalIDAuthorizationFailed     Code = 53
	SecurityDisabled                       Code = 54
	OperationNotAttempted                  Code = 55
	KafkaStorageError                      Code = 56
	LogDirNotFound                         Code = 57
	SaslAuthenticationFailed               Code = 58
	UnknownProducerID                      Code = 59
	ReassignmentInProgress                 Code = 60
	DelegationTokenAuthDisabled            Code = 61
	DelegationTokenNotFound                Code = 62
	DelegationTokenOwnerMismatch           Code = 63
	DelegationTokenRequestNotAllowed       Code = 64
	DelegationTokenAuthorizationFailed     Code = 65
	DelegationTokenExpired                 Code = 66
	InvalidPrincipalType                   Code = 67
	NonEmptyGroup                          Code = 68
	GroupIDNotFound                        Code = 69
	FetchSessionIDNotFound                 Code = 70
	InvalidFetchSessionEpoch               Code = 71
	ListenerNotFound                       Code = 72
	TopicDeletionDisabled                  Code = 73
	FencedLeaderEpoch                      Code = 74
	UnknownLeaderEpoch                     Code = 75
	UnsupportedCompressionType             Code = 76
	StaleBrokerEpoch                       Code = 77
	OffsetNotAvailable                     Code = 78
	MemberIDRequired                       Code = 79
	PreferredLeaderNotAvailable            Code = 80
	GroupMaxSizeReached                    Code = 81
	FencedInstanceID                       Code = 82
	EligibleLeadersNotAvailable            Code = 83
	ElectionNotNeeded                      Code = 84
	NoReassignmentInProgress               Code = 85
	GroupSubscribedToTopic                 Code = 86
	InvalidRecord                          Code = 87
	UnstableOffsetCommit                   Code = 88
	ThrottlingQuotaExceeded                Code = 89
	ProducerFenced                         Code = 90
	ResourceNotFound                       Code = 91
	DuplicateResource                      Code = 92
	UnacceptableCredential                 Code = 93
	InconsistentVoterSet                   Code = 94
	InvalidUpdateVersion                   Code = 95
	FeatureUpdateFailed                    Code = 96
	PrincipalDeserializationFailure        Code = 97
	SnapshotNotFound                       Code = 98
	PositionOutOfRange                     Code = 99
	UnknownTopicID                         Code = 100
	DuplicateBrokerRegistration            Code = 101
	BrokerIDNotRegistered                  Code = 102
	InconsistentTopicID                    Code = 103
	InconsistentClusterID                  Code = 104
	TransactionalIDNotFound                Code = 105
	FetchSessionTopicIDError               Code = 106
	IneligibleReplica                      Code = 107
	NewLeaderElected                       Code = 108
	OffsetMovedToTieredStorage             Code = 109
	FencedMemberEpoch                      Code = 110
	UnreleasedInstanceID                   Code = 111
	UnsupportedAssignor                    Code = 112
	StaleMemberEpoch                       Code = 113
	MismatchedEndpointType                 Code = 114
	UnsupportedEndpointType                Code = 115
	UnknownControllerID                    Code = 116
	UnknownSubscriptionID                  Code = 117
	TelemetryTooLarge                      Code = 118
	InvalidRegistration                    Code = 119
	TransactionAbortable                   Code = 120
	InvalidRecordState                     Code = 121
	ShareSessionNotFound                   Code = 122
	InvalidShareSessionEpoch               Code = 123
	FencedStateEpoch                       Code = 124
	InvalidVoterKey                        Code = 125
	DuplicateVoter                         Code = 126
	VoterNotFound                          Code = 127
	InvalidRegularExpression               Code = 128
	RebootstrapRequired                    Code = 129
	StreamsInvalidTopology                 Code = 130
	StreamsInvalidTopologyEpoch            Code = 131
	StreamsTopologyFenced                  Code = 132
	ShareSessionLimitReached               Code = 133
	GroupDeletionFailed                    Code = 134
	StreamsTopologyDescriptionUpdateFailed Code = 135
	ControllerIDNotRegistered              Code = 136
)

// lastCode is the highest code that has a name here.
const lastCode = ControllerIDNotRegistered

// codeNames holds Kafka's names, from code -1 on.
var codeNames = [...]string{
	UnknownServerError + 1:                     "UNKNOWN_SERVER_ERROR",
	None + 1:                                   "NONE",
	OffsetOutOfRange + 1:                       "OFFSET_OUT_OF_RANGE",
	CorruptMessage + 1:                         "CORRUPT_MESSAGE",
	UnknownTopicOrPartition + 1:                "UNKNOWN_TOPIC_OR_PARTITION",
	InvalidFetchSize + 1:                       "INVALID_FETCH_SIZE",
	LeaderNotAvailable + 1:                     "LEADER_NOT_AVAILABLE",
	NotLeaderOrFollower + 1:                    "NOT_LEADER_OR_FOLLOWER",
	RequestTimedOut + 1:                        "REQUEST_TIMED_OUT",
	BrokerNotAvailable + 1:                     "BROKER_NOT_AVAILABLE",
	ReplicaNotAvailable + 1:                    "REPLICA_NOT_AVAILABLE",
	MessageTooLarge + 1:                        "MESSAGE_TOO_LARGE",
	StaleControllerEpoch + 1:                   "STALE_CONTROLLER_EPOCH",
	OffsetMetadataTooLarge + 1:                 "OFFSET_METADATA_TOO_LARGE",
	NetworkException + 1:                       "NETWORK_EXCEPTION",
	CoordinatorLoadInProgress + 1:              "COORDINATOR_LOAD_IN_PROGRESS",
	CoordinatorNotAvailable + 1:                "COORDINATOR_NOT_AVAILABLE",
	NotCoordinator + 1:                         "NOT_COORDINATOR",
	InvalidTopicException + 1:                  "INVALID_TOPIC_EXCEPTION",
	RecordListTooLarge + 1:                     "RECORD_LIST_TOO_LARGE",
	NotEnoughReplicas + 1:                      "NOT_ENOUGH_REPLICAS",
	NotEnoughReplicasAfterAppend + 1:           "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
	InvalidRequiredAcks + 1:                    "INVALID_REQUIRED_ACKS",
	IllegalGeneration + 1:                      "ILLEGAL_GENERATION",
	InconsistentGroupProtocol + 1:              "INCONSISTENT_GROUP_PROTOCOL",
	InvalidGroupID + 1:                         "INVALID_GROUP_ID",
	UnknownMemberID + 1:                        "UNKNOWN_MEMBER_ID",
	InvalidSessionTimeout + 1:                  "INVALID_SESSION_TIMEOUT",
	RebalanceInProgress + 1:                    "REBALANCE_IN_PROGRESS",
	InvalidCommitOffsetSize + 1:                "INVALID_COMMIT_OFFSET_SIZE",
	TopicAuthorizationFailed + 1:               "TOPIC_AUTHORIZATION_FAILED",
	GroupAuthorizationFailed + 1:               "GROUP_AUTHORIZATION_FAILED",
	ClusterAuthorizationFailed + 1:             "CLUSTER_AUTHORIZATION_FAILED",
	InvalidTimestamp + 1:                       "INVALID_TIMESTAMP",
	UnsupportedSaslMechanism + 1:               "UNSUPPORTED_SASL_MECHANISM",
	IllegalSaslState + 1:                       "ILLEGAL_SASL_STATE",
	UnsupportedVersion + 1:                     "UNSUPPORTED_VERSION",
	TopicAlreadyExists + 1:                     "TOPIC_ALREADY_EXISTS",
	InvalidPartitions + 1:                      "INVALID_PARTITIONS",
	InvalidReplicationFactor + 1:               "INVALID_REPLICATION_FACTOR",
	InvalidReplicaAssignment + 1:               "INVALID_REPLICA_ASSIGNMENT",
	InvalidConfig + 1:                          "INVALID_CONFIG",
	NotController + 1:                          "NOT_CONTROLLER",
	InvalidRequest + 1:                         "INVALID_REQUEST",
	UnsupportedForMessageFormat + 1:            "UNSUPPORTED_FOR_MESSAGE_FORMAT",
	PolicyViolation + 1:                        "POLICY_VIOLATION",
	OutOfOrderSequenceNumber + 1:               "OUT_OF_ORDER_SEQUENCE_NUMBER",
	DuplicateSequenceNumber + 1:                "DUPLICATE_SEQUENCE_NUMBER",
	InvalidProducerEpoch + 1:                   "INVALID_PRODUCER_EPOCH",
	InvalidTxnState + 1:                        "INVALID_TXN_STATE",
	InvalidProducerIDMapping + 1:               "INVALID_PRODUCER_ID_MAPPING",
	InvalidTransactionTimeout + 1:              "INVALID_TRANSACTION_TIMEOUT",
	ConcurrentTransactions + 1:                 "CONCURRENT_TRANSACTIONS",
	TransactionCoordinatorFenced + 1:           "TRANSACTION_COORDINATOR_FENCED",
	TransactionalIDAuthorizationFailed + 1:     "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
	SecurityDisabled + 1:                       "SECURITY_DISABLED",
	OperationNotAttempted + 1:                  "OPERATION_NOT_ATTEMPTED",
	KafkaStorageError + 1:                      "KAFKA_STORAGE_ERROR",
	LogDirNotFound + 1:                         "LOG_DIR_NOT_FOUND",
	SaslAuthenticationFailed + 1:               "SASL_AUTHENTICATION_FAILED",
	UnknownProducerID + 1:                      "UNKNOWN_PRODUCER_ID",
	ReassignmentInProgress + 1:                 "REASSIGNMENT_IN_PROGRESS",
	DelegationTokenAuthDisabled + 1:            "DELEGATION_TOKEN_AUTH_DISABLED",
	DelegationTokenNotFound + 1:                "DELEGATION_TOKEN_NOT_FOUND",
	DelegationTokenOwnerMismatch + 1:           "DELEGATION_TOKEN_OWNER_MISMATCH",
	DelegationTokenRequestNotAllowed + 1:       "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
	DelegationTokenAuthorizationFailed + 1:     "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
	DelegationTokenExpired + 1:                 "DELEGATION_TOKEN_EXPIRED",
	InvalidPrincipalType + 1:                   "INVALID_PRINCIPAL_TYPE",
	NonEmptyGroup + 1:                          "NON_EMPTY_GROUP",
	GroupIDNotFound + 1:                        "GROUP_ID_NOT_FOUND",
	FetchSessionIDNotFound + 1:                 "FETCH_SESSION_ID_NOT_FOUND",
	InvalidFetchSessionEpoch + 1:               "INVALID_FETCH_SESSION_EPOCH",
	ListenerNotFound + 1:                       "LISTENER_NOT_FOUND",
	TopicDeletionDisabled + 1:                  "TOPIC_DELETION_DISABLED",
	FencedLeaderEpoch + 1:                      "FENCED_LEADER_EPOCH",
	UnknownLeaderEpoch + 1:                     "UNKNOWN_LEADER_EPOCH",
	UnsupportedCompressionType + 1:             "UNSUPPORTED_COMPRESSION_TYPE",
	StaleBrokerEpoch + 1:                       "STALE_BROKER_EPOCH",
	OffsetNotAvailable + 1:                     "OFFSET_NOT_AVAILABLE",
	MemberIDRequired + 1:                       "MEMBER_ID_REQUIRED",
	PreferredLeaderNotAvailable + 1:            "PREFERRED_LEADER_NOT_AVAILABLE",
	GroupMaxSizeReached + 1:                    "GROUP_MAX_SIZE_REACHED",
	FencedInstanceID + 1:                       "FENCED_INSTANCE_ID",
	EligibleLeadersNotAvailable + 1:            "ELIGIBLE_LEADERS_NOT_AVAILABLE",
	ElectionNotNeeded + 1:                      "ELECTION_NOT_NEEDED",
	NoReassignmentInProgress + 1:               "NO_REASSIGNMENT_IN_PROGRESS",
	GroupSubscribedToTopic + 1:                 "GROUP_SUBSCRIBED_TO_TOPIC",
	InvalidRecord + 1:                          "INVALID_RECORD",
	UnstableOffsetCommit + 1:                   "UNSTABLE_OFFSET_COMMIT",
	ThrottlingQuotaExceeded + 1:                "THROTTLING_QUOTA_EXCEEDED",
	ProducerFenced + 1:                         "PRODUCER_FENCED",
	ResourceNotFound + 1:                       "RESOURCE_NOT_FOUND",
	DuplicateResource + 1:                      "DUPLICATE_RESOURCE",
	UnacceptableCredential + 1:                 "UNACCEPTABLE_CREDENTIAL",
	InconsistentVoterSet + 1:                   "INCONSISTENT_VOTER_SET",
	InvalidUpdateVersion + 1:                   "INVALID_UPDATE_VERSION",
	FeatureUpdateFailed + 1:                    "FEATURE_UPDATE_FAILED",
	PrincipalDeserializationFailure + 1:        "PRINCIPAL_DESERIALIZATION_FAILURE",
	SnapshotNotFound + 1:                       "SNAPSHOT_NOT_FOUND",
	PositionOutOfRange + 1:                     "POSITION_OUT_OF_RANGE",
	UnknownTopicID + 1:                         "UNKNOWN_TOPIC_ID",
	DuplicateBrokerRegistration + 1:            "DUPLICATE_BROKER_REGISTRATION",
	BrokerIDNotRegistered + 1:                  "BROKER_ID_NOT_REGISTERED",
	InconsistentTopicID + 1:                    "INCONSISTENT_TOPIC_ID",
	InconsistentClusterID + 1:                  "INCONSISTENT_CLUSTER_ID",
	TransactionalIDNotFound + 1:                "TRANSACTIONAL_ID_NOT_FOUND",
	FetchSessionTopicIDError + 1:               "FETCH_SESSION_TOPIC_ID_ERROR",
	IneligibleReplica + 1:                      "INELIGIBLE_REPLICA",
	NewLeaderElected + 1:                       "NEW_LEADER_ELECTED",
	OffsetMovedToTieredStorage + 1:             "OFFSET_MOVED_TO_TIERED_STORAGE",
	FencedMemberEpoch + 1:                      "FENCED_MEMBER_EPOCH",
	UnreleasedInstanceID + 1:                   "UNRELEASED_INSTANCE_ID",
	UnsupportedAssignor + 1:                    "UNSUPPORTED_ASSIGNOR",
	StaleMemberEpoch + 1:                       "STALE_MEMBER_EPOCH",
	MismatchedEndpointType + 1:                 "MISMATCHED_ENDPOINT_TYPE",
	UnsupportedEndpointType + 1:                "UNSUPPORTED_ENDPOINT_TYPE",
	UnknownControllerID + 1:                    "UNKNOWN_CONTROLLER_ID",
	UnknownSubscriptionID + 1:                  "UNKNOWN_SUBSCRIPTION_ID",
	TelemetryTooLarge + 1:                      "TELEMETRY_TOO_LARGE",
	InvalidRegistration + 1:                    "INVALID_REGISTRATION",
	TransactionAbortable + 1:                   "TRANSACTION_ABORTABLE",
	InvalidRecordState + 1:                     "INVALID_RECORD_STATE",
	ShareSessionNotFound + 1:                   "SHARE_SESSION_NOT_FOUND",
	InvalidShareSessionEpoch + 1:               "INVALID_SHARE_SESSION_EPOCH",
	FencedStateEpoch + 1:                       "FENCED_STATE_EPOCH",
	InvalidVoterKey + 1:                        "INVALID_VOTER_KEY",
	DuplicateVoter + 1:                         "DUPLICATE_VOTER",
	VoterNotFound + 1:                          "VOTER_NOT_FOUND",
	InvalidRegularExpression + 1:               "INVALID_REGULAR_EXPRESSION",
	RebootstrapRequired + 1:                    "REBOOTSTRAP_REQUIRED",
	StreamsInvalidTopology + 1:                 "STREAMS_INVALID_TOPOLOGY",
	StreamsInvalidTopologyEpoch + 1:            "STREAMS_INVALID_TOPOLOGY_EPOCH",
	StreamsTopologyFenced + 1:                  "STREAMS_TOPOLOGY_FENCED",
	ShareSessionLimitReached + 1:               "SHARE_SESSION_LIMIT_REACHED",
	GroupDeletionFailed + 1:                    "GROUP_DELETION_FAILED",
	StreamsTopologyDescriptionUpdateFailed + 1: "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED",
	ControllerIDNotRegistered + 1:              "CONTROLLER_ID_NOT_REGISTERED",
}

// String returns Kafka's name of the code, and the number of one that has no name here.
func (c Code) String() string {
	if c < UnknownServerError || c > lastCode {
		return "CODE_" + strconv.Itoa(int(c))
	}
	return codeNames[c+1]
}

// Retriable tells whether Kafka's clients take the code as one that may go away when
// they ask again, perhaps after they have refreshed their metadata. None isn't.
func (c Code) Retriable() bool {
	switch c {
	case
		CorruptMessage,
		UnknownTopicOrPartition,
		LeaderNotAvailable,
		NotLeaderOrFollower,
		RequestTimedOut,
		ReplicaNotAvailable,
		NetworkException,
		CoordinatorLoadInProgress,
		CoordinatorNotAvailable,
		NotCoordinator,
		NotEnoughReplicas,
		NotEnoughReplicasAfterAppend,
		NotController,
		ConcurrentTransactions,
		KafkaStorageError,
		FetchSessionIDNotFound,
		InvalidFetchSessionEpoch,
		ListenerNotFound,
		FencedLeaderEpoch,
		UnknownLeaderEpoch,
		OffsetNotAvailable,
		PreferredLeaderNotAvailable,
		EligibleLeadersNotAvailable,
		ElectionNotNeeded,
		UnstableOffsetCommit,
		ThrottlingQuotaExceeded,
		UnknownTopicID,
		InconsistentTopicID,
		FetchSessionTopicIDError,
		ShareSessionNotFound,
		InvalidShareSessionEpoch,
		ShareSessionLimitReached:
		return true
	}
	return false
}
