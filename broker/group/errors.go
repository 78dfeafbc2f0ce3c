package group

import "errors"

// The answers a coordinator can give besides success. Each is one error code of the protocol; the front desk translates. They
// are compared with errors.Is.
var (
	// ErrCoordinatorNotAvailable (15): the group can't be served now, ask for the coordinator again. Also: the records were not
	// durable in time.
	ErrCoordinatorNotAvailable = errors.New("coordinator not available")
	// ErrNotCoordinator (16): this partition is led elsewhere.
	ErrNotCoordinator = errors.New("not the coordinator")
	// ErrLoading (14): the log is still being replayed. Given by the driver, not by the machine.
	ErrLoading = errors.New("coordinator load in progress")
	// ErrInvalidGroupID (24): membership needs a group id that is not empty.
	ErrInvalidGroupID = errors.New("invalid group id")
	// ErrIllegalGeneration (22): the request is of another generation of the group.
	ErrIllegalGeneration = errors.New("illegal generation")
	// ErrInconsistentProtocol (23): no protocol that all members have in common, or another protocol type.
	ErrInconsistentProtocol = errors.New("inconsistent group protocol")
	// ErrUnknownMemberID (25): no such member; it joins anew with an empty id.
	ErrUnknownMemberID = errors.New("unknown member id")
	// ErrInvalidSessionTimeout (26): outside group.min.session.timeout.ms … group.max.session.timeout.ms.
	ErrInvalidSessionTimeout = errors.New("invalid session timeout")
	// ErrRebalanceInProgress (27): the member must join again.
	ErrRebalanceInProgress = errors.New("rebalance in progress")
	// ErrMemberIDRequired (79, KIP-394): join again with the id in the answer.
	ErrMemberIDRequired = errors.New("member id required")
	// ErrGroupMaxSize (81, KIP-389): group.max.size members are there already.
	ErrGroupMaxSize = errors.New("max size reached")
	// ErrFencedInstanceID (82, KIP-345): another member took this group.instance.id over.
	ErrFencedInstanceID = errors.New("fenced instance id")
	// ErrNonEmptyGroup (68): the group still has members.
	ErrNonEmptyGroup = errors.New("group is not empty")
	// ErrSubscribedToTopic (86): a member reads the topic, so its offsets stay.
	ErrSubscribedToTopic = errors.New("group is subscribed to the topic")
	// ErrGroupNotFound (69): no such group.
	ErrGroupNotFound = errors.New("group id not found")
	// ErrOffsetMetadataTooLarge (12): the text of a commit is longer than offset.metadata.max.bytes.
	ErrOffsetMetadataTooLarge = errors.New("offset metadata too large")
	// ErrInvalidRequest (42): the request says what it may not.
	ErrInvalidRequest = errors.New("invalid request")
	// ErrFencedMemberEpoch (110, KIP-848): the member gives all partitions up and joins anew, with its id and epoch 0.
	ErrFencedMemberEpoch = errors.New("fenced member epoch")
	// ErrUnreleasedInstanceID (111): another member has this group.instance.id and did not say that it leaves.
	ErrUnreleasedInstanceID = errors.New("unreleased instance id")
	// ErrUnsupportedAssignor (112): not in group.consumer.assignors.
	ErrUnsupportedAssignor = errors.New("unsupported assignor")
	// ErrStaleMemberEpoch (113): offsets are asked for or committed with an epoch that is not the member's; it tries again after its
	// next heartbeat.
	ErrStaleMemberEpoch = errors.New("stale member epoch")
	// ErrInvalidRegularExpression (128): a subscription that is not in RE2's syntax.
	ErrInvalidRegularExpression = errors.New("invalid regular expression")
	// ErrUnsupportedVersion (35): a version of the request that knows no member epochs.
	ErrUnsupportedVersion = errors.New("unsupported version")
	// ErrUnstableOffset (88, KIP-447): the offset depends on a transaction that has not ended.
	ErrUnstableOffset = errors.New("unstable offset commit")
	// ErrUnknownServerError (-1): for the driver, where Kafka too has nothing better to say (a record too large for the log).
	ErrUnknownServerError = errors.New("unknown server error")
)
