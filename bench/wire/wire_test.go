package wire

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

func mustBatch(t testing.TB, s BatchSpec) *Batch {
	t.Helper()
	b, err := NewBatch(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBatchSizes(t *testing.T) {
	for _, records := range []int{1, 2, 63, 64, 65, 1000} {
		for _, size := range []int{20, 63, 64, 65, 66, 67, 100, 127, 128, 129, 130, 200, 1000, 1024, 8192, 8200, 16384} {
			b := mustBatch(t, BatchSpec{Records: records, RecordBytes: size, ProducerID: -1, ProducerEpoch: -1})
			each := float64(len(b.Bytes)-BatchHeadBytes) / float64(records)
			if each > float64(size) || each < float64(size-2) {
				t.Errorf("%d records of %d bytes take %.2f each", records, size, each)
			}
		}
	}
}

func TestBatchIsKafkas(t *testing.T) {
	for _, codec := range Codecs {
		b := mustBatch(t, BatchSpec{Records: 10, RecordBytes: 100, Codec: codec, ProducerID: -1, ProducerEpoch: -1,
			TimestampMs: 1700000000000})
		var k kmsg.RecordBatch
		if err := k.ReadFrom(b.Bytes); err != nil {
			t.Fatalf("%s: %v", codec, err)
		}
		if k.Magic != 2 || k.NumRecords != 10 || k.LastOffsetDelta != 9 || k.ProducerID != -1 || k.FirstSequence != -1 ||
			k.MaxTimestamp != 1700000000000 || int(k.Length) != len(b.Bytes)-12 || !CheckBatch(b.Bytes) {
			t.Errorf("%s: %+v", codec, k)
		}
		if k.Attributes&7 == 0 && codec != "none" {
			t.Errorf("%s: attributes %d", codec, k.Attributes)
		}
		if codec != "none" {
			continue
		}
		rest := k.Records
		for i := range 10 {
			var r kmsg.Record
			length, n := binary.Varint(rest)
			if err := r.ReadFrom(rest[:n+int(length)]); err != nil || r.OffsetDelta != int32(i) || r.Key != nil {
				t.Fatalf("record %d: %+v, %v", i, r, err)
			}
			rest = rest[n+int(length):]
		}
		if len(rest) != 0 {
			t.Errorf("%d bytes behind the records", len(rest))
		}
	}
	if _, err := NewBatch(BatchSpec{Records: 1, RecordBytes: 100, Codec: "brotli"}); err == nil {
		t.Error("a codec that isn't there")
	}
	if _, err := NewBatch(BatchSpec{RecordBytes: 100}); err == nil {
		t.Error("a batch without records")
	}
}

func TestSequenceIsUnderTheCRC(t *testing.T) {
	b := mustBatch(t, BatchSpec{Records: 7, RecordBytes: 300, ProducerID: 42, ProducerEpoch: 1})
	f, err := NewProduceFrame("t", 3, -1, b)
	if err != nil {
		t.Fatal(err)
	}
	head := append([]byte{}, f.Head...)
	for _, sequence := range []int32{0, 1, 7, 255, 256, 65537, 1<<31 - 1} {
		f.Stamp(head, 9, sequence)
		f.SetPartition(head, sequence)
		whole := append(append([]byte{}, head...), f.Tail...)
		p := parseProduce(t, whole)
		records := p.Topics[0].Partitions[0].Records
		var k kmsg.RecordBatch
		if err := k.ReadFrom(records); err != nil || k.FirstSequence != sequence || k.ProducerID != 42 || !CheckBatch(records) {
			t.Errorf("sequence %d: %+v, %v, CRC %v", sequence, k.FirstSequence, err, CheckBatch(records))
		}
		if got := p.Topics[0].Partitions[0].Partition; got != sequence {
			t.Errorf("partition %d, want %d", got, sequence)
		}
	}
}

// parseProduce decodes a frame with kmsg.
func parseProduce(t *testing.T, frame []byte) *kmsg.ProduceRequest {
	t.Helper()
	r := Reader{B: frame[4:]}
	if int(binary.BigEndian.Uint32(frame)) != len(frame)-4 || r.Int16() != 0 {
		t.Fatalf("not a Produce frame")
	}
	p := kmsg.NewPtrProduceRequest()
	p.SetVersion(r.Int16())
	r.Int32()
	r.String()
	r.Flexible = true
	r.Tags()
	if err := p.ReadFrom(r.B); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFetchFrame(t *testing.T) {
	f := NewFetchFrame(FetchSpec{Topic: "topic", Partitions: []int32{4, 0, 9}, MaxWaitMs: 5, MinBytes: 1, MaxBytes: 1000})
	f.Stamp(77)
	for i := range 3 {
		f.SetOffset(i, int64(100+i))
	}
	r := Reader{B: f.Bytes[8:]}
	if got := r.Int32(); got != 77 {
		t.Errorf("correlation %d", got)
	}
	if diff := cmp.Diff([]int64{100, 101, 102}, fetchOffsets(t, f.Bytes)); diff != "" {
		t.Error(diff)
	}
	session := AppendSessionFetch(nil, FetchSpec{Topic: "topic", MaxWaitMs: 5, MinBytes: 1, MaxBytes: 1000}, 5, 6, []int32{1, 2},
		map[int32]int64{1: 11, 2: 12})
	if diff := cmp.Diff([]int64{11, 12}, fetchOffsets(t, session)); diff != "" {
		t.Error(diff)
	}
	if got := fetchOffsets(t, AppendSessionFetch(nil, FetchSpec{Topic: "topic"}, 5, 7, nil, nil)); got != nil {
		t.Errorf("an empty session fetch has %v", got)
	}
}

func fetchOffsets(t *testing.T, frame []byte) (offsets []int64) {
	t.Helper()
	r := Reader{B: frame[4:]}
	r.Int16()
	q := kmsg.NewPtrFetchRequest()
	q.SetVersion(r.Int16())
	r.Int32()
	r.String()
	r.Flexible = true
	r.Tags()
	if err := q.ReadFrom(r.B); err != nil {
		t.Fatal(err)
	}
	for _, topic := range q.Topics {
		if topic.Topic != "topic" {
			t.Errorf("topic %q", topic.Topic)
		}
		for _, p := range topic.Partitions {
			offsets = append(offsets, p.FetchOffset)
		}
	}
	return offsets
}

// ackBytes is a response as kmsg encodes it, its size cut off.
func ackBytes(code int16, base int64) []byte {
	p := kmsg.NewProduceResponseTopicPartition()
	p.Partition, p.ErrorCode, p.BaseOffset = 3, code, base
	topic := kmsg.NewProduceResponseTopic()
	topic.Topic, topic.Partitions = "some-topic", append(topic.Partitions, p)
	r := kmsg.NewPtrProduceResponse()
	r.SetVersion(produceVersion)
	r.Topics = append(r.Topics, topic)
	return r.AppendTo([]byte{0, 0, 0, 8, 0})
}

func TestParseAck(t *testing.T) {
	tests := []struct {
		in   []byte
		want Ack
		bad  bool
	}{
		{ackBytes(0, 1234), Ack{8, protocol.None, 1234}, false},
		{ackBytes(6, -1), Ack{8, protocol.NotLeaderOrFollower, -1}, false},
		{ackBytes(0, 1)[:20], Ack{}, true},
		{nil, Ack{}, true},
	}
	for i, tt := range tests {
		got, err := ParseAck(tt.in)
		if (err != nil) != tt.bad || !tt.bad && got != tt.want {
			t.Errorf("%d: %+v, %v; want %+v", i, got, err, tt.want)
		}
	}
}

// fetched is a response to a Fetch of one topic, its size cut off.
func fetched(code int16, partitions ...kmsg.FetchResponseTopicPartition) []byte {
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.Partitions = "t", partitions
	r := kmsg.NewPtrFetchResponse()
	r.SetVersion(fetchVersion)
	r.ErrorCode, r.SessionID, r.Topics = code, 55, append(r.Topics, topic)
	return r.AppendTo([]byte{0, 0, 0, 9, 0})
}

func fetchedPartition(index int32, code int16, records []byte) kmsg.FetchResponseTopicPartition {
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.ErrorCode, p.HighWatermark, p.LogStartOffset, p.RecordBatches = index, code, 99, 1, records
	p.AbortedTransactions = append(p.AbortedTransactions, kmsg.NewFetchResponseTopicPartitionAbortedTransaction())
	return p
}

func TestFetchReader(t *testing.T) {
	var r FetchReader
	if err := r.Reset(fetched(0, fetchedPartition(0, 0, []byte("abc")), fetchedPartition(7, 1, nil))); err != nil {
		t.Fatal(err)
	}
	var got []string
	for r.Next() {
		got = append(got, string(r.Topic)+" "+string(r.Records)+" "+r.Code.String())
		if r.HighWatermark != 99 || r.LogStart != 1 {
			t.Errorf("partition %d: %+v", r.Index, r)
		}
	}
	if diff := cmp.Diff([]string{"t abc NONE", "t  OFFSET_OUT_OF_RANGE"}, got); diff != "" || r.Err() != nil {
		t.Error(diff, r.Err())
	}
	if r.SessionID != 55 || r.Correlation != 9 || r.Index != 7 {
		t.Errorf("%+v", r)
	}
	if err := r.Reset(fetched(70)); err == nil {
		t.Error("an error of the whole response is none")
	}
}

func TestWalkBatches(t *testing.T) {
	one := mustBatch(t, BatchSpec{Records: 3, RecordBytes: 50, ProducerID: -1, ProducerEpoch: -1}).Bytes
	at := func(base int64) []byte {
		b := append([]byte{}, one...)
		binary.BigEndian.PutUint64(b, uint64(base))
		return b
	}
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	broken := at(0)
	broken[70] ^= 1
	tests := []struct {
		name                 string
		in                   []byte
		want                 int64
		check                bool
		batches, count, next int
		bad                  bool
	}{
		{"nothing", nil, 5, false, 0, 0, 5, false},
		{"two", join(at(0), at(3)), 0, true, 2, 6, 6, false},
		{"from the middle of a batch", join(at(0), at(3)), 1, true, 2, 5, 6, false},
		{"last one cut", join(at(0), at(3)[:80]), 0, false, 1, 3, 3, false},
		{"gap at the start", at(4), 3, false, 0, 0, 3, true},
		{"gap between", join(at(0), at(4)), 0, false, 1, 3, 3, true},
		{"again", join(at(0), at(0)), 0, false, 1, 3, 3, true},
		{"CRC", broken, 0, true, 0, 0, 0, true},
		{"CRC that nobody checks", broken, 0, false, 1, 3, 3, false},
	}
	for _, tt := range tests {
		batches, count, next, err := WalkBatches(tt.in, tt.want, tt.check)
		if batches != tt.batches || count != tt.count || next != int64(tt.next) || (err != nil) != tt.bad {
			t.Errorf("%s: %d batches, %d records, next %d, %v; want %+v", tt.name, batches, count, next, err, tt)
		}
	}
}

func TestMeasuredPathAllocatesNothing(t *testing.T) {
	b := mustBatch(t, BatchSpec{Records: 64, RecordBytes: 1024, ProducerID: 1, ProducerEpoch: 0})
	f, err := NewProduceFrame("t", 0, 1, b)
	if err != nil {
		t.Fatal(err)
	}
	ack, response := ackBytes(0, 1), fetched(0, fetchedPartition(0, 0, b.Bytes))
	head := append([]byte{}, f.Head...)
	q := NewFetchFrame(FetchSpec{Topic: "t", Partitions: []int32{0, 1}, MaxBytes: 1})
	var r FetchReader
	if n := testing.AllocsPerRun(100, func() {
		f.Stamp(head, 5, 6)
		if _, err := ParseAck(ack); err != nil {
			t.Fatal(err)
		}
		q.Stamp(1)
		q.SetOffset(1, 2)
		if err := r.Reset(response); err != nil {
			t.Fatal(err)
		}
		for r.Next() {
			if _, _, _, err := WalkBatches(r.Records, 0, true); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(ackBytes(0, 1))
	f.Add(fetched(0, fetchedPartition(0, 0, []byte("abc"))))
	b, _ := NewBatch(BatchSpec{Records: 2, RecordBytes: 30, ProducerID: -1})
	f.Add(fetched(0, fetchedPartition(0, 0, b.Bytes)))
	f.Fuzz(func(t *testing.T, in []byte) {
		_, _ = ParseAck(in)
		var r FetchReader
		if r.Reset(in) == nil {
			for n := 0; r.Next(); n++ {
				if n > len(in) {
					t.Fatal("more partitions than bytes")
				}
				_, _, next, err := WalkBatches(r.Records, 0, true)
				if err == nil && next < 0 {
					t.Fatalf("next offset %d", next)
				}
			}
		}
		_, _, _, _ = WalkBatches(in, 0, false)
	})
}
