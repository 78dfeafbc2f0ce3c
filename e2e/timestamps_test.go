package e2e

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// askTime is what the consumers' offsetsForTimes sends: the first offset whose timestamp is at least ts.
func askTime(c *Conn, version int16, topic string, ts int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	r := kmsg.NewPtrListOffsetsRequest()
	r.Version, r.ReplicaID = version, -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = ts, -1
	one := kmsg.NewListOffsetsRequestTopic()
	one.Topic, one.Partitions = topic, append(one.Partitions, p)
	r.Topics = append(r.Topics, one)
	answer := c.Do(r).(*kmsg.ListOffsetsResponse)
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		c.t.Fatalf("%+v", answer)
	}
	return answer.Topics[0].Partitions[0]
}

// A01: sarama leaves a batch's max_timestamp unset; the broker must set it on append (and with it the checksum), or look-ups by time and
// retention by time go wrong.
func TestA01_BrokerSetsMaxTimestamp(t *testing.T) {
	kcat, s := needTool(t, "kcat"), Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1, "retention.ms", "-1")
	config := saramaConfig(sarama.DefaultVersion)
	config.Producer.Flush.Messages, config.Producer.Flush.Frequency = 10, 10*time.Second // all in one batch
	p, err := sarama.NewSyncProducer(s.Bootstrap, config)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const first = 1_700_000_000_000
	var messages []*sarama.ProducerMessage
	for i := range 10 {
		messages = append(messages, &sarama.ProducerMessage{
			Topic: topic, Value: sarama.StringEncoder("v"), Timestamp: time.UnixMilli(first + int64(i)*1000),
		})
	}
	if err := p.SendMessages(messages); err != nil {
		t.Fatal(err)
	}
	// The same, without a doubt about what the client does today.
	leader := Dial(t, Leader(t, s, topic, 0))
	for _, unset := range []int64{-1, 1, first + 1_000_000} {
		batch := NewBatch(Record{first + 20_000, nil, []byte("v")}, Record{first + 21_000, nil, []byte("v")})
		batch.MaxTimestamp = unset
		if got := Produce(leader, 3, topic, 0, batch.Encode(t)); got.ErrorCode != 0 {
			t.Fatalf("max timestamp %d: error %d", unset, got.ErrorCode)
		}
	}
	batches := Batches(t, FetchAll(t, s, topic, 0)) // checks the checksums
	if len(batches) != 4 || batches[0].NumRecords != 10 {
		t.Fatalf("%d batches, the first of %d records", len(batches), batches[0].NumRecords)
	}
	for i, b := range batches {
		want := int64(first + 9000)
		if i > 0 {
			want = first + 21_000
		}
		if b.MaxTimestamp != want {
			t.Errorf("batch %d: max timestamp %d, want %d", i, b.MaxTimestamp, want)
		}
	}
	out := Run(t, Program{Args: []string{kcat, "-Q", "-b", s.List(), "-t", fmt.Sprintf("%s:0:%d", topic, first+4000)}})
	if got := strings.TrimSpace(out.Stdout); got != topic+" [0] offset 4" {
		t.Errorf("kcat -Q: %s", got)
	}
}

// A01: retention by time counts from that timestamp too.
func TestA01_RetentionByTime(t *testing.T) {
	s := Start(t, Options{Set: map[string]string{"log.retention.check.interval.ms": "100"}})
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1, "retention.ms", "60000", "segment.ms", "100")
	leader := Dial(t, Leader(t, s, topic, 0))
	now := time.Now().UnixMilli()
	old, young := NewBatch(Record{now - 120_000, nil, []byte("old")}), NewBatch(Record{now, nil, []byte("young")})
	old.MaxTimestamp, young.MaxTimestamp = -1, -1
	Produce(leader, 3, topic, 0, old.Encode(t))
	time.Sleep(150 * time.Millisecond) // let the old one's segment come to its end
	Produce(leader, 3, topic, 0, young.Encode(t))
	earliest := func() int64 { return askTime(leader, 1, topic, -2).Offset }
	until(t, 5*time.Second, "the old record goes", func() bool { return earliest() == 1 })
	if p := Fetch(leader, 11, topic, 0, 1); len(Batches(t, p.RecordBatches)) != 1 {
		t.Error("the young record is gone")
	}
}

// A11: a look-up by time must find the record, not its batch, also where timestamps run backwards, in every codec: the first offset with a
// timestamp that is late enough. It is compared with a plain scan for each possible time.
func TestA11_LookupByTimeFindsTheRecord(t *testing.T) {
	s := Shared(t)
	const base = 1_700_000_000_000
	times := [][]int64{{100, 50, 200}, {10, 300, 20}, {300, 300}, {5}, {250, 310, 0}}
	for name, codec := range Codecs {
		topic := Name(t, name)
		CreateTopic(t, s, topic, 1, "retention.ms", "-1")
		c := Dial(t, Leader(t, s, topic, 0))
		var all []int64
		for _, batch := range times {
			b := NewBatch()
			b.Codec = codec
			for _, ts := range batch {
				b.Records = append(b.Records, Record{base + ts, []byte("key"), bytes.Repeat([]byte("v"), 200)})
			}
			if got := Produce(c, 7, topic, 0, b.Encode(t)); got.ErrorCode != 0 {
				t.Fatalf("%s: error %d", name, got.ErrorCode)
			}
			all = append(all, batch...)
		}
		for ts := range int64(320) {
			want := int64(slices.IndexFunc(all, func(have int64) bool { return have >= ts }))
			got := askTime(c, 6, topic, base+ts)
			if got.ErrorCode != 0 || got.Offset != want || want >= 0 && got.Timestamp != base+all[want] || want < 0 && got.Timestamp != -1 {
				t.Errorf("%s: time %d: error %d, offset %d, timestamp %d; want offset %d", name, ts, got.ErrorCode, got.Offset, got.Timestamp-base, want)
			}
		}
	}
}

// A11 over many batches, where an index would narrow the search.
func TestA11_LookupByTimeInALongLog(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1, "retention.ms", "-1", "segment.bytes", "1048576")
	c := Dial(t, Leader(t, s, topic, 0))
	const base, step = 1_700_000_000_000, 10
	var all []int64
	for i := range int64(300) {
		b := NewBatch()
		for j := range int64(20) {
			ts := i*20*step + j*step
			if i%7 == 3 {
				ts -= 500 * step // late data
			}
			b.Records = append(b.Records, Record{base + ts, nil, bytes.Repeat([]byte("v"), 500)})
			all = append(all, ts)
		}
		Produce(c, 3, topic, 0, b.Encode(t))
	}
	for ts := int64(-5000); ts < 61_000; ts += 437 {
		want := int64(slices.IndexFunc(all, func(have int64) bool { return have >= ts }))
		if got := askTime(c, 6, topic, base+ts); got.Offset != want {
			t.Errorf("time %d: offset %d, want %d", ts, got.Offset, want)
		}
	}
}

// A13: with no record late enough the answer was the end offset, or an offset beside timestamp −1, and Java threw; it is −1 for all three.
func TestA13_NoRecordLateEnough(t *testing.T) {
	kcat, java, s := needTool(t, "kcat"), Java(t), Shared(t)
	topic, empty := Name(t, "t"), Name(t, "empty")
	CreateTopic(t, s, topic, 1, "retention.ms", "-1")
	CreateTopic(t, s, empty, 1)
	leader := Dial(t, Leader(t, s, topic, 0))
	const ts = 1_700_000_000_000
	Produce(leader, 3, topic, 0, NewBatch(Record{ts, nil, []byte("a")}, Record{ts + 5, nil, []byte("b")}).Encode(t))
	future := strconv.FormatInt(time.Now().Add(24*time.Hour).UnixMilli(), 10)

	versions := leader.Versions()[int16(kmsg.ListOffsets)]
	for version := max(1, versions.MinVersion); version <= versions.MaxVersion; version++ {
		if version > kmsg.NewPtrListOffsetsRequest().MaxVersion() {
			break
		}
		got := askTime(leader, version, topic, ts+6)
		if got.ErrorCode != 0 || got.Offset != -1 || got.Timestamp != -1 || got.LeaderEpoch != -1 {
			t.Errorf("v%d: no match: %+v", version, got)
		}
		if got := askTime(leader, version, topic, ts+1); got.Offset != 1 || got.Timestamp != ts+5 || version >= 4 && got.LeaderEpoch < 0 {
			t.Errorf("v%d: match: %+v", version, got)
		}
	}
	for name, want := range map[string]string{
		topic: fmt.Sprintf("%s null %d 1 %d", future, int64(ts)+1, int64(ts)+5),
		empty: fmt.Sprintf("%s null %d null", future, int64(ts)+1),
	} {
		out := Run(t, Program{Args: append(slices.Clone(java), "Cases", "times", s.List(), name, future, strconv.Itoa(ts+1))})
		if got := strings.Join(strings.Fields(out.Stdout), " "); got != want {
			t.Errorf("kafka-clients: %s, want %s", got, want)
		}
		out = Run(t, Program{Args: []string{kcat, "-Q", "-b", s.List(), "-t", name + ":0:" + future}})
		if got := strings.TrimSpace(out.Stdout); got != name+" [0] offset -1" {
			t.Errorf("kcat -Q: %s", got)
		}
	}
}
