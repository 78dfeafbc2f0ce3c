package e2e

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A72: a code that an API's clients don't know ends in an "unexpected error" exception. So brokers go and come while clients of three
// kinds produce, consume and commit; the proxy holds each answer against the table in codes.go, and no client may give up.
func TestA72_BrokersGoAndCome(t *testing.T) {
	java, python, node := Java(t), Python(t), Node(t)
	s := Start(t, Options{Brokers: 3})
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 6)
	_, bootstrap := StartProxy(t, s)
	const seconds = "9"
	clients := map[string]*Running{
		"kafka-clients": Launch(t, Program{Args: append(java, "Cases", "traffic", bootstrap, topic, seconds)}),
		"librdkafka":    Launch(t, Program{Args: []string{python, "clients/python/cases.py", "traffic", bootstrap, topic, seconds}}),
		"kafkajs":       Launch(t, Program{Args: []string{node, "clients/node/cases.js", "traffic", bootstrap, topic, seconds}}),
	}
	for name, r := range clients {
		t.Logf("%s has %s", name, r.Await(t, "begun", 50*time.Second))
	}
	id := regexp.MustCompile(`\d+`)
	for range 4 {
		time.Sleep(1500 * time.Millisecond)
		made := s.Command(t, "CREATE_BROKER 127.0.0.1 0")
		time.Sleep(200 * time.Millisecond)
		// The oldest goes: it leads partitions, coordinates groups and is what clients were started with.
		s.Command(t, "REMOVE_BROKER %s", oldestBroker(t, s))
		if id.FindString(made) == "" {
			t.Errorf("CREATE_BROKER tells no id: %s", made)
		}
	}
	for name, r := range clients {
		if err := r.Wait(t, 60*time.Second); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := r.Text()
		if strings.Contains(text, "problem ") || !strings.Contains(text, "done") || strings.Contains(text, "consumed 0\n") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func oldestBroker(t *testing.T, s *Server) string {
	t.Helper()
	for _, address := range strings.Fields(brokerAddresses(t, s)) {
		if m, ok := tryMetadata(address); ok {
			oldest := m.Brokers[0].NodeID
			for _, b := range m.Brokers {
				oldest = min(oldest, b.NodeID)
			}
			return fmt.Sprint(oldest)
		}
	}
	t.Fatal("no broker answers")
	return ""
}

// brokerAddresses reads host:port of each broker from what the console tells of them.
func brokerAddresses(t *testing.T, s *Server) string {
	t.Helper()
	return strings.Join(regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(s.Command(t, "BROKERS"), -1), " ")
}

// A72: a full memory is told as KAFKA_STORAGE_ERROR, which producers retry; everything else goes on.
func TestA72_MemoryFull(t *testing.T) {
	s := Start(t, Options{Set: map[string]string{"millrace.memory.max": "64MiB"}})
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	c := Dial(t, s.Bootstrap[0])
	batch := NewBatch(Record{Timestamp: time.Now().UnixMilli(), Value: bytes.Repeat([]byte("x"), 900_000)}).Encode(t)
	stored, code := 0, int16(0)
	for ; stored < 200; stored++ {
		if code = Produce(c, 7, topic, 0, batch).ErrorCode; code != 0 {
			break
		}
	}
	if code != kerr.KafkaStorageError.Code || stored < 20 {
		t.Fatalf("after %d batches: error %d", stored, code)
	}
	if got := Produce(c, 7, topic, 0, batch).ErrorCode; got != kerr.KafkaStorageError.Code {
		t.Errorf("once more: error %d", got)
	}
	if p := Fetch(c, 11, topic, 0, int64(stored-1)); p.ErrorCode != 0 || p.HighWatermark != int64(stored) {
		t.Errorf("what was acknowledged: error %d, high watermark %d of %d", p.ErrorCode, p.HighWatermark, stored)
	}
	if got := Dial(t, Coordinator(t, s, "g")).Do(commitRequest(7, "g", topic)).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; got != 0 {
		t.Errorf("a commit: error %d", got)
	}
}

// A72: what a stop does to clients in the middle of something is a closed connection or an error that they know.
func TestA72_ShuttingDown(t *testing.T) {
	if External() {
		t.Skip("needs a server of its own")
	}
	s, err := start(Options{Brokers: 2})
	if err != nil {
		t.Fatal(err)
	}
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 4)
	_, bootstrap := StartProxy(t, s)
	front := strings.Split(bootstrap, ",")
	waiting := Dial(t, front[0])
	f := FetchRequest(11, topic, 0, 0)
	f.MaxWaitMillis, f.MinBytes = 30_000, 1
	waiting.Send(f)
	member := StartMember(t, s, Name(t, "g"), 5, 6000)
	until(t, 10*time.Second, "the member is in", func() bool { return member.Generation() > 0 })
	member.Stop()
	start := time.Now()
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the stop took %v with a fetch waiting", took)
	}
}
