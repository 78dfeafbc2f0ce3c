package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"millrace/golden"
)

var (
	brokers = []BrokerRow{
		{Broker: 1, Host: "127.0.0.1", Port: 9092, Incarnation: 0xdeadbeef, State: "up", Controller: true, Leaders: 2, Replicas: 2, Connections: 3, SizeBytes: 1536},
		{Broker: 12, Host: "fe80::1%lo", Port: 19092, Rack: "rack a", Incarnation: 1 << 63, State: "fenced", Leaders: 1, Replicas: 1, SizeBytes: 20 << 20},
	}
	topic      = TopicRow{Topic: "orders", ID: "aGVsbG8td29ybGQtMTIzNA", Partitions: 2, ReplicationFactor: 1, Records: 7, SizeBytes: 512}
	partitions = []PartitionRow{
		{Topic: "orders", Partition: 0, Leader: 1, LeaderEpoch: 0, Replicas: []int32{1}, ISR: []int32{1}, ELR: []int32{}, StartOffset: 3, HighWatermark: 10, EndOffset: 10, SizeBytes: 512},
		{Topic: "orders", Partition: 1, Leader: -1, LeaderEpoch: 4, Replicas: []int32{12, 1, 3}, ELR: []int32{1}, Adding: []int32{3}, Removing: []int32{12},
			UnderReplicated: true, LossGeneration: 2, StartOffset: 0, HighWatermark: -1, EndOffset: 0},
	}
	groups = []GroupRow{
		{Group: "billing", State: "Stable", Protocol: "range", Generation: 3, Members: 2, Coordinator: 1, Lag: 4},
		{Group: "주문 \n OK", State: "Empty", Coordinator: 12, Lag: -1},
	}
	lags = []LagRow{
		{Group: "billing", Topic: "orders", Partition: 0, CurrentOffset: 6, EndOffset: 10, Lag: 4, MemberID: "c-1-uuid", Host: "/127.0.0.1", ClientID: "my client"},
		{Group: "billing", Topic: "orders", Partition: 1, CurrentOffset: -1, EndOffset: 0, Lag: -1},
	}
	records = []RecordRow{
		{Partition: 3, Offset: 5, TimestampMs: 1764547200000, Key: []byte("user-1"), Value: []byte("hello world")},
		{Partition: 3, Offset: 6, TimestampMs: -1, Value: nil, Headers: []Header{{"trace", []byte("a=b")}, {"none", nil}}},
		{Partition: 3, Offset: 7, TimestampMs: 0, Key: []byte{}, Value: []byte("OK \"quoted\"\n한국어\tERR\\")},
		{Partition: 3, Offset: 8, TimestampMs: 1, Key: []byte("키"), Value: []byte{0xff, 0, 'a'}},
	}
	events = []WatchEvent{
		{TimeMs: 1764547200001, Event: BrokerFenced, Broker: 12, Partition: -1, Leader: -1, LeaderEpoch: -1, LossGeneration: -1},
		{TimeMs: 1764547200002, Event: NewLeader, Broker: -1, Topic: "orders", Partition: 0, Leader: 1, LeaderEpoch: 5, ISR: []int32{1, 3}},
		{TimeMs: 1764547200003, Event: NewISR, Broker: -1, Topic: "orders", Partition: 1, Leader: -1, LeaderEpoch: 6},
		{TimeMs: 1764547200004, Event: RecordsLost, Broker: -1, Topic: "or ders", Partition: 1, Leader: 3, LeaderEpoch: 7, ISR: []int32{3}, LossGeneration: 2},
	}
	answers = map[string]Answer{
		"done":           Done{"broker 3 is gone"},
		"broker_created": BrokerCreated{brokers[1]},
		"broker_gone":    BrokerGone{12, "broker 12 is dead", partitions[:1]},
		"broker_drained": BrokerGone{12, "broker 12 is drained", nil},
		"brokers":        BrokerList(brokers),
		"brokers_none":   BrokerList(nil),
		"topic_created":  TopicCreated{topic},
		"topics":         TopicList{topic, {Topic: "__consumer_offsets", ID: "-", Partitions: 50, ReplicationFactor: 1, Internal: true}},
		"topic":          TopicDescription{TopicRow: topic, Configs: []ConfigRow{{"retention.ms", "60000"}, {"cleanup.policy", ""}}, Rows: partitions},
		"produced":       Produced{"orders", 3, 5, 1764547200000},
		"records":        RecordList{records, 9, 20},
		"groups":         GroupList(groups),
		"lag":            LagReport{groups[0], lags},
		"lag_none":       LagReport{GroupRow: groups[1]},
		"status": ServerStatus{Version: "0.1.0", ClusterID: "abc", ControllerID: 1, MetadataRevision: 42, UptimeMs: 93784567, Brokers: 3, Topics: 2, Partitions: 56, OfflinePartitions: 1, UnderReplicated: 3,
			Groups: 2, Connections: 10, Goroutines: 17, RecordBytes: 1 << 30, MemoryUsedBytes: 3 << 29, MemoryMaxBytes: 4 << 30},
		"watch": WatchState{TimeMs: 1764547200123, Revision: 42, Brokers: brokers, Partitions: partitions, Groups: groups, Lags: lags, LeftOut: 9,
			Offline: 1, UnderReplicated: 2, Events: events, EventsLeftOut: 3},
		"help":     HelpText{},
		"help_one": HelpText{"LAG"},
	}
)

func TestRender(t *testing.T) {
	for name, a := range answers {
		golden.File(t, filepath.Join("testdata", name+".txt"), string(Render(nil, Text, a)))
		golden.File(t, filepath.Join("testdata", name+".json"), string(Render(nil, JSON, a)))
	}
}

// A client can tell the end of every answer, and only the end.
func TestFraming(t *testing.T) {
	states := func(e Encoding, answer []byte) (s []State) {
		if !bytes.HasSuffix(answer, []byte("\n")) {
			t.Errorf("%q doesn't end its line", answer)
		}
		for line := range bytes.Lines(answer) {
			s = append(s, Classify(bytes.TrimSuffix(line, []byte("\n"))))
			if e == JSON && !json.Valid(line) {
				t.Errorf("%s is no JSON", line)
			}
		}
		return s
	}
	check := func(name string, got []State, end State) {
		for i, s := range got {
			if last := i == len(got)-1; (s == end) != last || !last && s != Body {
				t.Errorf("%s: line %d of %d is %d", name, i+1, len(got), s)
			}
		}
	}
	for name, a := range answers {
		check(name, states(Text, Render(nil, Text, a)), Success)
		check(name, states(JSON, Render(nil, JSON, a)), Success)
		check(name, states(Text, RenderMore(nil, Text, a)), Part)
	}
	err := errors.New("topic 'x'\nexists")
	check("error", states(Text, RenderError(nil, Text, err)), Failure)
	check("error", states(JSON, RenderError(nil, JSON, err)), Failure)
	if got := string(RenderMore(nil, JSON, answers["watch"])); strings.Count(got, "\n") != 1 {
		t.Errorf("a picture is one line of JSON: %s", got)
	}
}

func TestRenderError(t *testing.T) {
	usage := &UsageError{Message: "the port is missing", Usage: "CREATE_BROKER <IP> <Port>"}
	for _, test := range []struct {
		e    Encoding
		err  error
		want string
	}{
		{Text, usage, "ERR the port is missing; usage: CREATE_BROKER <IP> <Port>\n"},
		{JSON, usage, `{"ok":false,"error":"the port is missing","usage":"CREATE_BROKER <IP> <Port>"}` + "\n"},
		{Text, errors.New("topic 'x' exists"), "ERR topic 'x' exists\n"},
		{Text, errors.New("two\nlines"), `ERR "two\nlines"` + "\n"},
		{JSON, errors.New("two\nlines"), `{"ok":false,"error":"two\nlines"}` + "\n"},
	} {
		if got := string(RenderError([]byte("before\n"), test.e, test.err)); got != "before\n"+test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// What CONSUME prints is what PRODUCE takes.
func TestRecordsComeBack(t *testing.T) {
	lines := bytes.Split(Render(nil, Text, RecordList{Records: records}), []byte("\n"))
	for i, r := range records {
		checkRoundTrip(t, r, lines[i])
	}
}

func checkRoundTrip(t *testing.T, r RecordRow, line []byte) {
	t.Helper()
	c, err := Parse(append([]byte("PRODUCE orders"), line...))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	p := c.(Produce)
	same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
	if !same(p.Key, r.Key) || !same(p.Value, r.Value) || p.Partition != r.Partition || p.TimestampMs != r.TimestampMs || len(p.Headers) != len(r.Headers) {
		t.Fatalf("%s: %+v, want %+v", line, p, r)
	}
	for i, h := range r.Headers {
		if p.Headers[i].Key != h.Key || !same(p.Headers[i].Value, h.Value) {
			t.Fatalf("%s: %+v, want %+v", line, p, r)
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"a-b_c.d,e:f/g@h+i%": "a-b_c.d,e:f/g@h+i%", "한국어키": "한국어키", "": `""`, "null": `"null"`, "a b": `"a b"`, "a=b": `"a=b"`, `"\`: `"\"\\"`, "\n\r\t": `"\n\r\t"`,
		"\x00\x7f\u0085\u2028\u200b": `"\u0000\u007f\u0085\u2028\u200b"`, "\xff\xc3": `"\xff\xc3"`, "\U000e0001": `"\U000e0001"`, "😀": `"😀"`, "\ufffd": `"�"`, "#": `"#"`, "'": `"'"`,
	} {
		if got := Quote([]byte(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := Quote(nil); got != "null" {
		t.Errorf("nil: %s", got)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{-1: "-", 0: "0", 1023: "1023", 1024: "1.0KiB", 1536: "1.5KiB", 10 << 10: "10KiB", 1 << 20: "1.0MiB", 1<<63 - 1: "8.0EiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
