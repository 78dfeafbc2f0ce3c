package e2e

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Clients have a fixed idea of which errors an API can answer with; any other one ends in an "unexpected error" exception (the Java
// consumer's fetcher and coordinator are the strictest) or in a retry for ever. So each internal trouble must come out as one of these.
// An API that is missing here is not checked.
var bearable = map[kmsg.Key][]*kerr.Error{
	kmsg.Produce: {
		kerr.CorruptMessage, kerr.UnknownTopicOrPartition, kerr.MessageTooLarge, kerr.NotLeaderForPartition, kerr.RequestTimedOut,
		kerr.InvalidTopicException, kerr.RecordListTooLarge, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend,
		kerr.InvalidRequiredAcks, kerr.TopicAuthorizationFailed, kerr.InvalidTimestamp, kerr.UnsupportedForMessageFormat,
		kerr.OutOfOrderSequenceNumber, kerr.DuplicateSequenceNumber, kerr.InvalidProducerEpoch, kerr.KafkaStorageError,
		kerr.UnknownProducerID, kerr.InvalidRecord, kerr.UnknownTopicID, kerr.UnsupportedVersion, kerr.UnsupportedCompressionType,
	},
	// 7 (REQUEST_TIMED_OUT) is the one that was once seen here and that the Java consumer threw at.
	kmsg.Fetch: {
		kerr.OffsetOutOfRange, kerr.CorruptMessage, kerr.UnknownTopicOrPartition, kerr.NotLeaderForPartition, kerr.ReplicaNotAvailable,
		kerr.TopicAuthorizationFailed, kerr.KafkaStorageError, kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch,
		kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.OffsetNotAvailable, kerr.UnknownTopicID, kerr.InconsistentTopicID,
	},
	kmsg.ListOffsets: {
		kerr.UnknownTopicOrPartition, kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.ReplicaNotAvailable,
		kerr.TopicAuthorizationFailed, kerr.UnsupportedForMessageFormat, kerr.KafkaStorageError, kerr.FencedLeaderEpoch,
		kerr.UnknownLeaderEpoch, kerr.OffsetNotAvailable, kerr.UnsupportedVersion,
	},
	kmsg.Metadata: {
		kerr.UnknownTopicOrPartition, kerr.LeaderNotAvailable, kerr.ReplicaNotAvailable, kerr.InvalidTopicException,
		kerr.TopicAuthorizationFailed, kerr.UnknownTopicID,
	},
	kmsg.FindCoordinator: {
		kerr.CoordinatorNotAvailable, kerr.InvalidGroupID, kerr.GroupAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed,
		kerr.InvalidRequest,
	},
	kmsg.JoinGroup: {
		kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.IllegalGeneration,
		kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.UnknownMemberID, kerr.InvalidSessionTimeout,
		kerr.RebalanceInProgress, kerr.GroupAuthorizationFailed, kerr.UnsupportedVersion, kerr.MemberIDRequired,
		kerr.GroupMaxSizeReached, kerr.FencedInstanceID,
	},
	// While a coordinator loads, Sync answers REBALANCE_IN_PROGRESS and Heartbeat nothing at all: neither knows 14.
	kmsg.SyncGroup: {
		kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.IllegalGeneration, kerr.InconsistentGroupProtocol,
		kerr.InvalidGroupID, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.GroupAuthorizationFailed, kerr.FencedInstanceID,
		kerr.UnsupportedVersion,
	},
	kmsg.Heartbeat: {
		kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.IllegalGeneration, kerr.InvalidGroupID, kerr.UnknownMemberID,
		kerr.RebalanceInProgress, kerr.GroupAuthorizationFailed, kerr.FencedInstanceID, kerr.UnsupportedVersion,
	},
	kmsg.LeaveGroup: {
		kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.InvalidGroupID, kerr.UnknownMemberID,
		kerr.GroupAuthorizationFailed, kerr.FencedInstanceID, kerr.UnsupportedVersion,
	},
	kmsg.OffsetCommit: {
		kerr.UnknownTopicOrPartition, kerr.RequestTimedOut, kerr.OffsetMetadataTooLarge, kerr.CoordinatorLoadInProgress,
		kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.IllegalGeneration, kerr.InvalidGroupID, kerr.UnknownMemberID,
		kerr.RebalanceInProgress, kerr.InvalidCommitOffsetSize, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed,
		kerr.FencedInstanceID, kerr.UnknownTopicID, kerr.UnsupportedVersion,
	},
	kmsg.OffsetFetch: {
		kerr.UnknownTopicOrPartition, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
		kerr.InvalidGroupID, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.UnknownMemberID,
		kerr.UnstableOffsetCommit, kerr.UnknownTopicID, kerr.UnsupportedVersion,
	},
	kmsg.InitProducerID: {
		kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.InvalidProducerEpoch,
		kerr.ProducerFenced, kerr.ConcurrentTransactions, kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.InvalidTransactionTimeout, kerr.InvalidRequest, kerr.UnsupportedVersion,
	},
}

// unbearable names the first error code in the answer that clients of its API don't expect, or "".
func unbearable(response kmsg.Response) string {
	allowed, listed := bearable[kmsg.Key(response.Key())]
	if !listed {
		return ""
	}
	var found string
	eachErrorCode(reflect.ValueOf(response), func(code int16) {
		err := kerr.ErrorForCode(code)
		if err == nil || slices.ContainsFunc(allowed, func(e *kerr.Error) bool { return e.Code == code }) || found != "" {
			return
		}
		found = fmt.Sprintf("%s v%d answers %v (%d), which its clients don't know",
			kmsg.NameForKey(response.Key()), response.GetVersion(), err, code)
	})
	return found
}

// eachErrorCode walks an answer's fields.
func eachErrorCode(v reflect.Value, f func(int16)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachErrorCode(v.Elem(), f)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			return
		}
		for i := range v.Len() {
			eachErrorCode(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Name == "ErrorCode" {
				f(int16(v.Field(i).Int()))
			} else if field.IsExported() {
				eachErrorCode(v.Field(i), f)
			}
		}
	}
}
