package group

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The same records through somebody else's codec.

func TestOffsetRecordIsKafkas(t *testing.T) {
	tests := []struct {
		w       offsetWrite
		version int16
	}{
		{offsetWrite{topic: "t", partition: 3, value: offset{7, 5, "한글", 1000, -1, 0}}, 3},
		{offsetWrite{topic: "t", partition: 3, value: offset{7, -1, "", 1000, 2000, 0}}, 1},
		{offsetWrite{topic: "t", partition: -1, remove: true}, -1},
	}
	for _, test := range tests {
		r := offsetRecord("g", test.w)
		k := kmsg.NewOffsetCommitKey()
		if err := k.ReadFrom(r.Key); err != nil || k.Version != 1 || k.Group != "g" || k.Topic != "t" || k.Partition != test.w.partition {
			t.Errorf("key of %+v reads as %+v, %v", test.w, k, err)
		}
		if test.w.remove {
			if r.Value != nil {
				t.Errorf("tombstone has a value of %d bytes", len(r.Value))
			}
			continue
		}
		v, o := kmsg.NewOffsetCommitValue(), test.w.value
		v.Version, v.Offset, v.LeaderEpoch, v.Metadata, v.CommitTimestamp, v.ExpireTimestamp = test.version, o.offset,
			o.leaderEpoch, o.metadata, o.committedMs, o.expiresMs
		if want := v.AppendTo(nil); !bytes.Equal(r.Value, want) {
			t.Errorf("value of %+v is %x, want %x", test.w, r.Value, want)
		}
		if back, err := parseOffset(r.Value); err != nil || back != test.w.value {
			t.Errorf("parseOffset = %+v, %v, want %+v", back, err, test.w.value)
		}
	}
}

func testGroup() *Group {
	g := newGroup("g", 1234)
	g.add(&member{id: "a-1", clientID: "a", clientHost: "/1.1.1.1", sessionTimeoutMs: 6000, rebalanceTimeoutMs: 7000,
		protocolType: "consumer", protocols: []Protocol{{"range", []byte("meta")}}, assignment: []byte("x")})
	g.add(&member{id: "i-2", instanceID: new("i"), clientID: "", clientHost: "/::1", sessionTimeoutMs: 8000,
		rebalanceTimeoutMs: 9000, protocolType: "consumer", protocols: []Protocol{{"range", []byte{}}}, assignment: []byte{}})
	g.protocolName = new("range")
	g.generation, g.state = 5, Stable
	return g
}

func TestGroupRecordIsKafkas(t *testing.T) {
	r := testGroup().record()
	k := kmsg.NewGroupMetadataKey()
	if err := k.ReadFrom(r.Key); err != nil || k.Version != 2 || k.Group != "g" {
		t.Fatalf("key %+v, %v", k, err)
	}
	want := kmsg.NewGroupMetadataValue()
	want.Version, want.ProtocolType, want.Generation = 3, "consumer", 5
	want.Protocol, want.Leader, want.CurrentStateTimestamp = new("range"), new("a-1"), 1234
	a, b := kmsg.NewGroupMetadataValueMember(), kmsg.NewGroupMetadataValueMember()
	a.MemberID, a.ClientID, a.ClientHost, a.RebalanceTimeoutMillis, a.SessionTimeoutMillis = "a-1", "a", "/1.1.1.1", 7000, 6000
	a.Subscription, a.Assignment = []byte("meta"), []byte("x")
	b.MemberID, b.InstanceID, b.ClientHost, b.RebalanceTimeoutMillis, b.SessionTimeoutMillis = "i-2", new("i"), "/::1", 9000, 8000
	b.Subscription, b.Assignment = []byte{}, []byte{}
	want.Members = append(want.Members, a, b)
	if want := want.AppendTo(nil); !bytes.Equal(r.Value, want) {
		t.Errorf("value is %x, want %x", r.Value, want)
	}
}

// TestOldVersions reads what older and newer Kafkas have written.
func TestOldVersions(t *testing.T) {
	for version := int16(0); version <= 4; version++ {
		o := kmsg.NewOffsetCommitValue()
		o.Version, o.Offset, o.LeaderEpoch, o.Metadata, o.CommitTimestamp, o.ExpireTimestamp = version, 7, 5, "note", 1000, 2000
		want := offset{7, -1, "note", 1000, -1, 0}
		if version >= 3 {
			want.leaderEpoch = 5
		}
		if version == 1 {
			want.expiresMs = 2000
		}
		if version < 4 { // kmsg knows no flexible one
			if got, err := parseOffset(o.AppendTo(nil)); err != nil || got != want {
				t.Errorf("offset version %d = %+v, %v, want %+v", version, got, err, want)
			}
		}
		v := kmsg.NewGroupMetadataValue()
		v.Version, v.ProtocolType, v.Generation, v.Protocol, v.Leader = min(version, 3), "consumer", 5, new("range"), new("m")
		x := kmsg.NewGroupMetadataValueMember()
		x.MemberID, x.RebalanceTimeoutMillis, x.SessionTimeoutMillis = "m", 7000, 6000
		v.Members = append(v.Members, x)
		got, err := parseGroup(v.AppendTo(nil))
		if err != nil || got.generation != 5 || len(got.members) != 1 {
			t.Errorf("group version %d = %+v, %v", version, got, err)
		}
		if wantMs := int32(7000); version == 0 && got.members[0].rebalanceTimeoutMs != 6000 ||
			version > 0 && got.members[0].rebalanceTimeoutMs != wantMs {
			t.Errorf("group version %d has rebalance timeout %d", version, got.members[0].rebalanceTimeoutMs)
		}
	}
	flexible := []byte{0, 4, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 5, 5, 'n', 'o', 't', 'e', 0, 0, 0, 0, 0, 0, 3, 232, 1, 0, 2, 9, 9}
	if got, err := parseOffset(flexible); err != nil || got != (offset{7, 5, "note", 1000, -1, 0}) {
		t.Errorf("flexible offset = %+v, %v", got, err)
	}
}

func TestLoadSkips(t *testing.T) {
	m := New(DefaultConfig())
	good := testGroup().record()
	tests := []struct {
		key, value []byte
		want       error
	}{
		{nil, nil, ErrCorruptRecord},
		{[]byte{0, 9, 0, 1, 'g'}, nil, ErrUnknownRecord},
		{[]byte{0xff, 0xff}, nil, ErrUnknownRecord},
		{good.Key, good.Value[:len(good.Value)-1], ErrCorruptRecord},
		{good.Key, []byte{0, 5}, ErrCorruptRecord},
		{good.Key, []byte{}, ErrCorruptRecord},
		{offsetRecord("g", offsetWrite{topic: "t", remove: true}).Key, []byte{0, 3}, ErrCorruptRecord},
		{good.Key, nil, nil},
		{good.Key, good.Value, nil},
	}
	for _, test := range tests {
		if err := m.Load(test.key, test.value); !errors.Is(err, test.want) {
			t.Errorf("Load(%x, %x) = %v, want %v", test.key, test.value, err, test.want)
		}
	}
	if m.Groups() != 1 {
		t.Errorf("%d groups", m.Groups())
	}
}

// What no coordinator has written may still be in a log. What is taken from it can be written again.
func TestLoadOddGroups(t *testing.T) {
	g := testGroup()
	g.leader = "a-1"
	good := g.record().Value
	leader := bytes.Index(good, []byte("a-1")) - 2
	stranger := slices.Concat(good[:leader], []byte{0, 1, 'x'}, good[leader+5:])
	nobody := slices.Concat(good[:leader], []byte{0, 0}, good[leader+5:])
	for name, value := range map[string][]byte{"a leader that is no member": stranger, "an empty leader": nobody} {
		m, other := New(DefaultConfig()), New(DefaultConfig())
		if err := m.Load(groupKey("g"), value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for r := range m.Snapshot {
			if err := other.Load(r.Key, r.Value); err != nil {
				t.Errorf("%s: what was loaded is written as %v", name, err)
			}
		}
		if got := other.groups["g"]; got == nil || got.leader != "a-1" || len(got.members) != 2 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	long := []byte{0, 4} // flexible, where strings have no bound of their own
	long = binary.AppendUvarint(long, maxString+2)
	long = append(long, make([]byte, maxString+1)...)
	if err := New(DefaultConfig()).Load(groupKey("g"), append(long, make([]byte, 40)...)); !errors.Is(err, ErrCorruptRecord) {
		t.Errorf("a string that can't be written back: %v", err)
	}
	unnamed := bytes.Replace(good, []byte("\x00\x03a-1\xff\xff"), []byte("\x00\x00\xff\xff"), 1)
	if err := New(DefaultConfig()).Load(groupKey("g"), unnamed); !errors.Is(err, ErrCorruptRecord) {
		t.Errorf("a member without an id: %v", err)
	}
}

// FuzzLoad: no bytes make a machine panic, neither when they are loaded nor in what follows; what was loaded can be written
// and loaded again.
func FuzzLoad(f *testing.F) {
	g := testGroup().record()
	f.Add(g.Key, g.Value)
	f.Add(g.Key, []byte(nil))
	o := offsetRecord("g", offsetWrite{topic: "t", value: offset{7, 5, "note", 1000, -1, 0}})
	f.Add(o.Key, o.Value)
	o = offsetRecord("g", offsetWrite{topic: "t", value: offset{7, 5, "note", 1000, 9, 0}})
	f.Add(o.Key, o.Value)
	f.Add([]byte{0, 2, 0, 1, 'g'}, []byte{0, 4, 9, 'c', 'o', 'n', 's', 'u', 'm', 'e', 'r', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		m := New(DefaultConfig())
		if err := m.Load(key, value); err != nil {
			return
		}
		m.Step(&Loaded{Head{NowMs: 1}})
		other, n := New(DefaultConfig()), 0
		for r := range m.Snapshot {
			n++
			if err := other.Load(r.Key, r.Value); err != nil {
				t.Fatal(err)
			}
		}
		before, after := showEffect(one(m.Step(&Describe{GroupID: "g"}))), showEffect(one(other.Step(&Describe{GroupID: "g"})))
		if n > 0 && before != after {
			t.Errorf("before %s, after %s", before, after)
		}
		m.Step(&Tick{Head{NowMs: 1 << 50}})
		m.Step(&Unload{})
	})
}

func FuzzSubscribedTopics(f *testing.F) {
	f.Add(subscription("a", "b"))
	f.Add([]byte{0, 0, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		topics, _ := subscribedTopics(b)
		if len(topics) > len(b)/2 {
			t.Fatal("more topics than bytes")
		}
	})
}
