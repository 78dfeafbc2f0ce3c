package e2e

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// A02: an older librdkafka takes a Produce minimum of 3 for "this broker knows no gzip, snappy or lz4" and sends uncompressed without a
// word; so 0 must be advertised, and what arrives must be compressed.
func TestA02_OldLibrdkafkaStillCompresses(t *testing.T) {
	kcat, s := needTool(t, "kcat"), Shared(t)
	c := Dial(t, s.Bootstrap[0])
	if p := c.Versions()[int16(kmsg.Produce)]; p.MinVersion != 0 {
		t.Errorf("Produce is advertised from version %d, must be 0", p.MinVersion)
	}
	for name, codec := range Codecs {
		topic := Name(t, name)
		CreateTopic(t, s, topic, 1)
		Run(t, Program{
			Args:  []string{kcat, "-P", "-b", s.List(), "-t", topic, "-p", "0", "-z", name},
			Stdin: append(bytes.Repeat([]byte("a"), 400_000), '\n'),
		})
		batches := Batches(t, FetchAll(t, s, topic, 0))
		if len(batches) == 0 {
			t.Errorf("%s: nothing arrived", name)
		}
		for _, b := range batches {
			if got := b.Attributes & 7; got != int16(codec) {
				t.Errorf("%s: stored with codec %d, sent with %d", name, got, codec)
			}
		}
	}
}

// A02, zstd's like check: a producer below version 7 can't know zstd, and a consumer might not either; so it is refused there.
func TestA02_ZstdNeedsProduce7(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	c := Dial(t, Leader(t, s, topic, 0))
	batch := NewBatch(Record{Timestamp: 1, Value: []byte("v")})
	batch.Codec = kgo.CodecZstd
	for version, want := range map[int16]int16{3: 76, 6: 76, 7: 0, 9: 0} {
		if got := Produce(c, version, topic, 0, batch.Encode(t)); got.ErrorCode != want {
			t.Errorf("v%d: error %d, want %d", version, got.ErrorCode, want)
		}
	}
}

// A03: a client that opens with an ApiVersions that we don't know must get an answer it can read (version 0's, whatever it asked for) on a
// connection that stays open, or it can never fall back.
func TestA03_UnknownApiVersionsFallsBack(t *testing.T) {
	s := Shared(t)
	newest := Dial(t, s.Bootstrap[0]).Versions()[int16(kmsg.ApiVersions)].MaxVersion
	for _, version := range []int16{newest + 1, newest + 2, 99, 32767} {
		c := Dial(t, s.Bootstrap[0])
		r := kmsg.NewPtrApiVersionsRequest()
		r.ClientSoftwareName, r.ClientSoftwareVersion = "e2e", "1"
		r.Version = version
		correlation := c.Send(r)
		frame := c.Read()
		if got := int32(binary.BigEndian.Uint32(frame)); got != correlation {
			t.Fatalf("v%d: correlation id %d, sent %d", version, got, correlation)
		}
		answer := kmsg.NewPtrApiVersionsResponse()
		answer.Version = 0
		if err := answer.ReadFrom(frame[4:]); err != nil || len(answer.AppendTo(nil)) != len(frame)-4 {
			t.Fatalf("v%d: not version 0's layout (%v): % x", version, err, frame)
		}
		own := slices.IndexFunc(answer.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == int16(kmsg.ApiVersions) })
		if answer.ErrorCode != 35 || own < 0 || answer.ApiKeys[own].MaxVersion != newest {
			t.Errorf("v%d: error %d, keys %+v; want 35 and ApiVersions 0-%d", version, answer.ErrorCode, answer.ApiKeys, newest)
		}
		if len(c.Versions()) < 10 {
			t.Errorf("v%d: the next ApiVersions on the connection fails", version)
		}
	}
}

// A03, seen from clients at their defaults: they must get as far as a list of topics.
func TestA03_NewestClientsConnect(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	if err := Client(t, s).Ping(Context(t, 5*time.Second)); err != nil {
		t.Error("franz-go:", err)
	}
	for name, args := range map[string][]string{
		"kafka-clients": append(Java(t), "Cases", "list-topics", s.List()),
		"kafka-python":  {Python(t), "clients/python/cases.py", "list-topics", s.List()},
		"kafkajs":       {Node(t), "clients/node/cases.js", "list-topics", s.List()},
		"rskafka":       {Rust(t), "list-topics", s.List()}, // A26: its client id is null
	} {
		if out := Run(t, Program{Args: args}); !slices.Contains(strings.Split(out.Stdout, "\n"), topic) {
			t.Errorf("%s does not see %s: %s", name, topic, out.Stdout)
		}
	}
}

// servedKeys are the APIs whose headers are tried in TestA26.
var servedKeys = []kmsg.Key{
	kmsg.Produce, kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.FindCoordinator, kmsg.JoinGroup,
	kmsg.Heartbeat, kmsg.LeaveGroup, kmsg.SyncGroup, kmsg.DescribeGroups, kmsg.ListGroups, kmsg.ApiVersions, kmsg.CreateTopics,
	kmsg.DeleteTopics, kmsg.DeleteRecords, kmsg.InitProducerID, kmsg.DescribeConfigs, kmsg.CreatePartitions, kmsg.DeleteGroups,
	kmsg.DescribeCluster, kmsg.ElectLeaders, kmsg.AlterPartitionAssignments, kmsg.ListPartitionReassignments, kmsg.DescribeQuorum,
	kmsg.UnregisterBroker, kmsg.OffsetForLeaderEpoch, kmsg.AlterConfigs, kmsg.IncrementalAlterConfigs, kmsg.AlterReplicaLogDirs,
	kmsg.DescribeLogDirs, kmsg.OffsetDelete, kmsg.UpdateFeatures, kmsg.ListConfigResources, kmsg.DescribeTopicPartitions,
}

// A26: a null client id crashed one broker and was refused by another; any client id is fine for any API, and none may break a log line.
func TestA26_AnyClientID(t *testing.T) {
	s := Shared(t)
	long, korean, lines, empty := strings.Repeat("x", 32767), "한글", "two\nlines\x00", ""
	for name, id := range map[string]*string{"null": nil, "empty": &empty, "long": &long, "korean": &korean, "newline": &lines} {
		c := Dial(t, s.Bootstrap[0])
		versions := c.Versions()
		c.ClientID = id
		for _, key := range servedKeys {
			served, ok := versions[int16(key)]
			if !ok {
				t.Errorf("%s is not served", key.Name())
				continue
			}
			for version := max(served.MinVersion, oldestSpoken[key]); version <= served.MaxVersion; version++ {
				r := kmsg.RequestForKey(int16(key))
				if version > r.MaxVersion() {
					break
				}
				r.SetVersion(version)
				if p, ok := r.(*kmsg.ProduceRequest); ok {
					p.Acks = -1
				}
				correlation := c.Send(r)
				if got := int32(binary.BigEndian.Uint32(c.Read())); got != correlation {
					t.Fatalf("%s: %s v%d: answer %d to request %d", name, key.Name(), version, got, correlation)
				}
			}
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(s.Log()), "\n") {
		if line != "" && !json.Valid([]byte(line)) {
			t.Errorf("a log line is broken: %q", line)
		}
	}
}

// oldestSpoken: Produce is advertised from 0 for old clients' sake, and served from 3.
var oldestSpoken = map[kmsg.Key]int16{kmsg.Produce: 3}

// A26: an empty client software name is an error to be answered, not a reason to hang up.
func TestA26_EmptySoftwareName(t *testing.T) {
	c := Dial(t, Shared(t).Bootstrap[0])
	r := kmsg.NewPtrApiVersionsRequest()
	r.Version = 3
	if code := c.Do(r).(*kmsg.ApiVersionsResponse).ErrorCode; code != 0 && code != 42 {
		t.Errorf("error %d; want none or INVALID_REQUEST", code)
	}
	if len(c.Versions()) < 10 {
		t.Error("the connection is of no use afterwards")
	}
}

// kafkaVersions are what franz-go can be pinned to, from the first with today's message format.
var kafkaVersions = map[string]*kversion.Versions{
	"0.11": kversion.V0_11_0(), "1.0": kversion.V1_0_0(), "1.1": kversion.V1_1_0(), "2.0": kversion.V2_0_0(), "2.1": kversion.V2_1_0(),
	"2.2": kversion.V2_2_0(), "2.3": kversion.V2_3_0(), "2.4": kversion.V2_4_0(), "2.5": kversion.V2_5_0(), "2.6": kversion.V2_6_0(),
	"2.7": kversion.V2_7_0(), "2.8": kversion.V2_8_0(), "3.0": kversion.V3_0_0(), "3.1": kversion.V3_1_0(), "3.2": kversion.V3_2_0(),
	"3.3": kversion.V3_3_0(), "3.4": kversion.V3_4_0(), "3.5": kversion.V3_5_0(), "3.6": kversion.V3_6_0(), "3.7": kversion.V3_7_0(),
	"3.8": kversion.V3_8_0(), "3.9": kversion.V3_9_0(), "4.0": kversion.V4_0_0(), "4.1": kversion.V4_1_0(),
	"4.2": kversion.V4_2_0(), "4.3": kversion.V4_3_0(), "4.4": kversion.V4_4_0(),
}

// A29: one version of Fetch alone had two fields in the wrong order. So a client pinned to each version of Kafka creates, produces,
// consumes in a group, commits and looks at it; the proxy reads every answer again with another decoder.
func TestA29_FranzAtEachVersion(t *testing.T) {
	s := Shared(t)
	_, bootstrap := StartProxy(t, s)
	t.Run("versions", func(t *testing.T) {
		for name, version := range kafkaVersions {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				franzAtVersion(t, &Server{Bootstrap: strings.Split(bootstrap, ",")}, version)
			})
		}
	})
}

func franzAtVersion(t *testing.T, s *Server, version *kversion.Versions) {
	topic, group, ctx := Name(t, "t"), Name(t, "g"), Context(t, 25*time.Second)
	pin := kgo.MaxVersions(version)
	admin := Admin(t, s, pin)
	if _, err := admin.CreateTopic(ctx, 2, 1, nil, topic); err != nil {
		t.Fatal("create:", err)
	}
	c := Client(t, s, pin, kgo.DefaultProduceTopic(topic), kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	for i := range 10 {
		record := kgo.StringRecord(fmt.Sprint("v", i))
		record.Headers = []kgo.RecordHeader{{Key: "h", Value: nil}}
		if err := c.ProduceSync(ctx, record).FirstErr(); err != nil {
			t.Fatal("produce:", err)
		}
	}
	var got []string
	for len(got) < 10 && ctx.Err() == nil {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal("fetch:", err)
		}
		for _, r := range fetches.Records() {
			got = append(got, string(r.Value))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9"}) {
		t.Errorf("consumed %v", got)
	}
	if err := c.CommitUncommittedOffsets(ctx); err != nil {
		t.Error("commit:", err)
	}
	if lags, err := admin.Lag(ctx, group); err != nil || lags[group].Lag.Total() != 0 || lags[group].State != "Stable" {
		t.Errorf("lag: %+v, %v", lags[group], err)
	}
	if err := c.LeaveGroupContext(ctx); err != nil {
		t.Error("leave:", err)
	}
	if deleted, err := admin.DeleteTopics(ctx, topic); err != nil || deleted[topic].Err != nil {
		t.Error("delete:", err, deleted[topic].Err)
	}
}

// A29 with sarama, whose choice of versions is another.
func TestA29_SaramaAtEachVersion(t *testing.T) {
	s := Shared(t)
	_, bootstrap := StartProxy(t, s)
	t.Run("versions", func(t *testing.T) {
		for _, version := range sarama.SupportedVersions {
			if !version.IsAtLeast(sarama.V0_11_0_0) || !strings.HasSuffix(version.String(), ".0") {
				continue
			}
			t.Run(version.String(), func(t *testing.T) {
				t.Parallel()
				saramaAtVersion(t, strings.Split(bootstrap, ","), version)
			})
		}
	})
}

func saramaConfig(version sarama.KafkaVersion) *sarama.Config {
	c := sarama.NewConfig()
	c.Version = version
	c.Producer.Return.Successes = true
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.MaxWaitTime = 100 * time.Millisecond
	c.Consumer.Return.Errors = true
	c.Net.DialTimeout, c.Net.ReadTimeout = 5*time.Second, 10*time.Second
	return c
}

func saramaAtVersion(t *testing.T, bootstrap []string, version sarama.KafkaVersion) {
	topic := Name(t, "t")
	config := saramaConfig(version)
	admin, err := sarama.NewClusterAdmin(bootstrap, config)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false); err != nil {
		t.Fatal("create:", err)
	}
	producer, err := sarama.NewSyncProducer(bootstrap, config)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for i := range 5 {
		m := &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(fmt.Sprint("v", i))}
		if _, offset, err := producer.SendMessage(m); err != nil || offset != int64(i) {
			t.Fatalf("produce: offset %d, %v", offset, err)
		}
	}
	got, err := saramaGroupRead(t, bootstrap, config, Name(t, "g"), topic, 5)
	if err != nil || fmt.Sprint(got) != "[v0 v1 v2 v3 v4]" {
		t.Errorf("consumed %v, %v", got, err)
	}
	if topics, err := admin.DescribeTopics([]string{topic}); err != nil || len(topics) != 1 || len(topics[0].Partitions) != 1 {
		t.Errorf("topics: %+v, %v", topics, err)
	}
	if err := admin.DeleteTopic(topic); err != nil {
		t.Error("delete:", err)
	}
}
