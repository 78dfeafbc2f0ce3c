package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Where the fields of a record batch of magic 2 stand (https://kafka.apache.org/documentation/#recordbatch).
const (
	BatchHeadBytes = 61 // what comes before the records

	batchLengthAt     = 8
	batchMagicAt      = 16
	batchCRCAt        = 17
	batchAttributesAt = 21 // the CRC covers everything from here on
	batchLastDeltaAt  = 23
	batchFirstTimeAt  = 27
	batchMaxTimeAt    = 35
	batchProducerAt   = 43
	batchEpochAt      = 51
	batchSequenceAt   = 53
	batchCountAt      = 57
)

// Castagnoli is the table of CRC32C, which record batches use.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Codecs are the names of the compressions, as compression.type has them.
var Codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// BatchSpec says what a batch shall hold.
type BatchSpec struct {
	Records       int    // at least 1
	RecordBytes   int    // of one record as encoded, its own framing included; at least 10
	Codec         string // of Codecs; empty is none
	ProducerID    int64  // −1: no idempotence
	ProducerEpoch int16  // −1 likewise
	// TimestampMs is of every record. One that is too old makes retention by time let go of it at once.
	TimestampMs int64
}

// Batch is a record batch that is sent many times. It owns Bytes.
type Batch struct {
	Bytes   []byte
	Records int

	crc  uint32     // with sequence 0
	bits [32]uint32 // what each bit of the sequence changes in the CRC
}

// NewBatch encodes a batch. Its records have no key and, like those of kafka-producer-perf-test, values of random
// capital letters, the same ones for the same spec.
func NewBatch(s BatchSpec) (*Batch, error) {
	if s.Records < 1 || s.RecordBytes < 10 {
		return nil, fmt.Errorf("a batch of %d records of %d bytes: at least 1 record, of at least 10 bytes", s.Records,
			s.RecordBytes)
	}
	records := make([]byte, 0, s.Records*s.RecordBytes)
	letters := uint64(1)
	for i := range s.Records {
		records = appendRecord(records, i, s.RecordBytes, &letters)
	}
	codec, packed, err := compress(s.Codec, records)
	if err != nil {
		return nil, err
	}
	b := make([]byte, BatchHeadBytes, BatchHeadBytes+len(packed))
	b = append(b, packed...)
	binary.BigEndian.PutUint32(b[batchLengthAt:], uint32(len(b)-12))
	b[batchMagicAt] = 2
	binary.BigEndian.PutUint16(b[batchAttributesAt:], codec)
	binary.BigEndian.PutUint32(b[batchLastDeltaAt:], uint32(s.Records-1))
	binary.BigEndian.PutUint64(b[batchFirstTimeAt:], uint64(s.TimestampMs))
	binary.BigEndian.PutUint64(b[batchMaxTimeAt:], uint64(s.TimestampMs))
	binary.BigEndian.PutUint64(b[batchProducerAt:], uint64(s.ProducerID))
	binary.BigEndian.PutUint16(b[batchEpochAt:], uint16(s.ProducerEpoch))
	binary.BigEndian.PutUint32(b[batchCountAt:], uint32(s.Records))
	batch := &Batch{Bytes: b, Records: s.Records}
	batch.precompute(s.ProducerID >= 0)
	return batch, nil
}

// precompute fills what Stamp needs, and leaves the batch with its first sequence: 0, or none.
func (b *Batch) precompute(idempotent bool) {
	sum := func(sequence uint32) uint32 {
		binary.BigEndian.PutUint32(b.Bytes[batchSequenceAt:], sequence)
		return crc32.Checksum(b.Bytes[batchAttributesAt:], Castagnoli)
	}
	first := ^uint32(0)
	if b.crc = sum(0); idempotent {
		for i := range b.bits {
			b.bits[i] = sum(1<<i) ^ b.crc
		}
		first = 0
	}
	crc := sum(first)
	binary.BigEndian.PutUint32(b.Bytes[batchCRCAt:], crc)
}

// Stamp writes a sequence and the CRC that goes with it into head, which starts with the batch's header. Only for a
// batch with a producer id.
func (b *Batch) Stamp(head []byte, sequence int32) {
	crc := b.crc
	for i, rest := 0, uint32(sequence); rest != 0; i, rest = i+1, rest>>1 {
		if rest&1 != 0 {
			crc ^= b.bits[i]
		}
	}
	binary.BigEndian.PutUint32(head[batchCRCAt:], crc)
	binary.BigEndian.PutUint32(head[batchSequenceAt:], uint32(sequence))
}

// BatchHead is what a server reads of a batch.
type BatchHead struct {
	Bytes   int // of the whole batch
	Base    int64
	Records int // offsets that it takes
}

// ParseBatch reads the head of the batch that b starts with. ok is false if b doesn't hold the whole batch.
func ParseBatch(b []byte) (h BatchHead, ok bool) {
	if len(b) < BatchHeadBytes {
		return h, false
	}
	h.Base = int64(binary.BigEndian.Uint64(b))
	h.Bytes = 12 + int(binary.BigEndian.Uint32(b[batchLengthAt:]))
	h.Records = int(binary.BigEndian.Uint32(b[batchLastDeltaAt:])) + 1
	return h, h.Bytes >= BatchHeadBytes && h.Bytes <= len(b)
}

// CheckBatch says whether b, one whole batch, has the CRC that it claims.
func CheckBatch(b []byte) bool {
	return len(b) >= BatchHeadBytes &&
		crc32.Checksum(b[batchAttributesAt:], Castagnoli) == binary.BigEndian.Uint32(b[batchCRCAt:])
}

// appendRecord appends a record of `want` bytes, or one less where the varint of its length leaves a gap.
func appendRecord(b []byte, delta, want int, letters *uint64) []byte {
	length := want - varintBytes(want)
	for varintBytes(length+1)+length+1 <= want {
		length++
	}
	// attributes, timestamp delta, offset delta, null key, value, no headers
	fixed := 1 + 1 + varintBytes(delta) + 1 + 1
	value := length - fixed - varintBytes(length)
	for value+1+varintBytes(value+1)+fixed <= length {
		value++
	}
	value = max(value, 0)
	length = fixed + varintBytes(value) + value
	b = binary.AppendVarint(b, int64(length))
	b = append(b, 0, 0)
	b = binary.AppendVarint(b, int64(delta))
	b = binary.AppendVarint(b, -1)
	b = binary.AppendVarint(b, int64(value))
	for range value {
		*letters = *letters*6364136223846793005 + 1442695040888963407
		b = append(b, 'A'+byte(*letters>>33%26))
	}
	return append(b, 0)
}

func varintBytes(v int) int {
	n := 1
	for z := uint64(v) << 1; z >= 0x80; z >>= 7 {
		n++
	}
	return n
}

// compress gives the codec's number in a batch's attributes and the packed records.
func compress(codec string, records []byte) (attributes uint16, packed []byte, err error) {
	var c kgo.CompressionCodec
	switch codec {
	case "", "none":
		return 0, records, nil
	case "gzip":
		c = kgo.GzipCompression()
	case "snappy":
		c = kgo.SnappyCompression()
	case "lz4":
		c = kgo.Lz4Compression()
	case "zstd":
		c = kgo.ZstdCompression()
	default:
		return 0, nil, fmt.Errorf("no codec %q; there are %v", codec, Codecs)
	}
	compressor, err := kgo.DefaultCompressor(c)
	if err != nil {
		return 0, nil, err
	}
	packed, kind := compressor.Compress(new(bytes.Buffer), records)
	return uint16(kind), bytes.Clone(packed), nil
}
