package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

const (
	correlationAt = 8 // in a frame: size, API key, version, correlation id

	produceVersion = 9
	fetchVersion   = 12

	clientID = "millrace-bench"
)

// AppendRequest appends a frame: size, header and body of a request at its version, with a correlation id.
func AppendRequest(b []byte, r kmsg.Request, correlation int32) []byte {
	w := Writer{B: b}
	at := len(b)
	w.Int32(0)
	w.Int16(r.Key())
	w.Int16(r.GetVersion())
	w.Int32(correlation)
	w.String([]byte(clientID))
	w.Flexible = r.IsFlexible()
	w.Tags()
	w.B = r.AppendTo(w.B)
	w.End(at)
	return w.B
}

// ProduceFrame is a Produce request for one batch of one partition, encoded once. Head goes up to the end of the
// batch's header: all that differs between two sendings stands in it. Tail is the records. The frame owns both.
type ProduceFrame struct {
	Head, Tail  []byte
	Batch       *Batch
	Topic       string
	batchAt     int
	partitionAt int
}

// NewProduceFrame encodes a Produce request; acks is 0, 1 or −1.
func NewProduceFrame(topic string, partition int32, acks int16, batch *Batch) (*ProduceFrame, error) {
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, batch.Bytes
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	r := kmsg.NewPtrProduceRequest()
	r.SetVersion(produceVersion)
	r.Acks, r.TimeoutMillis, r.Topics = acks, 30000, append(r.Topics, t)
	frame := AppendRequest(nil, r, 0)
	at := bytes.LastIndex(frame, batch.Bytes)
	if at < 0 {
		return nil, fmt.Errorf("the batch isn't in its own request")
	}
	// The end of the request (a few empty tag sections) follows the records, so it is part of Tail.
	cut := at + BatchHeadBytes
	length := len(binary.AppendUvarint(nil, uint64(len(batch.Bytes)+1)))
	return &ProduceFrame{Head: frame[:cut:cut], Tail: frame[cut:], Batch: batch, Topic: topic, batchAt: at,
		partitionAt: at - length - 4}, nil
}

// Bytes is how much one sending puts on the wire.
func (f *ProduceFrame) Bytes() int { return len(f.Head) + len(f.Tail) }

// Stamp makes head, a copy of f.Head, the head of the next sending. sequence is used if the batch has a producer id;
// below 0 it is left alone.
func (f *ProduceFrame) Stamp(head []byte, correlation, sequence int32) {
	binary.BigEndian.PutUint32(head[correlationAt:], uint32(correlation))
	if sequence >= 0 {
		f.Batch.Stamp(head[f.batchAt:], sequence)
	}
}

// SetPartition makes head, a copy of f.Head, go to another partition of the topic.
func (f *ProduceFrame) SetPartition(head []byte, partition int32) {
	binary.BigEndian.PutUint32(head[f.partitionAt:], uint32(partition))
}

// Ack is the answer to a ProduceFrame.
type Ack struct {
	Correlation int32
	Code        protocol.Code
	BaseOffset  int64
}

// ParseAck reads a response to a ProduceFrame, its size cut off.
func ParseAck(response []byte) (a Ack, err error) {
	r := Reader{B: response, Flexible: true}
	a.Correlation = r.Int32()
	r.Tags()
	if r.Count() != 1 {
		return a, fmt.Errorf("Produce response of %d bytes: not one topic", len(response))
	}
	r.String()
	if r.Count() != 1 {
		return a, fmt.Errorf("Produce response of %d bytes: not one partition", len(response))
	}
	r.Int32()
	a.Code = protocol.Code(r.Int16())
	a.BaseOffset = r.Int64()
	if r.Bad {
		return a, fmt.Errorf("Produce response of %d bytes: cut short", len(response))
	}
	return a, nil
}

// FetchSpec says what a FetchFrame asks for.
type FetchSpec struct {
	Topic      string
	Partitions []int32
	MaxWaitMs  int32
	MinBytes   int32
	MaxBytes   int32 // of the response
	// PartitionMaxBytes is for each partition; 0 is MaxBytes.
	PartitionMaxBytes int32
}

// FetchFrame is a Fetch request without a session, encoded once. It owns Bytes.
type FetchFrame struct {
	Bytes   []byte
	first   int // where the first partition's offset stands
	Topic   string
	Indexes []int32
}

// fetchStride is how far the offsets of two partitions in a row are apart: index, leader epoch, offset, last fetched
// epoch, log start offset, bytes, tags.
const fetchStride = 4 + 4 + 8 + 4 + 8 + 4 + 1

// NewFetchFrame encodes a Fetch request; every offset is 0 at first.
func NewFetchFrame(s FetchSpec) *FetchFrame {
	r := NewFetchRequest(s, -1)
	t := kmsg.NewFetchRequestTopic()
	t.Topic = s.Topic
	for _, index := range s.Partitions {
		t.Partitions = append(t.Partitions, fetchPartition(s, index, 0))
	}
	// The first offset is found by a mark that can't be in the rest of the request.
	const mark = 0x7172737475767778
	t.Partitions[0].FetchOffset = mark
	r.Topics = append(r.Topics, t)
	f := &FetchFrame{Bytes: AppendRequest(nil, r, 0), Topic: s.Topic, Indexes: s.Partitions}
	f.first = bytes.LastIndex(f.Bytes, binary.BigEndian.AppendUint64(nil, mark))
	f.SetOffset(0, 0)
	return f
}

// NewFetchRequest is the request of a spec without its topics; epoch −1 is no session, 0 opens one.
func NewFetchRequest(s FetchSpec, epoch int32) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.SetVersion(fetchVersion)
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes, r.SessionEpoch = s.MaxWaitMs, s.MinBytes, s.MaxBytes, epoch
	return r
}

func fetchPartition(s FetchSpec, index int32, offset int64) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.CurrentLeaderEpoch = index, offset, -1
	if p.PartitionMaxBytes = s.PartitionMaxBytes; p.PartitionMaxBytes == 0 {
		p.PartitionMaxBytes = s.MaxBytes
	}
	return p
}

// AppendSessionFetch appends a Fetch request within a session that names only some partitions. Session 0 with epoch 0
// opens one. The correlation id is the epoch.
func AppendSessionFetch(b []byte, s FetchSpec, session, epoch int32, partitions []int32, offsets map[int32]int64) []byte {
	w := Writer{B: b}
	at := len(b)
	w.Int32(0)
	w.Int16(1)
	w.Int16(fetchVersion)
	w.Int32(epoch)
	w.String([]byte(clientID))
	w.Flexible = true
	w.Tags()
	w.Int32(-1) // replica
	w.Int32(s.MaxWaitMs)
	w.Int32(s.MinBytes)
	w.Int32(s.MaxBytes)
	w.Int8(0) // isolation
	w.Int32(session)
	w.Int32(epoch)
	if len(partitions) == 0 {
		w.Length(0)
	} else {
		w.Length(1)
		w.String([]byte(s.Topic))
		w.Length(len(partitions))
		for _, p := range partitions {
			w.Int32(p)
			w.Int32(-1) // leader epoch
			w.Int64(offsets[p])
			w.Int32(-1) // last fetched epoch
			w.Int64(-1) // log start
			w.Int32(s.PartitionMaxBytes)
			w.Tags()
		}
		w.Tags()
	}
	w.Length(0)   // forgotten topics
	w.String(nil) // rack
	w.Tags()
	w.End(at)
	return w.B
}

// Stamp sets the correlation id.
func (f *FetchFrame) Stamp(correlation int32) {
	binary.BigEndian.PutUint32(f.Bytes[correlationAt:], uint32(correlation))
}

// SetOffset sets the offset of the i-th partition of the spec.
func (f *FetchFrame) SetOffset(i int, offset int64) {
	binary.BigEndian.PutUint64(f.Bytes[f.first+i*fetchStride:], uint64(offset))
}

// FetchReader walks the partitions of a response to a Fetch of version 12. The views are into the response.
type FetchReader struct {
	Correlation int32
	SessionID   int32

	// Of the partition that Next came to.
	Topic         []byte
	Index         int32
	Code          protocol.Code
	HighWatermark int64
	LogStart      int64
	Records       []byte

	r          Reader
	topics     int
	partitions int
	opened     bool // inside a topic
}

// Reset starts with a response, its size cut off. The error is that of the response as a whole.
func (f *FetchReader) Reset(response []byte) error {
	*f = FetchReader{r: Reader{B: response, Flexible: true}}
	f.Correlation = f.r.Int32()
	f.r.Tags()
	f.r.Int32() // throttle
	code := protocol.Code(f.r.Int16())
	f.SessionID = f.r.Int32()
	f.topics = f.r.Count()
	switch {
	case f.r.Bad:
		return fmt.Errorf("Fetch response of %d bytes: cut short", len(response))
	case code != protocol.None:
		return &CodeError{API: "Fetch", Code: code}
	}
	return nil
}

// Next goes to the next partition. After false, Err tells whether the response ended as it should.
func (f *FetchReader) Next() bool {
	for f.partitions == 0 {
		if f.opened {
			f.r.Tags()
			f.opened = false
		}
		if f.topics == 0 || f.r.Bad {
			return false
		}
		f.topics--
		f.Topic = f.r.String()
		f.partitions = f.r.Count()
		f.opened = true
	}
	f.partitions--
	f.Index = f.r.Int32()
	f.Code = protocol.Code(f.r.Int16())
	f.HighWatermark = f.r.Int64()
	f.r.Int64() // last stable offset
	f.LogStart = f.r.Int64()
	for range f.r.Count() { // aborted transactions
		f.r.Take(16)
		f.r.Tags()
	}
	f.r.Int32() // preferred read replica
	f.Records = f.r.Bytes()
	f.r.Tags()
	return !f.r.Bad
}

// Err says that the response was cut short.
func (f *FetchReader) Err() error {
	if f.r.Bad {
		return fmt.Errorf("Fetch response: cut short")
	}
	return nil
}

// WalkBatches goes through records of a fetch from offset want, and gives the number of batches, the records in them
// from want on, and the offset to go on from. Batches must follow each other without a gap; the last one may be cut,
// as Kafka's may. check also computes each CRC, which costs the client as much as it costs a server.
func WalkBatches(records []byte, want int64, check bool) (batches, count int, next int64, err error) {
	next = want
	for len(records) >= BatchHeadBytes {
		h, whole := ParseBatch(records)
		if !whole {
			if h.Bytes < BatchHeadBytes {
				return batches, count, next, fmt.Errorf("batch of %d bytes at offset %d", h.Bytes, h.Base)
			}
			break
		}
		if h.Base > next || batches > 0 && h.Base != next {
			return batches, count, next, fmt.Errorf("batch at offset %d where %d was due", h.Base, next)
		}
		if check && !CheckBatch(records[:h.Bytes]) {
			return batches, count, next, fmt.Errorf("batch at offset %d: wrong CRC", h.Base)
		}
		end := h.Base + int64(h.Records)
		count += int(max(end-max(h.Base, next), 0))
		next = max(next, end)
		records = records[h.Bytes:]
		batches++
	}
	return batches, count, next, nil
}

// CodeError is an error code in an answer.
type CodeError struct {
	API     string
	Code    protocol.Code
	Message string
}

func (e *CodeError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s: %v", e.API, e.Code)
	}
	return fmt.Sprintf("%s: %v: %s", e.API, e.Code, e.Message)
}
