package record

import (
	"encoding/binary"
	"hash/crc32"
)

// Layout of a batch (https://kafka.apache.org/documentation/#recordbatch).
const (
	atBaseOffset      = 0
	atLength          = 8
	atLeaderEpoch     = 12
	atMagic           = 16
	atCRC             = 17
	atAttributes      = 21
	atLastOffsetDelta = 23
	atBaseTimestamp   = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atBaseSequence    = 53
	atCount           = 57

	// HeaderBytes is the size of a batch without its records.
	HeaderBytes = 61

	lengthBytes = atLeaderEpoch // what the length field does not count

	// minRecordBytes is the smallest record: length, attributes, both deltas,
	// null key, null value, no headers, one byte each.
	minRecordBytes = 7
)

// Bits of the attributes.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// NoTimestamp is the timestamp of a record without one.
const NoTimestamp int64 = -1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is a view of the bytes of exactly one batch, as Next, Single or a
// Builder made it: at least HeaderBytes long and as long as its length field
// says. Who owns the bytes is the business of whoever made it.
type Batch []byte

// Next cuts the first batch off b and returns it and what follows. Only the
// structure is looked at: ErrTruncated if b ends before the batch does,
// ErrCorrupt for an impossible length or magic, ErrUnsupportedMagic for message
// formats 0 and 1. Batch and rest share b's memory.
func Next(b []byte) (batch Batch, rest []byte, err error) {
	if len(b) > atMagic {
		switch b[atMagic] {
		case 2:
		case 0, 1:
			return nil, b, ErrUnsupportedMagic
		default:
			return nil, b, errMagic
		}
	}
	if len(b) < lengthBytes {
		return nil, b, ErrTruncated
	}
	length := int64(int32(binary.BigEndian.Uint32(b[atLength:])))
	if length < HeaderBytes-lengthBytes {
		return nil, b, errLength
	}
	size := lengthBytes + length
	if int64(len(b)) < size {
		return nil, b, ErrTruncated
	}
	return Batch(b[:size:size]), b[size:], nil
}

// Single takes the records of one partition of a produce request (version 3
// and later), which must be exactly one batch. A truncated batch behind it,
// which Apache Kafka silently drops, is refused too: to acknowledge it would
// lose it.
func Single(b []byte) (Batch, error) {
	if len(b) == 0 {
		return nil, errEmpty
	}
	batch, rest, err := Next(b)
	if err != nil {
		return nil, err
	}
	if len(rest) != 0 {
		return nil, errSeveral
	}
	return batch, nil
}

// BaseOffset is the offset of the first record (of the first there was, if the
// batch was compacted).
func (b Batch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b[atBaseOffset:])) }

// LastOffset is BaseOffset + LastOffsetDelta.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// SizeBytes is the size of the whole batch, header included.
func (b Batch) SizeBytes() int { return len(b) }

// PartitionLeaderEpoch is the epoch of the leader that appended the batch; −1
// from a client. Not covered by the CRC.
func (b Batch) PartitionLeaderEpoch() int32 { return int32(binary.BigEndian.Uint32(b[atLeaderEpoch:])) }

// Magic is the message format, 2.
func (b Batch) Magic() int8 { return int8(b[atMagic]) }

// CRC is the stored CRC32C of everything from the attributes on.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[atCRC:]) }

// Attributes holds codec, timestamp type and the flags below.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[atAttributes:])) }

// Codec is the compression of the records.
func (b Batch) Codec() Codec { return Codec(b[atAttributes+1] & attrCodec) }

// IsLogAppendTime: every record's timestamp is MaxTimestamp, set by the broker.
func (b Batch) IsLogAppendTime() bool { return b[atAttributes+1]&attrLogAppendTime != 0 }

// IsTransactional: the batch belongs to a transaction of its producer.
func (b Batch) IsTransactional() bool { return b[atAttributes+1]&attrTransactional != 0 }

// IsControl: the batch holds a transaction marker or the like, not data.
func (b Batch) IsControl() bool { return b[atAttributes+1]&attrControl != 0 }

// DeleteHorizon is the time, in ms since 1970, from which on compaction removes the batch's tombstones (KIP-534). It is
// kept where the base timestamp is, so that the records' timestamps are relative to it; has: there is one.
func (b Batch) DeleteHorizon() (ms int64, has bool) {
	if b[atAttributes+1]&attrDeleteHorizon == 0 {
		return 0, false
	}
	return b.BaseTimestamp(), true
}

// LastOffsetDelta is the offset of the last record relative to the first.
func (b Batch) LastOffsetDelta() int32 {
	return int32(binary.BigEndian.Uint32(b[atLastOffsetDelta:]))
}

// BaseTimestamp is what the records' timestamps are relative to, in ms.
func (b Batch) BaseTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[atBaseTimestamp:])) }

// MaxTimestamp is the largest timestamp of the batch, in ms, as its header says.
func (b Batch) MaxTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[atMaxTimestamp:])) }

// ProducerID is −1 without idempotence.
func (b Batch) ProducerID() int64 { return int64(binary.BigEndian.Uint64(b[atProducerID:])) }

// HasProducerID tells whether the batch comes from an idempotent producer.
func (b Batch) HasProducerID() bool { return b.ProducerID() > -1 }

// ProducerEpoch is −1 without idempotence.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[atProducerEpoch:])) }

// BaseSequence is the sequence number of the first record, −1 without
// idempotence.
func (b Batch) BaseSequence() int32 { return int32(binary.BigEndian.Uint32(b[atBaseSequence:])) }

// LastSequence is the sequence number of the last record: they count from
// 2³¹−1 on to 0. It is −1 without idempotence.
func (b Batch) LastSequence() int32 {
	base := b.BaseSequence()
	if base < 0 {
		return -1
	}
	return int32((int64(base) + int64(b.LastOffsetDelta())) & 0x7fffffff)
}

// Count is the number of records as the header says.
func (b Batch) Count() int32 { return int32(binary.BigEndian.Uint32(b[atCount:])) }

// Records is the section behind the header, compressed if Codec says so.
func (b Batch) Records() []byte { return b[HeaderBytes:] }

// SetBaseOffset moves the batch to an offset. Not covered by the CRC.
func (b Batch) SetBaseOffset(offset int64) {
	binary.BigEndian.PutUint64(b[atBaseOffset:], uint64(offset))
}

// SetPartitionLeaderEpoch sets the leader's epoch. Not covered by the CRC.
func (b Batch) SetPartitionLeaderEpoch(epoch int32) {
	binary.BigEndian.PutUint32(b[atLeaderEpoch:], uint32(epoch))
}

// SetMaxTimestamp sets the largest timestamp and the timestamp type. If one of
// them changes, the CRC is recomputed, over the whole batch, and attribute bits
// that mean nothing are cleared, as Apache Kafka does.
func (b Batch) SetMaxTimestamp(timestampMs int64, logAppendTime bool) {
	if b.MaxTimestamp() == timestampMs && b.IsLogAppendTime() == logAppendTime {
		return
	}
	b[atAttributes] = 0
	b[atAttributes+1] &= attrCodec | attrTransactional | attrControl | attrDeleteHorizon
	if logAppendTime {
		b[atAttributes+1] |= attrLogAppendTime
	}
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(timestampMs))
	b.UpdateCRC()
}

// ComputeCRC is the CRC32C that the batch should carry.
func (b Batch) ComputeCRC() uint32 { return crc32.Checksum(b[atAttributes:], castagnoli) }

// UpdateCRC stores ComputeCRC.
func (b Batch) UpdateCRC() { binary.BigEndian.PutUint32(b[atCRC:], b.ComputeCRC()) }
