package record

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kmsgBatch encodes records as franz-go's kmsg does.
func kmsgBatch(o Options, records []Record) []byte {
	var section []byte
	base, last := records[0].Timestamp, records[0].Timestamp
	for i, r := range records {
		last = max(last, r.Timestamp)
		k := kmsg.Record{TimestampDelta64: r.Timestamp - base, OffsetDelta: int32(i), Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			k.Headers = append(k.Headers, kmsg.Header{Key: string(h.Key), Value: h.Value})
		}
		// Length is a varint of one byte while it is 0.
		k.Length = int32(len(k.AppendTo(nil)) - 1)
		section = k.AppendTo(section)
	}
	b := kmsg.RecordBatch{
		FirstOffset:          o.BaseOffset,
		Length:               int32(HeaderBytes - lengthBytes + len(section)),
		PartitionLeaderEpoch: -1,
		Magic:                2,
		LastOffsetDelta:      int32(len(records) - 1),
		FirstTimestamp:       base,
		MaxTimestamp:         last,
		ProducerID:           -1,
		ProducerEpoch:        -1,
		FirstSequence:        -1,
		NumRecords:           int32(len(records)),
		Records:              section,
	}
	if o.Idempotent {
		b.ProducerID, b.ProducerEpoch, b.FirstSequence = o.ProducerID, o.ProducerEpoch, o.BaseSequence
	}
	if o.LogAppendTime {
		b.Attributes |= 1 << 3
		b.MaxTimestamp = o.AppendTimeMs
	}
	if o.Transactional {
		b.Attributes |= 1 << 4
	}
	if o.Control {
		b.Attributes |= 1 << 5
	}
	out := b.AppendTo(nil)
	b.CRC = int32(crc32.Checksum(out[atAttributes:], crc32.MakeTable(crc32.Castagnoli)))
	return b.AppendTo(nil)
}

var optionCases = map[string]Options{
	"plain":         {},
	"offset":        {BaseOffset: 1 << 40},
	"idempotent":    {Idempotent: true, ProducerID: 4000, ProducerEpoch: 3, BaseSequence: 77},
	"producer 0":    {Idempotent: true},
	"transactional": {Idempotent: true, ProducerID: 1, Transactional: true},
	"control":       {Idempotent: true, ProducerID: 1, Transactional: true, Control: true},
	"append time":   {LogAppendTime: true, AppendTimeMs: testMs + 5000},
}

// Ours to franz-go, byte by byte.
func TestBuilderMatchesKmsg(t *testing.T) {
	rng := seeded(t)
	var b Builder
	for name, o := range optionCases {
		for range 20 {
			records := randomRecords(rng, 1+rng.IntN(40))
			b.Reset(o)
			for _, r := range records {
				b.Append(r)
			}
			if got, want := b.Bytes(), kmsgBatch(o, records); !bytes.Equal(got, want) {
				t.Fatalf("%s:\ngot  %x\nwant %x", name, got, want)
			}
		}
	}
}

// Franz-go's to ours: header fields by kmsg's names, records one by one.
func TestBatchReadsKmsg(t *testing.T) {
	rng := seeded(t)
	for name, o := range optionCases {
		records := randomRecords(rng, 1+rng.IntN(40))
		wire := kmsgBatch(o, records)
		b, rest, err := Next(append(bytes.Clone(wire), "tail"...))
		if err != nil || string(rest) != "tail" {
			t.Fatalf("%s: Next: rest %q, error %v", name, rest, err)
		}
		var k kmsg.RecordBatch
		if err := k.ReadFrom(wire); err != nil {
			t.Fatal(err)
		}
		got := kmsg.RecordBatch{
			FirstOffset: b.BaseOffset(), Length: int32(b.SizeBytes() - lengthBytes),
			PartitionLeaderEpoch: b.PartitionLeaderEpoch(), Magic: b.Magic(), CRC: int32(b.CRC()),
			Attributes: b.Attributes(), LastOffsetDelta: b.LastOffsetDelta(), FirstTimestamp: b.BaseTimestamp(),
			MaxTimestamp: b.MaxTimestamp(), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(),
			FirstSequence: b.BaseSequence(), NumRecords: b.Count(), Records: b.Records(),
		}
		if diff := cmp.Diff(k, got, asBytes); diff != "" {
			t.Errorf("%s: header (-kmsg +ours):\n%s", name, diff)
		}
		want := records
		if o.LogAppendTime {
			for i := range want {
				want[i].Timestamp = o.AppendTimeMs
			}
		}
		if diff := cmp.Diff(want, all(t, b), asBytes); diff != "" {
			t.Errorf("%s: records (-want +got):\n%s", name, diff)
		}
	}
}

// Batches of every codec are read by kgo's consumer as they were written.
func TestKgoReadsBuilder(t *testing.T) {
	rng := seeded(t)
	var b Builder
	for _, codec := range codecs {
		records := randomRecords(rng, 30)
		b.Reset(Options{Codec: codec, BaseOffset: 100})
		for _, r := range records {
			b.Append(r)
		}
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.RecordBatches = bytes.Clone(b.Bytes())
		rp.HighWatermark = 130
		got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t"}, &rp, kgo.DefaultDecompressor(), nil)
		if got.Err != nil || len(got.Records) != len(records) {
			t.Fatalf("%s: %d records, error %v", codec, len(got.Records), got.Err)
		}
		for i, r := range got.Records {
			w := records[i]
			if r.Offset != int64(100+i) || r.Timestamp.UnixMilli() != w.Timestamp ||
				!bytes.Equal(r.Key, w.Key) || !bytes.Equal(r.Value, w.Value) || len(r.Headers) != len(w.Headers) {
				t.Fatalf("%s: record %d: got %+v, want %+v", codec, i, r, w)
			}
		}
	}
}

// What kgo's producer packs, we unpack, and the other ways of clients.
func TestUnpacks(t *testing.T) {
	records := randomRecords(seeded(t), 60)
	plain := Batch(kmsgBatch(Options{}, records))
	kgoCodecs := map[Codec]kgo.CompressionCodec{
		Gzip: kgo.GzipCompression(), Snappy: kgo.SnappyCompression(), Lz4: kgo.Lz4Compression(), Zstd: kgo.ZstdCompression(),
	}
	sections := map[string]Batch{}
	for codec, k := range kgoCodecs {
		c, err := kgo.DefaultCompressor(k)
		if err != nil {
			t.Fatal(err)
		}
		section, kind := c.Compress(new(bytes.Buffer), plain.Records())
		if Codec(kind) != codec {
			t.Fatalf("kgo packed %v for %s", kind, codec)
		}
		sections["kgo "+codec.String()] = wrap(codec, plain.Count(), section)
	}
	for name, p := range packers {
		sections[name] = wrap(p.codec, plain.Count(), p.pack(plain.Records()))
	}
	for name, b := range sections {
		b = patched(b, func(b Batch) { copy(b[atBaseTimestamp:atProducerID], plain[atBaseTimestamp:atProducerID]) })
		if err := Batch(bytes.Clone(b)).Check(); err != nil {
			t.Errorf("%s: Check: %v", name, err)
		}
		if diff := cmp.Diff(records, all(t, b), asBytes); diff != "" {
			t.Errorf("%s: records (-want +got):\n%s", name, diff)
		}
	}
}

// Batches captured on the wire from real producers: Check accepts each and leaves
// its bytes alone, and every record can be read.
func TestCaptured(t *testing.T) {
	for name, text := range captured {
		wire, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Single(wire)
		if err != nil {
			t.Errorf("%s: Single: %v", name, err)
			continue
		}
		before := bytes.Clone(b)
		if err := b.Check(); err != nil {
			t.Errorf("%s: Check: %v", name, err)
		}
		if !bytes.Equal(before, b) {
			t.Errorf("%s: Check changed\n%x to\n%x", name, before, []byte(b))
		}
		if got := len(all(t, b)); got != int(b.Count()) {
			t.Errorf("%s: %d records, header says %d", name, got, b.Count())
		}
	}
}
