package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadataAsk makes a Metadata request; topics nil is null.
func metadataAsk(version int16, create bool, topics ...string) *kmsg.MetadataRequest {
	r := kmsg.NewPtrMetadataRequest()
	r.Version, r.AllowAutoTopicCreation = version, create
	for _, name := range topics {
		one := kmsg.NewMetadataRequestTopic()
		one.Topic = &name
		r.Topics = append(r.Topics, one)
	}
	return r
}

func topicErrors(m *kmsg.MetadataResponse) map[string]int16 {
	codes := map[string]int16{}
	for _, topic := range m.Topics {
		name := "<null>"
		if topic.Topic != nil {
			name = *topic.Topic
		}
		codes[name] = topic.ErrorCode
	}
	return codes
}

// A31: an empty list, a null list and "all topics" were mixed up, and a Java AdminClient saw no topics at all.
func TestA31_MetadataNullEmptyAll(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 2)
	Leader(t, s, topic, 1)
	c, long := Dial(t, s.Bootstrap[0]), strings.Repeat("x", 250)
	newest := c.Versions()[int16(kmsg.Metadata)].MaxVersion
	for version := range newest + 1 {
		all := metadataAsk(version, false)
		if version == 0 {
			all.Topics = []kmsg.MetadataRequestTopic{}
		}
		if _, there := topicErrors(c.Do(all).(*kmsg.MetadataResponse))[topic]; !there {
			t.Errorf("v%d: a list of all lacks %s", version, topic)
		}
		if version > 0 {
			none := metadataAsk(version, false)
			none.Topics = []kmsg.MetadataRequestTopic{}
			if m := c.Do(none).(*kmsg.MetadataResponse); len(m.Topics) != 0 || len(m.Brokers) != len(s.Bootstrap) {
				t.Errorf("v%d: an empty list: %d topics, %d brokers", version, len(m.Topics), len(m.Brokers))
			}
		}
		mixed := metadataAsk(version, false, topic, "no/such", topic, long)
		got := topicErrors(c.Do(mixed).(*kmsg.MetadataResponse))
		if got[topic] != 0 || got["no/such"] != 17 || got[long] != 17 || len(got) != 3 {
			t.Errorf("v%d: known and illegal names: %v", version, got)
		}
		if version >= 4 {
			missing := Name(t, "missing")
			if got := topicErrors(c.Do(metadataAsk(version, false, missing, topic)).(*kmsg.MetadataResponse)); got[missing] != 3 || got[topic] != 0 {
				t.Errorf("v%d: missing and known: %v", version, got)
			}
		}
	}
}

// A31: by id, as clients from 2.8 on may ask.
func TestA31_MetadataByID(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 2)
	Leader(t, s, topic, 1)
	id := Metadata(t, s, topic).Topics[0].TopicID
	c := Dial(t, s.Bootstrap[0])
	for version := int16(12); version <= c.Versions()[int16(kmsg.Metadata)].MaxVersion; version++ {
		r := metadataAsk(version, false)
		for _, one := range [][16]byte{id, {1, 2, 3}} {
			ask := kmsg.NewMetadataRequestTopic()
			ask.TopicID = one
			r.Topics = append(r.Topics, ask)
		}
		m := c.Do(r).(*kmsg.MetadataResponse)
		if len(m.Topics) != 2 {
			t.Fatalf("v%d: %+v", version, m.Topics)
		}
		for _, got := range m.Topics {
			if got.TopicID == id && (got.ErrorCode != 0 || got.Topic == nil || *got.Topic != topic || len(got.Partitions) != 2) {
				t.Errorf("v%d: known id: %+v", version, got)
			}
			if got.TopicID != id && got.ErrorCode != kerr.UnknownTopicID.Code {
				t.Errorf("v%d: unknown id: error %d", version, got.ErrorCode)
			}
		}
	}
}

// A31 with the client that reported it.
func TestA31_JavaListsTopics(t *testing.T) {
	java, s := Java(t), Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	out := Run(t, Program{Args: append(java, "Cases", "list-topics", s.List())})
	if !slices.Contains(strings.Split(out.Stdout, "\n"), topic) {
		t.Errorf("%s is not in %s", topic, out.Stdout)
	}
}

// autoCreating is a server whose topics come into being with three partitions.
func autoCreating(t *testing.T) *Server {
	if External() {
		return Shared(t) // and hope that it creates topics
	}
	return Start(t, Options{Brokers: 3, Set: map[string]string{"num.partitions": "3", "auto.create.topics.enable": "true"}})
}

// A32: the first thing that a client ever does is to produce to a topic that isn't there; with auto-creation on, no error may reach the
// application.
func TestA32_FirstProduceCreatesTopic(t *testing.T) {
	s := autoCreating(t)
	produce := map[string]func(topic string) error{
		"kafka-clients": func(topic string) error {
			out, err := Program{Args: append(Java(t), "Cases", "produce", s.List(), topic, "v")}.run()
			if err == nil && strings.TrimSpace(out.Stdout) != "sent 0" {
				err = fmt.Errorf("%s%s", out.Stdout, out.Stderr)
			}
			return err
		},
		"kcat": func(topic string) error {
			out, err := Program{Args: []string{needTool(t, "kcat"), "-P", "-b", s.List(), "-t", topic}, Stdin: []byte("v\n")}.run()
			if err == nil && strings.Contains(out.Stderr, "ERROR") {
				err = fmt.Errorf("%s", out.Stderr)
			}
			return err
		},
		"kafkajs": func(topic string) error {
			out, err := Program{Args: []string{Node(t), "clients/node/cases.js", "produce", s.List(), topic, "v"}}.run()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out.Stderr)
			}
			return err
		},
		"sarama": func(topic string) error {
			p, err := sarama.NewSyncProducer(s.Bootstrap, saramaConfig(sarama.DefaultVersion))
			if err != nil {
				return err
			}
			defer p.Close()
			_, _, err = p.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("v")})
			return err
		},
		"kafka-go": func(topic string) error {
			w := &kafkago.Writer{Addr: kafkago.TCP(s.Bootstrap...), Topic: topic, AllowAutoTopicCreation: true, RequiredAcks: kafkago.RequireAll,
				BatchTimeout: 5 * time.Millisecond}
			defer w.Close()
			err := w.WriteMessages(Context(t, 20*time.Second), kafkago.Message{Value: []byte("v")})
			for errors.Is(err, kafkago.LeaderNotAvailable) || External() && errors.Is(err, kafkago.UnknownTopicOrPartition) {
				err = w.WriteMessages(Context(t, 20*time.Second), kafkago.Message{Value: []byte("v")}) // as its documentation says
			}
			return err
		},
		"franz-go": func(topic string) error {
			c := Client(t, s, kgo.AllowAutoTopicCreation())
			return c.ProduceSync(Context(t, 20*time.Second), &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr()
		},
	}
	for name, do := range produce {
		topic := Name(t, name)
		if err := do(topic); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := Metadata(t, s, topic)
		if !External() && (m.Topics[0].ErrorCode != 0 || len(m.Topics[0].Partitions) != 3) {
			t.Errorf("%s: %+v", name, m.Topics[0])
		}
	}
}

// A32: many at once must agree on one topic, and none may be told that the new topic is unknown.
func TestA32_ParallelCreation(t *testing.T) {
	kcat, s := needTool(t, "kcat"), autoCreating(t)
	const topics, writers = 20, 5
	prefix := Name(t, "t")
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for i := range topics {
				topic := fmt.Sprintf("%s-%d", prefix, i)
				out, err := Program{Args: []string{kcat, "-P", "-b", s.List(), "-t", topic, "-X", "message.timeout.ms=10000"}, Stdin: []byte("v\n")}.run()
				if err != nil || strings.Contains(out.Stderr, "ERROR") {
					t.Errorf("%s: %v %s", topic, err, out.Stderr)
				}
			}
		})
	}
	all.Wait()
	ends, err := Admin(t, s).ListEndOffsets(Context(t, 10*time.Second), func() (names []string) {
		for i := range topics {
			names = append(names, fmt.Sprintf("%s-%d", prefix, i))
		}
		return names
	}()...)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for topic, partitions := range ends {
		for _, p := range partitions {
			sums[topic] += p.Offset
		}
	}
	for topic, sum := range sums {
		if sum != writers {
			t.Errorf("%s has %d records of %d", topic, sum, writers)
		}
	}
	if len(sums) != topics {
		t.Errorf("%d topics of %d", len(sums), topics)
	}
}

// A34: a replication factor that can't be had was answered with INVALID_PARTITIONS, which sends people looking in the wrong place.
func TestA34_CreateTopicErrors(t *testing.T) {
	java, s := Java(t), Shared(t)
	want := map[string]string{
		"1:0":   "InvalidReplicationFactorException",
		"1:-2":  "InvalidReplicationFactorException",
		"1:4":   "InvalidReplicationFactorException",
		"0:1":   "InvalidPartitionsException",
		"-2:1":  "InvalidPartitionsException",
		"2:-1":  "2", // −1: the broker's default
		"-1:-1": "",  // likewise, whatever number it is
		"3:1":   "3",
	}
	args := append(java, "Cases", "create", s.List(), Name(t, "t"))
	out := Run(t, Program{Args: append(args, slices.Collect(maps.Keys(want))...)})
	lines := strings.Split(strings.TrimSpace(out.Stdout), "\n")
	if len(lines) != len(want) {
		t.Fatal(out.Stdout)
	}
	for _, line := range lines {
		size, got, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(got, want[size]) {
			t.Errorf("partitions:factor %s: %s, want %s", size, got, want[size])
		}
	}
}

// A34: assignments by hand.
func TestA34_Assignments(t *testing.T) {
	s := Shared(t)
	brokers, err := Admin(t, s).ListBrokers(Context(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	one := brokers.NodeIDs()[0]
	c := Dial(t, controller(t, s))
	for name, try := range map[string]struct {
		replicas   map[int32][]int32
		partitions int32
		factor     int16
		want       *kerr.Error
	}{
		"right":          {map[int32][]int32{0: {one}, 1: {one}}, -1, -1, nil},
		"twice the same": {map[int32][]int32{0: {one, one}}, -1, -1, kerr.InvalidReplicaAssignment},
		"unknown broker": {map[int32][]int32{0: {4711}}, -1, -1, kerr.InvalidReplicaAssignment},
		"none":           {map[int32][]int32{0: {}}, -1, -1, kerr.InvalidReplicaAssignment},
		"a gap":          {map[int32][]int32{1: {one}}, -1, -1, kerr.InvalidReplicaAssignment},
		"and a number":   {map[int32][]int32{0: {one}}, 1, -1, kerr.InvalidRequest},
		"and a factor":   {map[int32][]int32{0: {one}}, -1, 1, kerr.InvalidRequest},
	} {
		r := kmsg.NewPtrCreateTopicsRequest()
		r.Version, r.TimeoutMillis = 5, 5000
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = Name(t, strings.ReplaceAll(name, " ", "-")), try.partitions, try.factor
		for partition, replicas := range try.replicas {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = partition, replicas
			topic.ReplicaAssignment = append(topic.ReplicaAssignment, a)
		}
		r.Topics = append(r.Topics, topic)
		got := c.Do(r).(*kmsg.CreateTopicsResponse).Topics[0]
		if err := kerr.ErrorForCode(got.ErrorCode); err != error(try.want) && !(err == nil && try.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, try.want)
		}
		if got.ErrorCode == 0 && got.Configs == nil {
			t.Errorf("%s: configs are null: the Java client takes null for none only with an error", name)
		}
	}
}

// controller is the address of the broker that takes admin requests.
func controller(t testing.TB, s *Server) string {
	t.Helper()
	c := Dial(t, s.Bootstrap[0])
	defer c.Close()
	m := c.Do(metadataAsk(9, false)).(*kmsg.MetadataResponse)
	for _, b := range m.Brokers {
		if b.NodeID == m.ControllerID {
			return fmt.Sprintf("%s:%d", b.Host, b.Port)
		}
	}
	t.Fatalf("controller %d is none of %+v", m.ControllerID, m.Brokers)
	return ""
}

// A47: DeleteRecords said that a partition was unknown which was there; Kafka Streams purges its topics with it.
func TestA47_DeleteRecords(t *testing.T) {
	java, s := Java(t), Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	c := Client(t, s, kgo.DefaultProduceTopic(topic))
	for i := range 10 {
		if err := c.ProduceSync(Context(t, 10*time.Second), kgo.StringRecord(fmt.Sprint(i))).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	run := func(offsets ...string) string {
		args := append(slices.Clone(java), "Cases", "delete-records", s.List(), topic)
		return strings.Join(strings.Fields(Run(t, Program{Args: append(args, offsets...)}).Stdout), " ")
	}
	if got, want := run("5", "5", "3", "11"), "5 5 5 5 3 5 11 OffsetOutOfRangeException"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	leader := Dial(t, Leader(t, s, topic, 0))
	if p := Fetch(leader, 11, topic, 0, 4); p.ErrorCode != kerr.OffsetOutOfRange.Code {
		t.Errorf("fetch below the start: error %d", p.ErrorCode)
	}
	if p := Fetch(leader, 11, topic, 0, 5); p.ErrorCode != 0 || p.LogStartOffset != 5 {
		t.Errorf("fetch at the start: error %d, log start %d", p.ErrorCode, p.LogStartOffset)
	}
	if got, want := run("-1"), "-1 10"; got != want { // −1: all up to the high watermark
		t.Errorf("%s, want %s", got, want)
	}
	starts, err := Admin(t, s).ListStartOffsets(Context(t, 10*time.Second), topic)
	if err != nil || starts[topic][0].Offset != 10 {
		t.Errorf("earliest: %+v, %v", starts[topic][0], err)
	}
}

// A47 with the client that reported it.
func TestA47_RskafkaDeletesRecords(t *testing.T) {
	s := Shared(t)
	out := Run(t, Program{Args: []string{Rust(t), "delete-records", s.List(), Name(t, "t"), "5", "11", "-1"}})
	var got []string
	for line := range strings.Lines(out.Stdout) {
		if !strings.HasPrefix(line, "sent") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{"deleted 5", "bounds 5 10", `error 11 Server error OffsetOutOfRange with message ""`, "bounds 5 10", "deleted -1", "bounds 10 10"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A47: records of a compacted topic are not deleted by offset, and not by a broker that doesn't lead.
func TestA47_DeleteRecordsRefused(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	leader := Leader(t, s, topic, 0)
	ask := func(address, topic string) int16 {
		r := kmsg.NewPtrDeleteRecordsRequest()
		r.Version, r.TimeoutMillis = 1, 5000
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		one := kmsg.NewDeleteRecordsRequestTopic()
		one.Topic, one.Partitions = topic, append(one.Partitions, p)
		r.Topics = append(r.Topics, one)
		return Dial(t, address).Do(r).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0].ErrorCode
	}
	for _, other := range s.Bootstrap {
		if other == leader {
			continue
		}
		// Apache Kafka says NOT_LEADER only to brokers that hold a replica; either way the client asks for metadata and comes again.
		if code := ask(other, topic); code != kerr.NotLeaderForPartition.Code && code != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("not the leader: error %d", code)
		}
	}
	compacted := Name(t, "compacted")
	policy := "compact"
	if _, err := Admin(t, s).CreateTopic(Context(t, 10*time.Second), 1, 1, map[string]*string{"cleanup.policy": &policy}, compacted); err != nil {
		t.Fatal(err)
	}
	if code := ask(Leader(t, s, compacted, 0), compacted); code != kerr.PolicyViolation.Code {
		t.Errorf("compacted topic: error %d, want POLICY_VIOLATION", code)
	}
}

// A71: to look at a topic must not create it, unless the request asks for that (or is too old to say).
func TestA71_LookingDoesNotCreate(t *testing.T) {
	s := autoCreating(t)
	missing := Name(t, "missing")
	out := Run(t, Program{Args: append(Java(t), "Cases", "look", s.List(), missing)})
	if !strings.Contains(out.Stdout, "described UnknownTopicOrPartitionException") {
		t.Errorf("kafka-clients: %s", out.Stdout)
	}
	out = Run(t, Program{Args: []string{Python(t), "clients/python/cases.py", "look", s.List(), missing}})
	if !strings.Contains(out.Stdout, "UNKNOWN_TOPIC_OR_PART") {
		t.Errorf("confluent-kafka: %s", out.Stdout)
	}
	if _, err := Admin(t, s).ListTopics(Context(t, 10*time.Second), missing); err != nil {
		t.Error(err)
	}
	c := Dial(t, s.Bootstrap[0])
	for version := int16(4); version <= c.Versions()[int16(kmsg.Metadata)].MaxVersion; version++ {
		if got := topicErrors(c.Do(metadataAsk(version, false, missing)).(*kmsg.MetadataResponse)); got[missing] != 3 {
			t.Errorf("v%d: %v", version, got)
		}
	}
	if got := topicErrors(c.Do(metadataAsk(9, false)).(*kmsg.MetadataResponse)); got[missing] != 0 {
		t.Error("it was created")
	} else if _, there := got[missing]; there {
		t.Error("it was created")
	}
	for _, version := range []int16{3, 4} { // v3 has no flag
		created := Name(t, fmt.Sprint("created", version))
		c.Do(metadataAsk(version, true, created))
		until(t, 10*time.Second, "v"+fmt.Sprint(version)+" creates the topic", func() bool {
			return Metadata(t, s, created).Topics[0].ErrorCode == 0
		})
	}
}

// until polls until done; it is no sleep, the state that is waited for has no event of its own.
func until(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for !done() {
		if ctx.Err() != nil {
			t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
