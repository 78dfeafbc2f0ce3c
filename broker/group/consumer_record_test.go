package group

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// TestConsumerRecordsAreKafkas holds the records against bytes that were made by hand from Apache Kafka's message definitions.
func TestConsumerRecordsAreKafkas(t *testing.T) {
	id := TopicID{0xaa, 0xbb}
	x := &consumer{
		id: "m", instanceID: new("i"), clientID: "c", clientHost: "/h", rebalanceTimeoutMs: 300_000, names: []string{"t", "u"},
		assignor: "range", epoch: 7, previousEpoch: 6, state: consumerUnrevoked,
		assigned: partitions{{id, 0}, {id, 2}}, revoking: partitions{{id, 1}}, target: partitions{{id, 0}},
	}
	topicID := "aabb" + strings.Repeat("00", 14)
	tests := []struct {
		r          Record
		key, value string
	}{
		{epochRecord("g", 7), "0003 0001 67", "0000 00000007 00"},
		{topicsRecord("g", map[string]Topic{"t": {"t", id, 3}}), "0004 0001 67",
			"0000 02 " + topicID + " 02 74 00000003 01 00 00"},
		{consumerMemberRecord("g", x), "0005 0001 67 0001 6d",
			"0000 02 69 00 02 63 03 2f68 03 02 74 02 75 00 000493e0 06 72616e6765 00"},
		{assignmentEpochRecord("g", 7), "0006 0001 67", "0000 00000007 00"},
		{targetRecord("g", x), "0007 0001 67 0001 6d", "0000 02 " + topicID + " 02 00000000 00 00"},
		{currentAssignmentRecord("g", x), "0008 0001 67 0001 6d", "0000 00000007 00000006 02 02 " + topicID +
			" 03 00000000 00000002 00 02 " + topicID + " 02 00000001 00 00"},
	}
	for _, test := range tests {
		if want := unhex(t, test.key); !bytes.Equal(test.r.Key, want) {
			t.Errorf("key %x, want %x", test.r.Key, want)
		}
		if want := unhex(t, test.value); !bytes.Equal(test.r.Value, want) {
			t.Errorf("value %x, want %x", test.r.Value, want)
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLoadConsumers: what Kafka writes and we don't is read over; what can't be read leaves nothing behind.
func TestLoadConsumers(t *testing.T) {
	m := New(DefaultConfig())
	racks := unhex(t, "0000 02 00112233445566778899aabbccddeeff 02 74 00000001 02 00000000 02 02 72 00 00 00")
	if err := m.Load(consumerKey(keyTopics, "g"), racks); err != nil || m.groups["g"].consumer.topics["t"].Partitions != 1 {
		t.Errorf("topics with racks: %v, %+v", err, m.groups["g"])
	}
	classic := unhex(t, "0000 00 00 01 01 01 00 000493e0 00 01 00 05 0102030405") // with ClassicMemberMetadata
	if err := m.Load(memberKey(keyConsumer, "g", "m"), classic); err != nil || m.groups["g"].consumer.byID["m"] == nil {
		t.Errorf("a member with tagged fields: %v", err)
	}
	m = New(DefaultConfig())
	for _, kind := range []uint16{keyConsumerGroup, keyTopics, keyConsumer, keyAssignmentEpoch, keyTarget, keyCurrentAssignment} {
		key := consumerKey(kind, "g")
		if kind == keyConsumer || kind >= keyTarget {
			key = memberKey(kind, "g", "m")
		}
		for _, value := range []string{"", "0001 00000001 00", "0000", "0000 ffffffff0f"} {
			if err := m.Load(key, unhex(t, value)); err == nil {
				t.Errorf("Load(%x, %s) succeeded", key, value)
			}
		}
		if err := m.Load(key, nil); err != nil {
			t.Errorf("tombstone of %x: %v", key, err)
		}
	}
	if m.Groups() != 0 {
		t.Errorf("%d groups were made of records that can't be read", m.Groups())
	}
	bad := consumerMemberRecord("g", &consumer{id: "m", pattern: &pattern{text: "a["}})
	if err := m.Load(bad.Key, bad.Value); err == nil {
		t.Error("a regular expression that is none was loaded")
	}
}

// FuzzConsumerRecords: a log of any records of one group makes no machine panic, neither when it is loaded nor in what follows;
// what was loaded can be written and loaded again.
func FuzzConsumerRecords(f *testing.F) {
	x := &consumer{id: "m", instanceID: new("i"), clientID: "c", names: []string{"t"}, pattern: &pattern{text: "t.*"}, epoch: 7,
		state: consumerUnrevoked, assigned: partitions{{TopicID{1}, 0}}, revoking: partitions{{TopicID{1}, 1}}}
	var log []byte
	for _, r := range []Record{epochRecord("g", 7), topicsRecord("g", map[string]Topic{"t": {"t", TopicID{1}, 3}}),
		consumerMemberRecord("g", x), assignmentEpochRecord("g", 7), targetRecord("g", x), currentAssignmentRecord("g", x)} {
		f.Add(appendFuzz(nil, r))
		log = appendFuzz(log, r)
		log = appendFuzz(log, Record{Key: r.Key})
	}
	f.Add(log)
	f.Fuzz(func(t *testing.T, b []byte) {
		m := New(DefaultConfig())
		for len(b) >= 2 {
			kind, n := b[0]%7+2, int(b[1])
			n = min(n, len(b)-2)
			value := b[2 : 2+n]
			if b = b[2+n:]; n == 0 {
				value = nil
			}
			key := consumerKey(uint16(kind), "g")
			if kind == keyConsumer || kind >= keyTarget {
				key = memberKey(uint16(kind), "g", string('m'+rune(n%2)))
			}
			m.Load(key, value)
		}
		m.Step(&TopicsChanged{View: testTopics{}.with("t", 2)})
		m.Step(&Loaded{Head{NowMs: 1}})
		other := New(DefaultConfig())
		for r := range m.Snapshot {
			if err := other.Load(r.Key, r.Value); err != nil {
				t.Fatal(err)
			}
		}
		other.Step(&Loaded{Head{NowMs: 1}})
		describe := &DescribeConsumer{GroupID: "g"}
		if before, after := showEffect(one(m.Step(describe))), showEffect(one(other.Step(describe))); before != after {
			t.Errorf("before %s, after %s", before, after)
		}
		m.Step(&ConsumerHeartbeat{Head: Head{NowMs: 2}, GroupID: "g", MemberID: "n", RebalanceTimeoutMs: 5, NamesGiven: true,
			Names: []string{"t"}, OwnedGiven: true})
		m.Step(&Tick{Head{NowMs: 1 << 50}})
		m.Step(&Unload{})
	})
}

// appendFuzz is a record as the fuzz target reads it: kind, length of the value, value.
func appendFuzz(b []byte, r Record) []byte {
	b = append(b, r.Key[1]-2, byte(len(r.Value)))
	return append(b, r.Value...)
}
