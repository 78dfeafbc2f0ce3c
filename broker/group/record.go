package group

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The records of __consumer_offsets, in the formats of Apache Kafka (OffsetCommitKey/Value, GroupMetadataKey/Value in its
// group-coordinator's message definitions). A key starts with an int16 that says what kind of record it is, a value with its
// version. All versions are read; written are those that Kafka 4.x writes.

// Kinds of keys.
const (
	keyOffsetOld = 0
	keyOffset    = 1
	keyGroup     = 2
)

// Written versions.
const (
	offsetVersion        = 3
	offsetVersionExpires = 1 // the only one that has an expiry of its own
	groupVersion         = 3
	lastVersion          = 4 // flexible from here on
)

// ErrUnknownRecord is a record that is of no use here, such as those of share groups. It can be skipped.
var ErrUnknownRecord = errors.New("unknown kind of record")

// ErrCorruptRecord is a record that can't be read.
var ErrCorruptRecord = errors.New("corrupt record")

func offsetRecord(groupID string, w offsetWrite) Record {
	b := make([]byte, 0, 10+len(groupID)+len(w.topic)+28+len(w.value.metadata))
	b = binary.BigEndian.AppendUint16(b, keyOffset)
	b = appendString(b, groupID)
	b = appendString(b, w.topic)
	b = binary.BigEndian.AppendUint32(b, uint32(w.partition))
	key := b[:len(b):len(b)]
	if w.remove {
		return Record{Key: key}
	}
	from := len(b)
	expires := w.value.expiresMs >= 0
	if expires {
		b = binary.BigEndian.AppendUint16(b, offsetVersionExpires)
	} else {
		b = binary.BigEndian.AppendUint16(b, offsetVersion)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(w.value.offset))
	if !expires {
		b = binary.BigEndian.AppendUint32(b, uint32(w.value.leaderEpoch))
	}
	b = appendString(b, w.value.metadata)
	b = binary.BigEndian.AppendUint64(b, uint64(w.value.committedMs))
	if expires {
		b = binary.BigEndian.AppendUint64(b, uint64(w.value.expiresMs))
	}
	return Record{Key: key, Value: b[from:]}
}

func groupKey(groupID string) []byte {
	b := make([]byte, 0, 4+len(groupID))
	b = binary.BigEndian.AppendUint16(b, keyGroup)
	return appendString(b, groupID)
}

// record is the group as it stands.
func (g *Group) record() Record {
	return g.recordWith(func(x *member) []byte { return x.assignment })
}

// recordWith is the group with other assignments.
func (g *Group) recordWith(assignment func(*member) []byte) Record {
	b := binary.BigEndian.AppendUint16(nil, groupVersion)
	b = appendString(b, orEmpty(g.protocolType))
	b = binary.BigEndian.AppendUint32(b, uint32(g.generation))
	b = appendNullableString(b, g.protocolName)
	if g.leader == "" {
		b = appendNullableString(b, nil)
	} else {
		b = appendString(b, g.leader)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(g.sinceMs))
	b = binary.BigEndian.AppendUint32(b, uint32(len(g.members)))
	for _, x := range g.members {
		b = appendString(b, x.id)
		b = appendNullableString(b, x.instanceID)
		b = appendString(b, x.clientID)
		b = appendString(b, x.clientHost)
		b = binary.BigEndian.AppendUint32(b, uint32(x.rebalanceTimeoutMs))
		b = binary.BigEndian.AppendUint32(b, uint32(x.sessionTimeoutMs))
		b = appendBytes(b, x.metadata(orEmpty(g.protocolName)))
		b = appendBytes(b, assignment(x))
	}
	return Record{Key: groupKey(g.id), Value: b}
}

// appendString: what is too long was refused when it came in (Join.tooLong, judgeCommit, memberID).
func appendString(b []byte, s string) []byte {
	if len(s) > maxString {
		panic(fmt.Sprintf("group: string of %d bytes in a record", len(s)))
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

const maxString = 1<<15 - 1

func appendNullableString(b []byte, s *string) []byte {
	if s == nil {
		return binary.BigEndian.AppendUint16(b, 0xffff)
	}
	return appendString(b, *s)
}

func appendBytes(b, v []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
	return append(b, v...)
}

// key is a record's key, taken apart.
type key struct {
	kind      int16
	group     string
	member    string // of a consumer group
	topic     string
	partition int32
}

func parseKey(b []byte) (key, error) {
	r := reader{b: b}
	k := key{kind: r.int16()}
	switch k.kind {
	case keyOffsetOld, keyOffset:
		k.group, k.topic, k.partition = r.string(), r.string(), r.int32()
	case keyGroup, keyConsumerGroup, keyTopics, keyAssignmentEpoch:
		k.group = r.string()
	case keyConsumer, keyTarget, keyCurrentAssignment:
		k.group, k.member = r.string(), r.string()
	default:
		if !r.bad {
			return k, ErrUnknownRecord
		}
	}
	return k, r.err("key")
}

func parseOffset(b []byte) (offset, error) {
	r := reader{b: b}
	version := r.version()
	o := offset{offset: r.int64(), leaderEpoch: -1, expiresMs: -1}
	if version >= 3 {
		o.leaderEpoch = r.int32()
	}
	o.metadata = r.string()
	o.committedMs = r.int64()
	if version == 1 {
		o.expiresMs = r.int64()
	}
	return o, r.err("offset")
}

// storedGroup is a group's value, taken apart.
type storedGroup struct {
	protocolType string
	generation   int32
	protocolName *string
	leader       *string
	sinceMs      int64
	members      []storedMember
}

type storedMember struct {
	id, clientID, clientHost             string
	instanceID                           *string
	rebalanceTimeoutMs, sessionTimeoutMs int32
	metadata, assignment                 []byte
}

func parseGroup(b []byte) (storedGroup, error) {
	r := reader{b: b}
	version := r.version()
	s := storedGroup{sinceMs: -1}
	s.protocolType = r.string()
	s.generation = r.int32()
	s.protocolName = r.nullableString()
	s.leader = r.nullableString()
	if version >= 2 {
		s.sinceMs = r.int64()
	}
	for n := r.arrayLength(); n > 0 && !r.bad; n-- {
		s.members = append(s.members, r.member(version))
	}
	r.tags()
	if !r.bad && len(s.members) > 0 && (s.protocolName == nil || s.protocolType == "" || s.leader == nil) {
		r.bad = true // members without a protocol: no coordinator wrote this
	}
	return s, r.err("group")
}

func (r *reader) member(version int16) storedMember {
	x := storedMember{id: r.string(), rebalanceTimeoutMs: -1}
	if version >= 3 {
		x.instanceID = r.nullableString()
	}
	x.clientID, x.clientHost = r.string(), r.string()
	if version >= 1 {
		x.rebalanceTimeoutMs = r.int32()
	}
	x.sessionTimeoutMs = r.int32()
	if x.rebalanceTimeoutMs < 0 {
		x.rebalanceTimeoutMs = x.sessionTimeoutMs
	}
	x.metadata, x.assignment = r.bytes(), r.bytes()
	r.tags()
	r.bad = r.bad || x.id == "" // a leader's name that is empty would be written as none
	return x
}
