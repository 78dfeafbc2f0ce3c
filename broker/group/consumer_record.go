package group

import (
	"encoding/binary"
	"maps"
	"slices"
)

// The records of consumer groups, in the formats of Apache Kafka 4.0 (ConsumerGroup…Key/Value in its group-coordinator's message
// definitions). The values are all of version 0, and flexible.

// Kinds of keys.
const (
	keyConsumerGroup     = 3 // the group's epoch
	keyTopics            = 4 // the topics that its members read (PartitionMetadata)
	keyConsumer          = 5 // what a member says of itself
	keyAssignmentEpoch   = 6
	keyTarget            = 7 // of a member
	keyCurrentAssignment = 8 // of a member
)

func consumerKey(kind uint16, groupID string) []byte {
	b := make([]byte, 0, 4+len(groupID))
	return appendString(binary.BigEndian.AppendUint16(b, kind), groupID)
}

func memberKey(kind uint16, groupID, memberID string) []byte {
	return appendString(consumerKey(kind, groupID), memberID)
}

func version0() []byte { return []byte{0, 0} }

func epochRecord(groupID string, epoch int32) Record {
	return Record{consumerKey(keyConsumerGroup, groupID), epochValue(epoch)}
}

func assignmentEpochRecord(groupID string, epoch int32) Record {
	return Record{consumerKey(keyAssignmentEpoch, groupID), epochValue(epoch)}
}

func epochValue(epoch int32) []byte {
	return append(binary.BigEndian.AppendUint32(version0(), uint32(epoch)), noTags)
}

// noTags is the end of a structure.
const noTags = 0

func topicsRecord(groupID string, topics map[string]Topic) Record {
	b := appendLength(version0(), len(topics))
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		t := topics[name]
		b = append(b, t.ID[:]...)
		b = appendCompact(b, t.Name)
		b = binary.BigEndian.AppendUint32(b, uint32(t.Partitions))
		b = appendLength(b, 0) // racks, which Kafka doesn't use since 4.0
		b = append(b, noTags)
	}
	return Record{consumerKey(keyTopics, groupID), append(b, noTags)}
}

func consumerMemberRecord(groupID string, x *consumer) Record {
	b := appendNullableCompact(version0(), x.instanceID)
	b = appendNullableCompact(b, x.rackID)
	b = appendCompact(b, x.clientID)
	b = appendCompact(b, x.clientHost)
	b = appendLength(b, len(x.names))
	for _, name := range x.names {
		b = appendCompact(b, name)
	}
	b = appendNullableCompact(b, orNil(x.regex()))
	b = binary.BigEndian.AppendUint32(b, uint32(x.rebalanceTimeoutMs))
	b = appendNullableCompact(b, orNil(x.assignor))
	return Record{memberKey(keyConsumer, groupID, x.id), append(b, noTags)}
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func targetRecord(groupID string, x *consumer) Record {
	return Record{memberKey(keyTarget, groupID, x.id), append(appendPartitions(version0(), x.target), noTags)}
}

func currentAssignmentRecord(groupID string, x *consumer) Record {
	b := binary.BigEndian.AppendUint32(version0(), uint32(x.epoch))
	b = binary.BigEndian.AppendUint32(b, uint32(x.previousEpoch))
	b = append(b, byte(x.state))
	b = appendPartitions(b, x.assigned)
	b = appendPartitions(b, x.revoking)
	return Record{memberKey(keyCurrentAssignment, groupID, x.id), append(b, noTags)}
}

// memberTombstones are in Kafka's order: a member's record is the last to go.
func memberTombstones(groupID, memberID string) []Record {
	return []Record{
		{Key: memberKey(keyCurrentAssignment, groupID, memberID)},
		{Key: memberKey(keyTarget, groupID, memberID)},
		{Key: memberKey(keyConsumer, groupID, memberID)},
	}
}

// tombstones of a group without members.
func (c *consumerGroup) tombstones(groupID string) []Record {
	return []Record{
		{Key: consumerKey(keyAssignmentEpoch, groupID)},
		{Key: consumerKey(keyTopics, groupID)},
		{Key: consumerKey(keyConsumerGroup, groupID)},
	}
}

// records are those that make the group again.
func (c *consumerGroup) records(groupID string) []Record {
	all := []Record{epochRecord(groupID, c.epoch), topicsRecord(groupID, c.topics)}
	for _, x := range c.members {
		all = append(all, consumerMemberRecord(groupID, x))
	}
	all = append(all, assignmentEpochRecord(groupID, c.assignmentEpoch))
	for _, x := range c.members {
		all = append(all, targetRecord(groupID, x), currentAssignmentRecord(groupID, x))
	}
	return all
}

func appendLength(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)+1) }

func appendCompact(b []byte, s string) []byte { return append(appendLength(b, len(s)), s...) }

func appendNullableCompact(b []byte, s *string) []byte {
	if s == nil {
		return append(b, 0)
	}
	return appendCompact(b, *s)
}

func appendPartitions(b []byte, s partitions) []byte {
	topics := s.byTopic()
	b = appendLength(b, len(topics))
	for _, t := range topics {
		b = append(b, t.Topic[:]...)
		b = appendLength(b, len(t.Partitions))
		for _, p := range t.Partitions {
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		}
		b = append(b, noTags)
	}
	return b
}

// consumerReader reads a value of a consumer group's record.
func consumerReader(b []byte) *reader {
	r := &reader{b: b}
	r.bad = r.int16() != 0
	r.flexible = true
	return r
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) topicID() (id TopicID) {
	copy(id[:], r.take(len(id)))
	return id
}

func (r *reader) partitions() partitions {
	var all []TopicPartition
	for n := r.arrayLength(); n > 0 && !r.bad; n-- {
		id := r.topicID()
		for n := r.arrayLength(); n > 0 && !r.bad; n-- {
			all = append(all, TopicPartition{id, r.int32()})
		}
		r.tags()
	}
	return partitionSet(all)
}

func parseEpoch(b []byte) (int32, error) {
	r := consumerReader(b)
	epoch := r.int32()
	r.tags()
	return epoch, r.err("epoch")
}

func parseTopics(b []byte) (map[string]Topic, error) {
	r := consumerReader(b)
	topics := map[string]Topic{}
	for n := r.arrayLength(); n > 0 && !r.bad; n-- {
		t := Topic{ID: r.topicID(), Name: r.string(), Partitions: r.int32()}
		for n := r.arrayLength(); n > 0 && !r.bad; n-- {
			r.int32()
			for n := r.arrayLength(); n > 0 && !r.bad; n-- {
				r.string()
			}
			r.tags()
		}
		r.tags()
		topics[t.Name] = t
	}
	r.tags()
	return topics, r.err("topics")
}

// parseConsumer reads into x what a member says of itself.
func parseConsumer(b []byte, x *consumer) error {
	r := consumerReader(b)
	var got consumer
	got.instanceID, got.rackID = r.nullableString(), r.nullableString()
	got.clientID, got.clientHost = r.string(), r.string()
	for n := r.arrayLength(); n > 0 && !r.bad; n-- {
		got.names = append(got.names, r.string())
	}
	regex := r.nullableString()
	got.rebalanceTimeoutMs = r.int32()
	got.assignor = orEmpty(r.nullableString())
	r.tags() // a member of the classic protocol has more to say, in Kafka
	if orEmpty(regex) != "" {
		p, err := newPattern(*regex)
		r.bad = r.bad || err != nil
		got.pattern = p
	}
	if err := r.err("member"); err != nil {
		return err
	}
	slices.Sort(got.names)
	x.instanceID, x.rackID, x.clientID, x.clientHost = got.instanceID, got.rackID, got.clientID, got.clientHost
	x.names, x.pattern, x.rebalanceTimeoutMs, x.assignor = slices.Compact(got.names), got.pattern, got.rebalanceTimeoutMs, got.assignor
	return nil
}

func parseTarget(b []byte) (partitions, error) {
	r := consumerReader(b)
	s := r.partitions()
	r.tags()
	return s, r.err("target assignment")
}

// storedAssignment is the value of a current assignment.
type storedAssignment struct {
	epoch, previousEpoch int32
	state                consumerState
	assigned, revoking   partitions
}

func parseCurrentAssignment(b []byte) (storedAssignment, error) {
	r := consumerReader(b)
	s := storedAssignment{epoch: r.int32(), previousEpoch: r.int32(), state: consumerState(r.int8())}
	s.assigned, s.revoking = r.partitions(), r.partitions()
	r.tags()
	r.bad = r.bad || s.state < consumerStable || s.state > consumerUnreleased
	return s, r.err("current assignment")
}
