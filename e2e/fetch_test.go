package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A05: records = null, which the schema allows, broke librdkafka's parser; they must be there with length 0, beside an error too, in every
// version and within a fetch session.
func TestA05_RecordsAreNeverNull(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	leader := Leader(t, s, topic, 0)
	id := Metadata(t, s, topic).Topics[0].TopicID
	c := Dial(t, leader)
	served := c.Versions()[int16(kmsg.Fetch)]
	for version := served.MinVersion; version <= served.MaxVersion; version++ {
		for offset, want := range map[int64]int16{0: 0, 99: kerr.OffsetOutOfRange.Code} {
			r := FetchRequest(version, topic, 0, offset)
			r.Topics[0].TopicID = id
			if version >= 7 {
				r.SessionEpoch = 0 // begin a session
			}
			answer := c.Do(r).(*kmsg.FetchResponse)
			checkEmpty(t, answer, want)
			if version < 7 || answer.SessionID == 0 {
				continue
			}
			again := FetchRequest(version, topic, 0, offset)
			again.SessionID, again.SessionEpoch, again.Topics = answer.SessionID, 1, nil
			answer = c.Do(again).(*kmsg.FetchResponse)
			if want == 0 {
				if answer.ErrorCode != 0 || len(answer.Topics) != 0 { // nothing changed: nothing is told
					t.Errorf("v%d: second fetch of a session: %+v", version, answer)
				}
			} else {
				checkEmpty(t, answer, want)
			}
		}
	}
	if served.MinVersion != 4 || served.MaxVersion < 12 {
		t.Errorf("Fetch is served from %d to %d", served.MinVersion, served.MaxVersion)
	}
}

func checkEmpty(t *testing.T, answer *kmsg.FetchResponse, want int16) {
	t.Helper()
	if answer.ErrorCode != 0 || len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		t.Errorf("v%d: %+v", answer.Version, answer)
		return
	}
	p := answer.Topics[0].Partitions[0]
	if p.ErrorCode != want || p.RecordBatches == nil || len(p.RecordBatches) != 0 {
		t.Errorf("v%d: error %d, want %d; records null: %v", answer.Version, p.ErrorCode, want, p.RecordBatches == nil)
	}
	if answer.Version >= 11 && p.PreferredReadReplica != -1 {
		t.Errorf("v%d: preferred read replica %d", answer.Version, p.PreferredReadReplica)
	}
}

// A05 with kcat, which says PROTOERR when it can't parse.
func TestA05_KcatParsesEmptyAnswers(t *testing.T) {
	kcat, s := needTool(t, "kcat"), Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	_, bootstrap := StartProxy(t, s)
	for _, offset := range []string{"beginning", "7"} {
		out := Run(t, Program{Args: []string{kcat, "-C", "-e", "-b", bootstrap, "-t", topic, "-p", "0", "-o", offset, "-d", "fetch,protocol",
			"-X", "fetch.wait.max.ms=50", "-X", "topic.auto.offset.reset=latest"}})
		if strings.Contains(out.Stderr, "PROTOERR") || strings.Contains(out.Stderr, "Protocol parse failure") {
			t.Errorf("from %s: %s", offset, clip(out.Stderr))
		}
		if !strings.Contains(out.Stderr, "Reached end of topic") {
			t.Errorf("from %s: no end reached: %s", offset, clip(out.Stderr))
		}
	}
}

// A09: an incremental fetch that names no topics was taken for one without partitions and answered at once; an idle Java consumer then
// sent thousands a second.
func TestA09_IdleSessionIsHeld(t *testing.T) {
	java, s := Java(t), Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	Leader(t, s, topic, 0)
	const seconds = 3
	proxy, bootstrap := StartProxy(t, s)
	out := Run(t, Program{Args: append(java, "Cases", "idle", bootstrap, topic, fmt.Sprint(seconds))})
	var fetches int64
	if _, err := fmt.Sscanf(out.Stdout, "fetches %d", &fetches); err != nil {
		t.Fatal(out.Stdout, out.Stderr)
	}
	if seen := proxy.Requests(kmsg.Fetch); fetches < 2 || fetches > 3*seconds || seen > 3*seconds {
		t.Errorf("%d fetches (%d seen) in %d s, at 500 ms each", fetches, seen, seconds)
	}
}

// A09, the session's own rules: what was not named stays in it, what is forgotten leaves it, and a wrong epoch is told.
func TestA09_SessionRules(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	c := Dial(t, Leader(t, s, topic, 0))
	first := FetchRequest(7, topic, 0, 0)
	first.SessionEpoch = 0
	id := c.Do(first).(*kmsg.FetchResponse).SessionID
	if id == 0 {
		t.Fatal("no session was opened")
	}
	next := func(epoch int32, wait int32) *kmsg.FetchResponse {
		r := FetchRequest(7, topic, 0, 0)
		r.SessionID, r.SessionEpoch, r.Topics, r.MaxWaitMillis, r.MinBytes = id, epoch, nil, wait, 1
		return c.Do(r).(*kmsg.FetchResponse)
	}
	start := time.Now()
	if answer := next(1, 300); answer.ErrorCode != 0 || time.Since(start) < 250*time.Millisecond {
		t.Errorf("an idle session: error %d after %v", answer.ErrorCode, time.Since(start))
	}
	Produce(Dial(t, Leader(t, s, topic, 0)), 3, topic, 0, NewBatch(Record{Timestamp: 1, Value: []byte("v")}).Encode(t))
	if answer := next(2, 5000); answer.ErrorCode != 0 || len(answer.Topics) != 1 || len(answer.Topics[0].Partitions[0].RecordBatches) == 0 {
		t.Errorf("the session missed a record: %+v", answer)
	}
	if answer := next(2, 0); answer.ErrorCode != kerr.InvalidFetchSessionEpoch.Code {
		t.Errorf("an epoch twice: error %d", answer.ErrorCode)
	}
	id++
	if answer := next(1, 0); answer.ErrorCode != kerr.FetchSessionIDNotFound.Code {
		t.Errorf("an unknown session: error %d", answer.ErrorCode)
	}
}

// fetchMaxBytes is the broker's fetch.max.bytes by default.
const fetchMaxBytes = 57_671_680

// fill makes a topic whose partitions hold count batches of a million bytes each.
func fill(t *testing.T, s *Server, topic string, partitions int32, count int) {
	CreateTopic(t, s, topic, partitions)
	t.Cleanup(func() { Admin(t, s).DeleteTopics(Context(t, 10*time.Second), topic) })
	batch := NewBatch(Record{Timestamp: time.Now().UnixMilli(), Value: bytes.Repeat([]byte("x"), 1_000_000)}).Encode(t)
	for p := range partitions {
		c := Dial(t, Leader(t, s, topic, p))
		for range count {
			if got := Produce(c, 3, topic, p, batch); got.ErrorCode != 0 {
				t.Fatalf("produce: %d", got.ErrorCode)
			}
		}
		c.Close()
	}
}

// A15: each partition's limit was kept and the sum of hundreds of partitions was not: one answer of hundreds of megabytes.
func TestA15_AnswerIsBoundedInSum(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	const partitions = 36
	fill(t, s, topic, partitions, 6)
	byLeader := map[string][]int32{}
	for p := range int32(partitions) {
		leader := Leader(t, s, topic, p)
		byLeader[leader] = append(byLeader[leader], p)
	}
	for leader, led := range byLeader {
		r := FetchRequest(11, topic, led[0], 0)
		template := r.Topics[0].Partitions[0]
		r.MaxBytes, r.Topics[0].Partitions = 2_000_000_000, nil
		for _, p := range led {
			template.Partition, template.PartitionMaxBytes = p, 10_000_000
			r.Topics[0].Partitions = append(r.Topics[0].Partitions, template)
		}
		if size := fetchedBytes(Dial(t, leader).Do(r).(*kmsg.FetchResponse)); size > fetchMaxBytes || size < 1_000_000 {
			t.Errorf("%d partitions at up to 10 MB: %d bytes in one answer", len(led), size)
		}
		// The request's own limit, and one batch at least whatever the limits say.
		r.MaxBytes = 3_500_000
		if size := fetchedBytes(Dial(t, leader).Do(r).(*kmsg.FetchResponse)); size > 3_500_000 || size < 1_000_000 {
			t.Errorf("max_bytes 3,500,000: %d bytes", size)
		}
		r.MaxBytes = 1
		if size := fetchedBytes(Dial(t, leader).Do(r).(*kmsg.FetchResponse)); size < 1_000_000 || size > 1_100_000 {
			t.Errorf("max_bytes 1: %d bytes; one batch is right", size)
		}
	}
}

func fetchedBytes(r *kmsg.FetchResponse) (sum int) {
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			sum += len(p.RecordBatches)
		}
	}
	return sum
}

// A15: a client that asks for much and reads slowly must cost a bounded amount of memory and nobody else's time.
func TestA15_SlowReadersAreBounded(t *testing.T) {
	s := Start(t, Options{})
	topic := Name(t, "t")
	fill(t, s, topic, 12, 6)
	before := s.RSS(t)
	for range 10 {
		slow := Dial(t, s.Bootstrap[0])
		for range 50 {
			r := FetchRequest(11, topic, 0, 0)
			template := r.Topics[0].Partitions[0]
			r.MaxBytes, r.Topics[0].Partitions = 2_000_000_000, nil
			for p := range int32(12) {
				template.Partition, template.PartitionMaxBytes = p, 10_000_000
				r.Topics[0].Partitions = append(r.Topics[0].Partitions, template)
			}
			slow.Send(r)
		}
	}
	// 500 answers of 57 MB are asked for. Others go on meanwhile:
	c := Client(t, s, kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i := range 200 {
		start := time.Now()
		if err := c.ProduceSync(Context(t, 10*time.Second), kgo.StringRecord(fmt.Sprint(i))).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("a produce took %v", took)
		}
	}
	if grown := s.RSS(t) - before; grown > 200<<20 {
		t.Errorf("slow readers cost %d MB", grown>>20)
	}
}
