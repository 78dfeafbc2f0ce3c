package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// allowed are, per API, the codes that its clients know, where a client is known to fail on any other: the Java
// consumer throws IllegalStateException for a code in a Fetch answer that it has no case for. APIs that are not here
// may answer any code: their clients turn an unknown one into an exception for whoever called.
var allowed = map[int16]map[protocol.Code]bool{
	kmsg.Fetch.Int16(): codes(protocol.NotLeaderOrFollower, protocol.ReplicaNotAvailable, protocol.KafkaStorageError,
		protocol.FencedLeaderEpoch, protocol.UnknownLeaderEpoch, protocol.OffsetNotAvailable,
		protocol.UnknownTopicOrPartition, protocol.UnknownTopicID, protocol.InconsistentTopicID,
		protocol.OffsetOutOfRange, protocol.TopicAuthorizationFailed, protocol.UnknownServerError,
		protocol.CorruptMessage, protocol.FetchSessionIDNotFound, protocol.InvalidFetchSessionEpoch),
	kmsg.ListOffsets.Int16(): codes(protocol.NotLeaderOrFollower, protocol.ReplicaNotAvailable,
		protocol.KafkaStorageError, protocol.FencedLeaderEpoch, protocol.UnknownLeaderEpoch,
		protocol.OffsetNotAvailable, protocol.LeaderNotAvailable, protocol.UnknownTopicOrPartition,
		protocol.TopicAuthorizationFailed, protocol.InvalidRequest, protocol.UnsupportedVersion,
		protocol.UnsupportedForMessageFormat),
	kmsg.Metadata.Int16(): codes(protocol.LeaderNotAvailable, protocol.UnknownTopicOrPartition,
		protocol.InvalidTopicException, protocol.TopicAuthorizationFailed, protocol.UnknownTopicID,
		protocol.InvalidReplicationFactor),
	kmsg.JoinGroup.Int16(): codes(protocol.CoordinatorNotAvailable, protocol.CoordinatorLoadInProgress,
		protocol.NotCoordinator, protocol.UnknownMemberID, protocol.FencedInstanceID,
		protocol.InconsistentGroupProtocol, protocol.InvalidSessionTimeout, protocol.InvalidGroupID,
		protocol.GroupMaxSizeReached, protocol.MemberIDRequired, protocol.RebalanceInProgress,
		protocol.UnsupportedVersion, protocol.GroupAuthorizationFailed, protocol.InvalidRequest),
	kmsg.SyncGroup.Int16(): codes(protocol.CoordinatorNotAvailable, protocol.NotCoordinator, protocol.UnknownMemberID, protocol.FencedInstanceID, protocol.IllegalGeneration,
		protocol.InconsistentGroupProtocol, protocol.RebalanceInProgress, protocol.GroupAuthorizationFailed,
		protocol.InvalidGroupID),
	kmsg.Heartbeat.Int16(): codes(protocol.CoordinatorNotAvailable, protocol.NotCoordinator, protocol.UnknownMemberID, protocol.FencedInstanceID, protocol.IllegalGeneration,
		protocol.RebalanceInProgress, protocol.GroupAuthorizationFailed, protocol.InvalidGroupID),
	kmsg.ConsumerGroupHeartbeat.Int16(): codes(protocol.CoordinatorNotAvailable, protocol.CoordinatorLoadInProgress,
		protocol.NotCoordinator, protocol.InvalidRequest, protocol.UnknownMemberID, protocol.FencedMemberEpoch,
		protocol.FencedInstanceID, protocol.UnsupportedAssignor, protocol.UnreleasedInstanceID, protocol.GroupMaxSizeReached,
		protocol.InvalidRegularExpression, protocol.GroupIDNotFound, protocol.GroupAuthorizationFailed,
		protocol.TopicAuthorizationFailed, protocol.UnsupportedVersion),
	kmsg.OffsetCommit.Int16(): codes(protocol.CoordinatorNotAvailable, protocol.CoordinatorLoadInProgress,
		protocol.NotCoordinator, protocol.UnknownMemberID, protocol.FencedInstanceID, protocol.IllegalGeneration,
		protocol.RebalanceInProgress, protocol.OffsetMetadataTooLarge, protocol.InvalidCommitOffsetSize,
		protocol.UnknownTopicOrPartition, protocol.UnknownTopicID, protocol.RequestTimedOut,
		protocol.StaleMemberEpoch, protocol.UnsupportedVersion, protocol.GroupIDNotFound, protocol.InvalidGroupID,
		protocol.TopicAuthorizationFailed, protocol.GroupAuthorizationFailed),
}

// standIn is what an API answers instead of a code that its clients don't know: always one that makes them look
// again or retry.
var standIn = map[int16]protocol.Code{
	kmsg.Fetch.Int16():        protocol.NotLeaderOrFollower,
	kmsg.ListOffsets.Int16():  protocol.NotLeaderOrFollower,
	kmsg.Metadata.Int16():     protocol.LeaderNotAvailable,
	kmsg.JoinGroup.Int16():    protocol.CoordinatorNotAvailable,
	kmsg.SyncGroup.Int16():    protocol.CoordinatorNotAvailable,
	kmsg.Heartbeat.Int16():    protocol.CoordinatorNotAvailable,
	kmsg.OffsetCommit.Int16(): protocol.CoordinatorNotAvailable,

	kmsg.ConsumerGroupHeartbeat.Int16(): protocol.CoordinatorNotAvailable,
}

func codes(known ...protocol.Code) map[protocol.Code]bool {
	m := map[protocol.Code]bool{protocol.None: true}
	for _, c := range known {
		m[c] = true
	}
	return m
}

// codeFor is the code of an error in the answers of one API.
func codeFor(key int16, err error) int16 {
	c := codeOf(err)
	if set := allowed[key]; set != nil && !set[c] {
		c = standIn[key]
	}
	return int16(c)
}

// code is the code of an error in the answer to this call.
func (c *call) code(err error) int16 { return codeFor(c.header.Key, err) }
