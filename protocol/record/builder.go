package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Options say what kind of batch a Builder makes. The zero value: offset 0,
// uncompressed, create time, without a producer id.
type Options struct {
	BaseOffset int64
	Codec      Codec

	// Idempotent: the three producer fields are meant. Without it −1 is
	// written into each.
	Idempotent    bool
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32

	Transactional bool
	Control       bool

	// LogAppendTime marks all records as appended at AppendTimeMs.
	LogAppendTime bool
	AppendTimeMs  int64
}

// Builder makes record batches. It keeps its memory and its compressors from
// batch to batch. The zero value needs a Reset first. One goroutine at a time.
type Builder struct {
	options Options
	raw     []byte // header space, records
	packed  []byte // header space, compressed records; if there is a codec
	count   int32
	baseMs  int64
	maxMs   int64

	out  writer
	gzip *gzip.Writer
	lz4  *lz4.Writer
	zstd *zstd.Encoder
}

// writer is the io.Writer on a slice that the compressors write to.
type writer struct{ b []byte }

func (w *writer) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// Reset begins a new batch. What Bytes returned before becomes invalid.
func (b *Builder) Reset(o Options) {
	if o.Codec > Zstd {
		panic(fmt.Sprintf("record: Builder.Reset with %s", o.Codec))
	}
	b.options, b.count = o, 0
	b.raw = append(b.raw[:0], make([]byte, HeaderBytes)...)
}

// Append adds a record, which gets the next offset delta: r.OffsetDelta is not
// looked at. Nothing of r is kept.
func (b *Builder) Append(r Record) {
	if b.count == 0 {
		b.baseMs, b.maxMs = r.Timestamp, r.Timestamp
	}
	b.maxMs = max(b.maxMs, r.Timestamp)
	timestampDelta := r.Timestamp - b.baseMs
	size := 1 + varintBytes(timestampDelta) + varintBytes(int64(b.count)) +
		fieldBytes(r.Key) + fieldBytes(r.Value) + varintBytes(int64(len(r.Headers)))
	for _, h := range r.Headers {
		size += varintBytes(int64(len(h.Key))) + len(h.Key) + fieldBytes(h.Value)
	}
	p := appendVarint(b.raw, int64(size))
	p = append(p, 0) // attributes: none are defined
	p = appendVarint(p, timestampDelta)
	p = appendVarint(p, int64(b.count))
	p = appendField(p, r.Key)
	p = appendField(p, r.Value)
	p = appendVarint(p, int64(len(r.Headers)))
	for _, h := range r.Headers {
		p = appendVarint(p, int64(len(h.Key)))
		p = append(p, h.Key...)
		p = appendField(p, h.Value)
	}
	b.raw = p
	b.count++
}

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.count) }

// SizeBytes is the size of the batch so far, before compression.
func (b *Builder) SizeBytes() int { return len(b.raw) }

// Bytes finishes the batch, with leader epoch −1 as clients send it. It stays
// valid until the builder is used again; that may also be to append more records
// to the same batch. A batch without records is a programmer's error.
func (b *Builder) Bytes() Batch {
	if b.count == 0 {
		panic("record: Builder.Bytes without a record")
	}
	p := b.raw
	if b.options.Codec != None {
		p = b.compress()
	}
	o := &b.options
	attributes := uint16(o.Codec)
	maxMs := b.maxMs
	if o.LogAppendTime {
		attributes |= attrLogAppendTime
		maxMs = o.AppendTimeMs
	}
	if o.Transactional {
		attributes |= attrTransactional
	}
	if o.Control {
		attributes |= attrControl
	}
	producerID, epoch, sequence := int64(-1), int16(-1), int32(-1)
	if o.Idempotent {
		producerID, epoch, sequence = o.ProducerID, o.ProducerEpoch, o.BaseSequence
	}
	be := binary.BigEndian
	be.PutUint64(p[atBaseOffset:], uint64(o.BaseOffset))
	be.PutUint32(p[atLength:], uint32(len(p)-lengthBytes))
	be.PutUint32(p[atLeaderEpoch:], 0xffffffff)
	p[atMagic] = 2
	be.PutUint16(p[atAttributes:], attributes)
	be.PutUint32(p[atLastOffsetDelta:], uint32(b.count-1))
	be.PutUint64(p[atBaseTimestamp:], uint64(b.baseMs))
	be.PutUint64(p[atMaxTimestamp:], uint64(maxMs))
	be.PutUint64(p[atProducerID:], uint64(producerID))
	be.PutUint16(p[atProducerEpoch:], uint16(epoch))
	be.PutUint32(p[atBaseSequence:], uint32(sequence))
	be.PutUint32(p[atCount:], uint32(b.count))
	batch := Batch(p[:len(p):len(p)])
	batch.UpdateCRC()
	return batch
}

// compress returns header space and compressed records. The compressors write to
// memory, where they can't fail.
func (b *Builder) compress() []byte {
	records := b.raw[HeaderBytes:]
	b.out.b = append(b.packed[:0], b.raw[:HeaderBytes]...)
	var err error
	switch b.options.Codec {
	case Gzip:
		if b.gzip == nil {
			b.gzip = gzip.NewWriter(&b.out)
		}
		b.gzip.Reset(&b.out)
		err = writeAll(b.gzip, records)
	case Lz4:
		if b.lz4 == nil {
			b.lz4 = lz4.NewWriter(&b.out)
			// As Java's: independent blocks of 64 KiB.
			err = b.lz4.Apply(lz4.BlockSizeOption(lz4.Block64Kb))
		}
		b.lz4.Reset(&b.out)
		err = errors.Join(err, writeAll(b.lz4, records))
	case Snappy:
		// Encode writes into the space it is given if that is large enough.
		most := snappy.MaxEncodedLen(len(records))
		space := slices.Grow(b.out.b, most)[:HeaderBytes+most]
		b.out.b = space[:HeaderBytes+len(snappy.Encode(space[HeaderBytes:], records))]
	case Zstd:
		if b.zstd == nil {
			b.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
				zstd.WithWindowSize(1<<20))
		}
		if err == nil {
			b.out.b = b.zstd.EncodeAll(records, b.out.b)
		}
	}
	if err != nil {
		panic("record: compressing to memory: " + err.Error())
	}
	b.packed, b.out.b = b.out.b, nil
	return b.packed
}

func writeAll(w io.WriteCloser, p []byte) error {
	if _, err := w.Write(p); err != nil {
		return err
	}
	return w.Close()
}

func fieldBytes(p []byte) int {
	if p == nil {
		return 1
	}
	return varintBytes(int64(len(p))) + len(p)
}

func appendField(dst, p []byte) []byte {
	if p == nil {
		return append(dst, 1) // −1
	}
	return append(appendVarint(dst, int64(len(p))), p...)
}
