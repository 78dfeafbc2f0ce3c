package txn

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func sample() values {
	return values{producerID: 7, prevProducerID: 5, nextProducerID: 9, epoch: 3, lastEpoch: None, timeoutMs: 60_000,
		state: PrepareCommit, partitions: []Partition{{"a", 0}, {"a", 2}, {"b", 1}}, startMs: 100, updateMs: 200, version: 2}
}

// What we write, in bytes: they are Kafka's, and must not change.
func TestRecordBytes(t *testing.T) {
	v := sample()
	r := record("id", &v)
	key := []byte("\x00\x00\x00\x02id")
	value := []byte("\x00\x01" + "\x00\x00\x00\x00\x00\x00\x00\x07" + "\x00\x03" + "\x00\x00\xea\x60" + "\x02" +
		"\x03" + "\x02a" + "\x03\x00\x00\x00\x00\x00\x00\x00\x02" + "\x00" + "\x02b" + "\x02\x00\x00\x00\x01" + "\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\xc8" + "\x00\x00\x00\x00\x00\x00\x00\x64" +
		"\x03" + "\x00\x08\x00\x00\x00\x00\x00\x00\x00\x05" + "\x01\x08\x00\x00\x00\x00\x00\x00\x00\x09" + "\x02\x02\x00\x02")
	if !bytes.Equal(r.Key, key) || !bytes.Equal(r.Value, value) {
		t.Errorf("got %q\n%q, want\n%q", r.Key, r.Value, value)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	empty := values{producerID: 1, prevProducerID: None, nextProducerID: None, lastEpoch: None, timeoutMs: 5, startMs: -1}
	for _, want := range []values{sample(), empty} {
		r := record("id", &want)
		id, err := parseKey(r.Key)
		if err != nil || id != "id" {
			t.Fatal(id, err)
		}
		got, err := parseValue(r.Value)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

// Version 0 as another implementation writes it.
func TestReadsVersion0(t *testing.T) {
	k := kmsg.NewTxnMetadataKey()
	k.TransactionalID = "old"
	v := kmsg.NewTxnMetadataValue()
	v.ProducerID, v.ProducerEpoch, v.TimeoutMillis = 4, 2, 1000
	v.State = kmsg.TransactionStateOngoing
	topic := kmsg.NewTxnMetadataValueTopic()
	topic.Topic, topic.Partitions = "t", []int32{3, 1}
	v.Topics = append(v.Topics, topic)
	v.LastUpdateTimestamp, v.StartTimestamp = 20, 10
	m := New(DefaultConfig())
	if err := m.Load(k.AppendTo(nil), v.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	want := values{producerID: 4, prevProducerID: None, nextProducerID: None, epoch: 2, lastEpoch: None, timeoutMs: 1000,
		state: Ongoing, partitions: []Partition{{"t", 1}, {"t", 3}}, startMs: 10, updateMs: 20}
	if got := m.byID["old"].values; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBadRecords(t *testing.T) {
	m := New(DefaultConfig())
	v := sample()
	r := record("id", &v)
	if err := m.Load([]byte("\x00\x01\x00\x02id"), r.Value); !errors.Is(err, ErrUnknownRecord) {
		t.Error("a key of a later version:", err)
	}
	for n := range r.Value {
		if err := m.Load(r.Key, r.Value[:n]); !errors.Is(err, ErrCorruptRecord) {
			t.Errorf("%d bytes of the value: %v", n, err)
		}
	}
	for n := range r.Key {
		if err := m.Load(r.Key[:n], r.Value); !errors.Is(err, ErrCorruptRecord) {
			t.Errorf("%d bytes of the key: %v", n, err)
		}
	}
	if m.Transactions() != 0 {
		t.Error("something was loaded")
	}
}

// FuzzLoad: whatever is in the log, the machine doesn't fall, and what it has loaded it can write and load again.
func FuzzLoad(f *testing.F) {
	v := sample()
	r := record("id", &v)
	f.Add(r.Key, r.Value)
	v = values{producerID: 1, prevProducerID: None, nextProducerID: None, state: Empty, startMs: -1}
	r = record("empty", &v)
	f.Add(r.Key, r.Value)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		m := New(DefaultConfig())
		if m.Load(key, value) != nil {
			return
		}
		again := New(DefaultConfig())
		for r := range m.Snapshot {
			if err := again.Load(r.Key, r.Value); err != nil {
				t.Fatalf("%+v: %v", m.sorted()[0], err)
			}
		}
		for _, m := range []*Machine{m, again} {
			m.Step(&Loaded{})
			for range 3 {
				if m.NextDeadline() == never {
					break
				}
				m.Step(&Tick{Head{NowMs: m.NextDeadline()}})
			}
		}
	})
}
