package protocol

import "testing"

func TestCodes(t *testing.T) {
	for _, c := range []struct {
		code      Code
		number    int16
		name      string
		retriable bool
	}{
		{UnknownServerError, -1, "UNKNOWN_SERVER_ERROR", false},
		{None, 0, "NONE", false},
		{OffsetOutOfRange, 1, "OFFSET_OUT_OF_RANGE", false},
		{CorruptMessage, 2, "CORRUPT_MESSAGE", true},
		{NotLeaderOrFollower, 6, "NOT_LEADER_OR_FOLLOWER", true},
		{MessageTooLarge, 10, "MESSAGE_TOO_LARGE", false},
		{InvalidTopicException, 17, "INVALID_TOPIC_EXCEPTION", false},
		{NotEnoughReplicas, 19, "NOT_ENOUGH_REPLICAS", true},
		{RebalanceInProgress, 27, "REBALANCE_IN_PROGRESS", false},
		{UnsupportedVersion, 35, "UNSUPPORTED_VERSION", false},
		{NotController, 41, "NOT_CONTROLLER", true},
		{OutOfOrderSequenceNumber, 45, "OUT_OF_ORDER_SEQUENCE_NUMBER", false},
		{KafkaStorageError, 56, "KAFKA_STORAGE_ERROR", true},
		{FetchSessionIDNotFound, 70, "FETCH_SESSION_ID_NOT_FOUND", true},
		{MemberIDRequired, 79, "MEMBER_ID_REQUIRED", false},
		{InvalidRecord, 87, "INVALID_RECORD", false},
		{UnknownTopicID, 100, "UNKNOWN_TOPIC_ID", true},
		{UnsupportedAssignor, 112, "UNSUPPORTED_ASSIGNOR", false},
		{RebootstrapRequired, 129, "REBOOTSTRAP_REQUIRED", false},
		{ShareSessionLimitReached, 133, "SHARE_SESSION_LIMIT_REACHED", true},
		{lastCode + 1, 137, "CODE_137", false},
		{-2, -2, "CODE_-2", false},
	} {
		if int16(c.code) != c.number || c.code.String() != c.name || c.code.Retriable() != c.retriable {
			t.Errorf("%d %v retriable %t, want %d %v %t", c.code, c.code, c.code.Retriable(), c.number, c.name, c.retriable)
		}
	}
}

func TestEveryCodeHasANameOfItsOwn(t *testing.T) {
	seen := map[string]Code{}
	for c := UnknownServerError; c <= lastCode; c++ {
		name := c.String()
		if other, ok := seen[name]; ok || name == "" {
			t.Errorf("code %d has the name %q, as has %d", int16(c), name, int16(other))
		}
		seen[name] = c
	}
}
