package txn

import (
	"encoding/binary"
	"fmt"
)

// The records of __transaction_state, in the formats of Apache Kafka (TransactionLogKey and TransactionLogValue in its
// transaction-coordinator's message definitions). Both versions of the value are read, and the flexible one is written.

const (
	keyVersion   = 0
	valueVersion = 1 // the first that is flexible
)

// Tagged fields of a value.
const (
	tagPrevProducerID = 0
	tagNextProducerID = 1
	tagVersion        = 2
)

// maxString is the longest string that a key can hold.
const maxString = 1<<15 - 1

func key(id string) []byte {
	if len(id) > maxString {
		panic(fmt.Sprintf("txn: an id of %d bytes in a record", len(id)))
	}
	b := make([]byte, 0, 4+len(id))
	b = binary.BigEndian.AppendUint16(b, keyVersion)
	b = binary.BigEndian.AppendUint16(b, uint16(len(id)))
	return append(b, id...)
}

func record(id string, v *values) Record {
	b := binary.BigEndian.AppendUint16(nil, valueVersion)
	b = binary.BigEndian.AppendUint64(b, uint64(v.producerID))
	b = binary.BigEndian.AppendUint16(b, uint16(v.epoch))
	b = binary.BigEndian.AppendUint32(b, uint32(v.timeoutMs))
	b = append(b, byte(v.state))
	b = appendPartitions(b, v)
	b = binary.BigEndian.AppendUint64(b, uint64(v.updateMs))
	b = binary.BigEndian.AppendUint64(b, uint64(v.startMs))
	return Record{Key: key(id), Value: appendTags(b, v)}
}

// appendPartitions writes null for Empty, as Kafka does.
func appendPartitions(b []byte, v *values) []byte {
	if v.state == Empty {
		return append(b, 0)
	}
	topics := byTopic(v.partitions)
	b = binary.AppendUvarint(b, uint64(len(topics))+1)
	for _, of := range topics {
		b = binary.AppendUvarint(b, uint64(len(of[0].Topic))+1)
		b = append(b, of[0].Topic...)
		b = binary.AppendUvarint(b, uint64(len(of))+1)
		for _, p := range of {
			b = binary.BigEndian.AppendUint32(b, uint32(p.Index))
		}
		b = append(b, 0) // no tagged fields
	}
	return b
}

// byTopic cuts a sorted list where the topic changes.
func byTopic(sorted []Partition) (topics [][]Partition) {
	from := 0
	for i := range sorted {
		if i+1 == len(sorted) || sorted[i+1].Topic != sorted[i].Topic {
			topics = append(topics, sorted[from:i+1])
			from = i + 1
		}
	}
	return topics
}

// appendTags leaves out what is at its default.
func appendTags(b []byte, v *values) []byte {
	n := byte(0)
	at := len(b)
	b = append(b, 0)
	for _, f := range [...]struct {
		tag byte
		id  int64
	}{{tagPrevProducerID, v.prevProducerID}, {tagNextProducerID, v.nextProducerID}} {
		if f.id != None {
			n++
			b = append(b, f.tag, 8)
			b = binary.BigEndian.AppendUint64(b, uint64(f.id))
		}
	}
	if v.version != 0 {
		n++
		b = append(b, tagVersion, 2)
		b = binary.BigEndian.AppendUint16(b, uint16(v.version))
	}
	b[at] = n
	return b
}

// parseKey takes a key apart. ErrUnknownRecord: it is of a later version.
func parseKey(b []byte) (id string, err error) {
	r := reader{b: b}
	if v := r.int16(); !r.bad && v != keyVersion {
		return "", ErrUnknownRecord
	}
	id = string(r.take(int(r.int16())))
	if r.bad || id == "" {
		return "", fmt.Errorf("%w: key", ErrCorruptRecord)
	}
	return id, nil
}

func parseValue(b []byte) (v values, err error) {
	r := reader{b: b}
	version := r.int16()
	// A flexible version may be newer than ours: Kafka promises that only tagged fields are added (KIP-915).
	r.flexible = version >= valueVersion
	v = values{prevProducerID: None, nextProducerID: None, lastEpoch: None}
	v.producerID, v.epoch, v.timeoutMs = r.int64(), r.int16(), r.int32()
	v.state = State(r.int8())
	v.partitions = r.partitions()
	v.updateMs, v.startMs = r.int64(), r.int64()
	r.tags(func(tag uint64, field reader) {
		switch tag {
		case tagPrevProducerID:
			v.prevProducerID = field.int64()
		case tagNextProducerID:
			v.nextProducerID = field.int64()
		case tagVersion:
			v.version = int8(field.int16())
		}
		r.bad = r.bad || field.bad
	})
	if r.bad || version < 0 || v.state < 0 || v.state >= numStates || v.producerID < 0 || v.epoch < 0 {
		return values{}, fmt.Errorf("%w: value", ErrCorruptRecord)
	}
	return v, nil
}
