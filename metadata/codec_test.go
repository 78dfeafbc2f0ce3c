package metadata

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	someID     = TopicID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	someBroker = &Broker{
		ID: 7, Incarnation: 0x0102030405060708, Rack: "r1",
		Endpoints: []Endpoint{{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}, {"X", "::1", 65535, "SSL"}},
	}
	somePartition = Partition{
		Leader: 3, LeaderEpoch: 300, PartitionEpoch: 1, LossGeneration: 2, MinInSync: 2, BaseOffset: 5, OffsetCeiling: 1000,
		Replicas: []int32{3, 1, 4}, ISR: []int32{3}, ISRIncarnations: []uint64{0x1112131415161718},
		ELR: []int32{1}, ELRIncarnations: []uint64{7}, Adding: []int32{4}, Removing: []int32{1},
	}
)

// TestValuesAsStored freezes the bytes: a store outlives the release that wrote
// it. A change here needs a new version of the value, not a new expectation.
func TestValuesAsStored(t *testing.T) {
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"cluster", encodeCluster("abc"), "01 03 616263"},
		{"producer ids", encodeProducerIDs(3000), "01 b817"},
		{"broker", encodeBroker(someBroker), "02 01 0807060504030201 02 7231 02" +
			"09 504c41494e54455854 09 3132372e302e302e31 8447 09 504c41494e54455854" +
			"01 58 03 3a3a31 ffff03 03 53534c 00"},
		{"broker fenced", encodeBroker(&Broker{ID: 1, Incarnation: 1, Fenced: true}), "02 01 0100000000000000 00 00 01"},
		{"broker draining", encodeBroker(&Broker{ID: 1, Incarnation: 1, Draining: true}), "02 01 0100000000000000 00 00 02"},
		{"broker gone", encodeBrokerGone(), "01 00"},
		{"alive", encodeAlive(0x0102030405060708), "01 0807060504030201"},
		{"controller", encodeController("a", 0x0102030405060708), "01 0807060504030201 01 61"},
		{"topic", encodeTopic(someID, []Partition{fresh(1, 2), fresh(2)}, []Partition{NewPartition([]int32{300, 1}, []uint64{0, 9}, 1)}),
			"02 0102030405060708090a0b0c0d0e0f10 03 01 0900000000000000 02 0900000000000000 ac02 0000000000000000" +
				"03 02 02 00 01 02 01 01 01 02 02 00"},
		{"partition", encodePartition(&somePartition), "02 06 ac02 01 02 02 05 e807 03 03 01 04" +
			"01 03 1817161514131211 01 01 0700000000000000 01 04 01 01"},
		{"partition offline", encodePartition(&Partition{Leader: NoBroker, Replicas: []int32{1}}), "02 01 00 00 00 00 00 00 01 01 00 00 00 00"},
		{"configs", encodeConfigs(map[string]string{"b": "2", "a": ""}), "01 02 01 61 00 01 62 01 32"},
		{"no configs", encodeConfigs(nil), "01 00"},
	}
	for _, test := range tests {
		want, err := hex.DecodeString(strings.ReplaceAll(test.want, " ", ""))
		if err != nil {
			t.Fatal(test.name, err)
		}
		if !bytes.Equal(test.got, want) {
			t.Errorf("%s is stored as %x, want %x", test.name, test.got, want)
		}
	}
}

// TestOldVersions: what the release before wrote is read. It knew no lives, so
// nobody who was in sync then is taken to be.
func TestOldVersions(t *testing.T) {
	value := func(text string) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	br, err := decodeBroker(7, value("01 01 0807060504030201 02 7231 02"+
		"09 504c41494e54455854 09 3132372e302e302e31 8447 09 504c41494e54455854 01 58 03 3a3a31 ffff03 03 53534c"))
	if diff := cmp.Diff(someBroker, br); diff != "" || err != nil {
		t.Errorf("broker: %v\n%s", err, diff)
	}
	topic, err := decodeTopic("t", value("01 0102030405060708090a0b0c0d0e0f10 02 02 01 02 01 ac02"))
	want := []Partition{
		{Leader: NoBroker, OffsetCeiling: OffsetCeilingStep, Replicas: []int32{1, 2}},
		{Leader: NoBroker, OffsetCeiling: OffsetCeilingStep, Replicas: []int32{300}},
	}
	if diff := cmp.Diff(want, topic.Partitions); diff != "" || err != nil {
		t.Errorf("topic: %v\n%s", err, diff)
	}
	p, err := decodePartition(value("01 06 ac02 01 02 02 03 01 01 03"))
	if diff := cmp.Diff(Partition{
		Leader: 3, LeaderEpoch: 300, PartitionEpoch: 1, LossGeneration: 2, OffsetCeiling: OffsetCeilingStep,
		Replicas: []int32{3, 1}, ISR: []int32{3}, ISRIncarnations: []uint64{0},
	}, p); diff != "" || err != nil {
		t.Errorf("partition: %v\n%s", err, diff)
	}
	img := Empty().Apply(BrokerRegistered{&Broker{ID: 3, Incarnation: 5}})
	if img.LeaderOf(&p) != NoBroker || !img.Void(p.ISRMembers()[0]) {
		t.Error("a member of no life counts")
	}
}

func TestKeysAsStored(t *testing.T) {
	tests := []struct{ got, want string }{
		{brokerKey(12), "brokers/12"},
		{aliveKey(12), "alive/12"},
		{keyController, "controller"},
		{topicKey("a.b"), "topics/a.b"},
		{configKey(someID), "configs/topics/AQIDBAUGBwgJCgsMDQ4PEA"},
		{partitionKey(someID, 3), "partitions/AQIDBAUGBwgJCgsMDQ4PEA/3"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("key %q, want %q", test.got, test.want)
		}
	}
	if id, index, ok := parsePartitionKey(partitionKey(someID, 3)); !ok || id != someID || index != 3 {
		t.Errorf("parsePartitionKey = %v, %d, %v", id, index, ok)
	}
}

func TestMalformedValues(t *testing.T) {
	broker := func(b []byte) error { _, err := decodeBroker(1, b); return err }
	topic := func(b []byte) error { _, err := decodeTopic("t", b); return err }
	partition := func(b []byte) error { _, err := decodePartition(b); return err }
	configs := func(b []byte) error { _, err := decodeConfigs(b); return err }
	cluster := func(b []byte) error { _, err := decodeCluster(b); return err }
	ids := func(b []byte) error { _, err := decodeProducerIDs(b); return err }
	alive := func(b []byte) error { _, err := decodeAlive(b); return err }
	controller := func(b []byte) error { _, err := decodeController(b); return err }
	id := string(someID[:])
	tests := []struct {
		name   string
		decode func([]byte) error
		value  string
	}{
		{"nothing", cluster, ""},
		{"other version", cluster, "\x02\x00"},
		{"string longer than the value", cluster, "\x01\x05abc"},
		{"something follows", cluster, "\x01\x01ab"},
		{"negative counter", ids, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		{"endless varint", ids, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
		{"neither here nor gone", broker, "\x01\x02"},
		{"cut incarnation", broker, "\x01\x01abc"},
		{"port", broker, "\x01\x0112345678\x00\x01\x00\x00\x80\x80\x04\x00"},
		{"gone with something", broker, "\x01\x00\x00"},
		{"a billion endpoints", broker, "\x01\x0112345678\x00\xff\xff\xff\xff\x03"},
		{"flags", broker, "\x02\x0112345678\x00\x00\x04"},
		{"version 3", broker, "\x03\x0112345678\x00\x00\x00"},
		{"version 0", broker, "\x00\x0112345678\x00\x00"},
		{"no id", topic, "\x01abc"},
		{"zero id", topic, "\x01" + strings.Repeat("\x00", 16) + "\x01\x01\x01"},
		{"no partitions", topic, "\x01" + id + "\x00"},
		{"a billion partitions", topic, "\x01" + id + "\xff\xff\xff\xff\x03\x01\x01"},
		{"a billion members", topic, "\x02" + id + "\xff\xff\xff\xff\x03\x01\x01"},
		{"partition without replicas", topic, "\x01" + id + "\x01\x00\x00"},
		{"replica id over 31 bits", topic, "\x01" + id + "\x01\x01\xff\xff\xff\xff\x0f"},
		{"member that isn't there", topic, "\x02" + id + "\x01\x0112345678\x01\x01\x01\x01"},
		{"leader −2", partition, "\x01\x03\x00\x00\x00\x01\x01\x00"},
		{"no replicas", partition, "\x01\x01\x00\x00\x00\x00\x00"},
		{"cut", partition, "\x01\x01\x00"},
		{"cut member", partition, "\x02\x02\x00\x00\x00\x00\x00\x00\x01\x01\x01\x01abc"},
		{"nothing but a version", partition, "\x01"},
		{"alive in no life", alive, "\x01" + strings.Repeat("\x00", 8)},
		{"controller without a token", controller, "\x01" + strings.Repeat("\x00", 8) + "\x01a"},
		{"setting twice", configs, "\x01\x02\x01a\x00\x01a\x00"},
		{"a billion settings", configs, "\x01\xff\xff\xff\xff\x03"},
	}
	for _, test := range tests {
		if err := test.decode([]byte(test.value)); !errors.Is(err, errValue) {
			t.Errorf("%s: error %v, want %v", test.name, err, errValue)
		}
	}
}

// TestLyingLengthsAllocateNothing: what a value claims costs only what it brings.
func TestLyingLengthsAllocateNothing(t *testing.T) {
	lie := append([]byte{topicVersion}, someID[:]...)
	lie = append(lie, 0, 0xff, 0xff, 0xff, 0xff, 0x07, 1, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		_, _ = decodeTopic("t", lie)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / 100; n > 1024 {
		t.Errorf("a value of %d bytes made decodeTopic allocate %d", len(lie), n)
	}
}

func TestNegativeNumbersAreNotStored(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a negative epoch was stored")
		}
	}()
	encodePartition(&Partition{Leader: 1, LeaderEpoch: -1, Replicas: []int32{1}})
}

// FuzzValues: any bytes are refused or decode to something that encodes and
// decodes to itself.
func FuzzValues(f *testing.F) {
	f.Add(encodeCluster("abc"))
	f.Add(encodeProducerIDs(math.MaxInt64))
	f.Add(encodeBroker(someBroker))
	f.Add(encodeBrokerGone())
	f.Add(encodeTopic(someID, []Partition{fresh(1, 2, 3), fresh(4)}))
	f.Add(encodePartition(&somePartition))
	f.Add(encodeTopic(someID, []Partition{NewPartition([]int32{1, 1}, []uint64{0, 5}, 1)}))
	f.Add([]byte("\x01\x06\xac\x02\x01\x02\x02\x03\x01\x01\x03"))
	f.Add(encodeAlive(1))
	f.Add(encodeController("a", 1))
	f.Add(encodeConfigs(map[string]string{"retention.ms": "1", "cleanup.policy": "compact"}))
	f.Fuzz(func(t *testing.T, value []byte) {
		again(t, value, decodeCluster, encodeCluster)
		again(t, value, decodeProducerIDs, encodeProducerIDs)
		again(t, value, decodeConfigs, encodeConfigs)
		again(t, value, decodeAlive, encodeAlive)
		again(t, value, decodeController, func(d ControllerElected) []byte { return encodeController(d.Name, d.Token) })
		again(t, value, decodePartition, func(p Partition) []byte { return encodePartition(&p) })
		again(t, value, func(b []byte) (*Topic, error) { return decodeTopic("t", b) },
			func(topic *Topic) []byte { return encodeTopic(topic.ID, topic.Partitions) })
		again(t, value, func(b []byte) (*Broker, error) { return decodeBroker(1, b) }, func(b *Broker) []byte {
			if b == nil {
				return encodeBrokerGone()
			}
			return encodeBroker(b)
		})
	})
}

func again[T any](t *testing.T, value []byte, decode func([]byte) (T, error), encode func(T) []byte) {
	t.Helper()
	v, err := decode(value)
	if err != nil {
		return
	}
	w, err := decode(encode(v))
	if err != nil {
		t.Fatalf("%x decodes to %+v, which is stored as something that doesn't decode: %v", value, v, err)
	}
	if diff := cmp.Diff(v, w); diff != "" {
		t.Fatalf("%x: stored and read again (-first +second):\n%s", value, diff)
	}
}

// FuzzReplay: whatever a store holds, an image comes of it, and its watch
// leads to the same image as listing it.
func FuzzReplay(f *testing.F) {
	f.Add("topics/a", encodeTopic(someID, []Partition{fresh(1)}), "partitions/"+someID.String()+"/0", encodePartition(&somePartition))
	f.Add("topics/a", encodeTopic(someID, []Partition{fresh(1)}), "configs/topics/"+someID.String(), encodeConfigs(map[string]string{"a": "b"}))
	f.Add("topics/a", encodeTopic(someID, []Partition{fresh(1)}), "topics/b", encodeTopic(someID, []Partition{fresh(1)}))
	f.Add("brokers/1", encodeBroker(someBroker), "brokers/1", encodeBrokerGone())
	f.Add("partitions/x/0", []byte{}, "brokers/-1", []byte{})
	f.Add("producer-ids", encodeProducerIDs(5), "cluster", encodeCluster("c"))
	f.Add("alive/1", encodeAlive(5), "controller", encodeController("c", 1))
	f.Fuzz(func(t *testing.T, key1 string, value1 []byte, key2 string, value2 []byte) {
		one := Event{Key: key1, Value: value1, Revision: 1}
		two := Event{Key: key2, Value: value2, Revision: 1}
		both, deltas, _ := Empty().Replay(Batch{Revision: 1, Events: []Event{one, two}})
		if img := Empty().Apply(deltas...); img.TopicCount() != both.TopicCount() || len(img.Brokers()) != len(both.Brokers()) {
			t.Errorf("the deltas %v don't lead to the image", deltas)
		}
		two.Revision = 2
		next, _, _ := Empty().Replay(Batch{Revision: 2, Events: []Event{one, two}})
		gone, _, _ := next.Replay(Batch{Revision: 4, Events: []Event{
			{Key: key1, Deleted: true, Revision: 3}, {Key: key2, Deleted: true, Revision: 4},
		}})
		if n := gone.TopicCount(); n != 0 {
			t.Errorf("%d topics are left of nothing", n)
		}
		Load([]KeyValue{{key1, value1, 1}, {key2, value2, 2}}, 2)
	})
}
