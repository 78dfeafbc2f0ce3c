package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A58: to ask for a new topic's watermarks at once got OFFSET_NOT_AVAILABLE, and a schema registry died of it at its start.
func TestA58_FreshTopicHasWatermarks(t *testing.T) {
	s := Shared(t)
	if External() {
		t.Skip("Apache Kafka tells of leaders before they lead")
	}
	out := Run(t, Program{
		Args:    []string{Python(t), "clients/python/cases.py", "fresh-watermarks", s.List(), Name(t, "t"), "500"},
		Timeout: 60 * time.Second,
	})
	if got := strings.TrimSpace(out.Stdout); got != "done" {
		t.Error(clip(got))
	}
}

// commitRequest commits offset 7 of one partition with no member, as simple consumers do.
func commitRequest(version int16, group, topic string) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.Generation = version, group, -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = 7
	one := kmsg.NewOffsetCommitRequestTopic()
	one.Topic, one.Partitions = topic, append(one.Partitions, p)
	r.Topics = append(r.Topics, one)
	return r
}

// A61: simple consumers of old commit under the empty group id; that must go on, though nobody can join such a group.
func TestA61_EmptyGroupID(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	Leader(t, s, topic, 0)
	c := Dial(t, Coordinator(t, s, ""))
	for version := int16(2); version <= 9; version++ {
		if got := c.Do(commitRequest(version, "", topic)).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; got != 0 {
			t.Errorf("commit v%d: error %d", version, got)
		}
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Version, fetch.Group = 5, ""
	one := kmsg.NewOffsetFetchRequestTopic()
	one.Topic, one.Partitions = topic, []int32{0}
	fetch.Topics = append(fetch.Topics, one)
	if got := c.Do(fetch).(*kmsg.OffsetFetchResponse); got.ErrorCode != 0 || got.Topics[0].Partitions[0].Offset != 7 {
		t.Errorf("fetch: %+v", got)
	}
	for version := range int16(10) {
		if got := c.Do(JoinRequest(version, "", "", nil, 6000)).(*kmsg.JoinGroupResponse).ErrorCode; got != kerr.InvalidGroupID.Code {
			t.Errorf("join v%d: error %d, want INVALID_GROUP_ID", version, got)
		}
	}
}

// A61: any text is a group id, and an unknown group is Dead without an error, but for version 6, which has one for it.
func TestA61_OddAndUnknownGroupIDs(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	Leader(t, s, topic, 0)
	for _, group := range []string{Name(t, "with space"), Name(t, "a/b"), Name(t, "한글"), strings.Repeat("x", 32_000), "\x00\n"} {
		c := Dial(t, Coordinator(t, s, group))
		if got := c.Do(commitRequest(7, group, topic)).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; got != 0 {
			t.Errorf("%.20q: commit: error %d", group, got)
		}
		if committed, err := Admin(t, s).FetchOffsets(Context(t, 10*time.Second), group); err != nil || committed[topic][0].At != 7 {
			t.Errorf("%.20q: %v, %+v", group, err, committed[topic][0])
		}
	}
	unknown := Name(t, "unknown")
	c := Dial(t, Coordinator(t, s, unknown))
	for version := range int16(7) {
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Version, r.Groups = version, []string{unknown}
		want := int16(0)
		if version >= 6 {
			want = kerr.GroupIDNotFound.Code
		}
		if got := c.Do(r).(*kmsg.DescribeGroupsResponse).Groups[0]; got.ErrorCode != want || got.State != "Dead" {
			t.Errorf("describe v%d: error %d, state %s", version, got.ErrorCode, got.State)
		}
	}
}

// A61 with sarama's offset manager, a simple consumer.
func TestA61_SaramaOffsetManager(t *testing.T) {
	s := Shared(t)
	topic, group := Name(t, "t"), Name(t, "g")
	CreateTopic(t, s, topic, 1)
	produceStrings(t, s, topic, "a", "b", "c")
	mark := func(next int64) (found int64) {
		client, err := sarama.NewClient(s.Bootstrap, saramaConfig(sarama.DefaultVersion))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		manager, err := sarama.NewOffsetManagerFromClient(group, client)
		if err != nil {
			t.Fatal(err)
		}
		defer manager.Close()
		p, err := manager.ManagePartition(topic, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer p.AsyncClose()
		found, _ = p.NextOffset()
		p.MarkOffset(next, "")
		manager.Commit()
		return found
	}
	if first := mark(2); first != sarama.OffsetOldest {
		t.Errorf("nothing was committed, yet it begins at %d", first)
	}
	if second := mark(3); second != 2 {
		t.Errorf("committed 2, found %d", second)
	}
}

// A23: an idempotent producer was idle for longer than the server remembers it; what it sent then was out of order to the server, which
// is fatal to librdkafka. An id without a state may begin at any sequence.
func TestA23_IdleIdempotentProducer(t *testing.T) {
	s := Start(t, Options{Set: map[string]string{"producer.id.expiration.ms": "300", "producer.id.expiration.check.interval.ms": "100"}})
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	out := Run(t, Program{Args: []string{Python(t), "clients/python/cases.py", "idempotent", s.List(), topic, "1.5", "100"}})
	if !strings.HasSuffix(strings.TrimSpace(out.Stdout), "failures []") {
		t.Error(out.Stdout)
	}
	checkValues(t, s, topic, 107)
}

// A23, after all its records were deleted.
func TestA23_IdempotentProducerAfterDelete(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	r := Launch(t, Program{Args: []string{Python(t), "clients/python/cases.py", "idempotent", s.List(), topic, "2", "100"}})
	r.Await(t, "paused", 15*time.Second)
	c := Dial(t, Leader(t, s, topic, 0))
	d := kmsg.NewPtrDeleteRecordsRequest()
	d.Version, d.TimeoutMillis = 1, 5000
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = -1
	one := kmsg.NewDeleteRecordsRequestTopic()
	one.Topic, one.Partitions = topic, append(one.Partitions, p)
	d.Topics = append(d.Topics, one)
	if got := c.Do(d).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]; got.ErrorCode != 0 || got.LowWatermark != 7 {
		t.Fatalf("delete: %+v", got)
	}
	if got := r.Await(t, "failures", 20*time.Second); got != "failures []" {
		t.Error(got)
	}
}

// checkValues wants so many records, none twice.
func checkValues(t *testing.T, s *Server, topic string, want int) {
	t.Helper()
	c := Client(t, s, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	seen := map[string]int{}
	for ctx := Context(t, 10*time.Second); len(seen) < want && ctx.Err() == nil; {
		for _, r := range c.PollFetches(ctx).Records() {
			seen[string(r.Value)]++
			if seen[string(r.Value)] > 1 {
				t.Errorf("%s came twice", r.Value)
			}
		}
	}
	if len(seen) != want {
		t.Errorf("%d records of %d", len(seen), want)
	}
}

// A23 with plain requests: duplicates are answered with their first offset, a gap and an old epoch are refused.
func TestA23_SequenceRules(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	c := Dial(t, Leader(t, s, topic, 0))
	init := kmsg.NewPtrInitProducerIDRequest()
	init.Version, init.TransactionTimeoutMillis, init.ProducerID, init.ProducerEpoch = 4, 10_000, -1, -1
	id := c.Do(init).(*kmsg.InitProducerIDResponse)
	if id.ErrorCode != 0 || id.ProducerID < 0 || id.ProducerEpoch != 0 {
		t.Fatalf("%+v", id)
	}
	for i, step := range []struct {
		epoch  int16
		first  int32
		error  *kerr.Error
		offset int64
	}{
		{0, 5, nil, 0}, // no state yet: any first sequence
		{0, 7, nil, 2},
		{0, 5, nil, 0}, // once more
		{0, 7, nil, 2},
		{0, 12, kerr.OutOfOrderSequenceNumber, -1}, // a gap
		{1, 3, kerr.OutOfOrderSequenceNumber, -1},  // a new epoch begins at 0
		{1, 0, nil, 4},
		{0, 9, kerr.InvalidProducerEpoch, -1}, // the old epoch
		{1, 2, nil, 6},
	} {
		b := NewBatch(Record{Timestamp: 1, Value: []byte("a")}, Record{Timestamp: 1, Value: []byte("b")})
		b.ProducerID, b.ProducerEpoch, b.Sequence = id.ProducerID, step.epoch, step.first
		got := Produce(c, 8, topic, 0, b.Encode(t))
		want := int16(0)
		if step.error != nil {
			want = step.error.Code
		}
		if got.ErrorCode != want || got.BaseOffset != step.offset {
			t.Errorf("step %d: %v at %d, want %v at %d", i, kerr.ErrorForCode(got.ErrorCode), got.BaseOffset, step.error, step.offset)
		}
	}
}

// A63: the limit is on the batch as it is stored, a topic's above the broker's, and one that is too large fails alone.
func TestA63_MessageSizeLimits(t *testing.T) {
	s := Shared(t)
	small, usual, large := Name(t, "small"), Name(t, "usual"), Name(t, "large")
	CreateTopic(t, s, small, 2, "max.message.bytes", "2000")
	CreateTopic(t, s, usual, 1)
	CreateTopic(t, s, large, 1, "max.message.bytes", "20000000")
	value := func(size int) Record { return Record{Timestamp: 1, Value: bytes.Repeat([]byte("x"), size)} }
	many := NewBatch()
	for range 30 {
		many.Records = append(many.Records, value(100)) // each is small, the batch isn't
	}
	packed := NewBatch(value(5_000_000))
	packed.Codec = kgo.CodecZstd
	for name, try := range map[string]struct {
		topic string
		batch Batch
		want  int16
	}{
		"topic's limit":         {small, NewBatch(value(3000)), 10},
		"below it":              {small, NewBatch(value(1500)), 0},
		"the batch counts":      {small, many, 10},
		"broker's limit":        {usual, NewBatch(value(1_100_000)), 10},
		"below that":            {usual, NewBatch(value(1_000_000)), 0},
		"compressed size":       {usual, packed, 0},
		"a topic may take more": {large, NewBatch(value(15_000_000)), 0},
		"but not without end":   {large, NewBatch(value(21_000_000)), 10},
	} {
		c := Dial(t, Leader(t, s, try.topic, 0))
		if got := Produce(c, 7, try.topic, 0, try.batch.Encode(t)); got.ErrorCode != try.want {
			t.Errorf("%s: error %d, want %d", name, got.ErrorCode, try.want)
		}
		c.Close()
	}
	// A consumer with limits below the batch gets it all the same.
	for _, limit := range []int32{1, 1000} {
		r := FetchRequest(11, large, 0, 0)
		r.MaxBytes, r.Topics[0].Partitions[0].PartitionMaxBytes = limit, limit
		got := Dial(t, Leader(t, s, large, 0)).Do(r).(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if got.ErrorCode != 0 || len(Batches(t, got.RecordBatches)) != 1 {
			t.Errorf("fetch with a limit of %d: error %d, %d bytes", limit, got.ErrorCode, len(got.RecordBatches))
		}
	}
}

// A63: two partitions in one request, one of them too large.
func TestA63_TooLargeFailsAlone(t *testing.T) {
	s := Shared(t)
	topic, other := Name(t, "t"), Name(t, "other")
	CreateTopic(t, s, topic, 1, "max.message.bytes", "2000")
	leader := Leader(t, s, topic, 0)
	CreateTopic(t, s, other, 6) // one of its partitions is led by the same broker
	for p := range int32(6) {
		if Leader(t, s, other, p) != leader {
			continue
		}
		r := ProduceRequest(7, topic, 0, NewBatch(Record{Timestamp: 1, Value: bytes.Repeat([]byte("x"), 3000)}).Encode(t))
		r.Topics = append(r.Topics, ProduceRequest(7, other, p, NewBatch(Record{Timestamp: 1, Value: []byte("v")}).Encode(t)).Topics...)
		got := Dial(t, leader).Do(r).(*kmsg.ProduceResponse)
		codes := map[string]int16{}
		for _, topic := range got.Topics {
			codes[topic.Topic] = topic.Partitions[0].ErrorCode
		}
		if codes[topic] != 10 || codes[other] != 0 {
			t.Errorf("%v", codes)
		}
		return
	}
	t.Fatal("no common leader")
}

// A63 with librdkafka: what is too large is told, and the next one goes through.
func TestA63_Kcat(t *testing.T) {
	kcat, s := needTool(t, "kcat"), Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1, "max.message.bytes", "2000")
	out, _ := Program{Args: []string{kcat, "-P", "-b", s.List(), "-t", topic, "-X", "linger.ms=0", "-X", "batch.num.messages=1"},
		Stdin: fmt.Appendf(nil, "%s\nsmall\n", strings.Repeat("x", 3000))}.run()
	if !strings.Contains(out.Stderr, "Message size too large") {
		t.Errorf("%s", out.Stderr)
	}
	checkValues(t, s, topic, 1)
}
