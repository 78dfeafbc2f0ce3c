package metadata

import (
	"crypto/rand"
	"slices"
	"strings"
)

// Names of topics that belong to the cluster itself.
const (
	ConsumerOffsetsTopic  = "__consumer_offsets"
	TransactionStateTopic = "__transaction_state"
	ShareGroupStateTopic  = "__share_group_state"
	ClusterMetadataTopic  = "__cluster_metadata" // Apache Kafka's own log of this package's data: it can't be created
)

// TopicNameLenMax is the length of the longest legal topic name, in bytes.
const TopicNameLenMax = 249

var internalTopics = []string{ConsumerOffsetsTopic, TransactionStateTopic, ShareGroupStateTopic}

// InternalTopics are the topics that the broker writes itself and that clients are told
// apart from their own. The caller must not change the list.
func InternalTopics() []string { return internalTopics }

// IsInternal tells whether name is one of InternalTopics.
func IsInternal(name string) bool { return slices.Contains(internalTopics, name) }

// ValidateTopicName checks name by Kafka's rule: 1 to 249 of [a-zA-Z0-9._-],
// and neither "." nor "..". The error wraps ErrInvalidTopic.
func ValidateTopicName(name string) error {
	switch {
	case name == "":
		return Errorf(ErrInvalidTopic, "Topic name is invalid: it is empty")
	case name == "." || name == "..":
		return Errorf(ErrInvalidTopic, "Topic name is invalid: '%s' is not allowed", name)
	case len(name) > TopicNameLenMax:
		return Errorf(ErrInvalidTopic, "Topic name is invalid: it has %d characters, the most is %d", len(name), TopicNameLenMax)
	}
	for i := 0; i < len(name); i++ {
		if !legalInTopicName(name[i]) {
			return Errorf(ErrInvalidTopic, "Topic name is invalid: %q contains a character other than ASCII letters, digits, '.', '_' and '-'", name)
		}
	}
	return nil
}

func legalInTopicName(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '.' || c == '_' || c == '-'
}

// NormalName is what a name looks like in a metric: '.' becomes '_'. Two
// topics whose normal names are equal collide, and Kafka allows only one.
func NormalName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// canCollide tells whether another legal name can have the same normal name.
func canCollide(name string) bool { return strings.ContainsAny(name, "._") }

// NewTopicID draws a random id (UUID version 4, as Kafka's are) that is
// neither reserved by Kafka nor starts with '-' in its text form, so that it
// can stand as the argument of a command.
func NewTopicID() TopicID {
	for {
		var id TopicID
		rand.Read(id[:]) // never fails (crypto/rand)
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if id[0]>>2 != 62 { // the first six bits are the first character, and 62 is '-'
			return id
		}
	}
}
