package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// What kmsg encodes, Decode takes, to the same bytes again, for every API and version; and the walk before it ends
// where the message ends: no shorter body passes. Bytes behind the end are ignored, as Apache Kafka does.
func TestDecodeAsKmsg(t *testing.T) {
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		for round := range rounds {
			body := fill.request(a.Key, version).AppendTo(nil)
			req, err := Decode(header(a.Key, version, body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(body, req.AppendTo(nil)); diff != "" {
				t.Fatal(diff)
			}
			if _, err := Decode(header(a.Key, version, append(bytes.Clone(body), 1, 2, 3))); err != nil {
				t.Errorf("with bytes behind it: %v", err)
			}
			for cut := range cuts(round, body) {
				if _, err := Decode(header(a.Key, version, body[:cut:cut])); !errors.Is(err, ErrTruncated) {
					t.Fatalf("%d of %d bytes: %v", cut, len(body), err)
				}
			}
		}
	})
}

// A decoded request outlives its frame.
func TestDecodeOwnsItsMemory(t *testing.T) {
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		body := fill.request(a.Key, version).AppendTo(nil)
		want := bytes.Clone(body)
		req, err := Decode(header(a.Key, version, body))
		if err != nil {
			t.Fatal(err)
		}
		for i := range body {
			body[i] = 0xdb
		}
		if diff := cmp.Diff(want, req.AppendTo(nil)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		key     kmsg.Key
		version int16
		body    []byte
		want    error
	}{
		"2 billion topics":          {kmsg.Metadata, 1, bytesOf(int32(1<<31 - 1)), ErrTruncated},
		"2 billion compact topics":  {kmsg.Metadata, 9, bytesOf("\xff\xff\xff\xff\x07\x00\x00\x00\x00"), ErrTruncated},
		"null topics, Metadata v0":  {kmsg.Metadata, 0, bytesOf(int32(-1)), ErrMalformed},
		"null group":                {kmsg.Heartbeat, 0, bytesOf(int16(-1), int32(1), int16(0)), ErrMalformed},
		"null metadata":             {kmsg.JoinGroup, 0, bytesOf(int16(0), int32(1), int16(0), int16(0), int32(1), int16(0), int32(-1)), ErrMalformed},
		"null assignments":          {kmsg.SyncGroup, 0, bytesOf(int16(0), int32(1), int16(0), int32(-1)), ErrMalformed},
		"string of 40,000 bytes":    {kmsg.FindCoordinator, 3, bytesOf("\xc1\xb8\x02", string(make([]byte, 40000)), "\x00\x00"), ErrMalformed},
		"tags beyond the end":       {kmsg.ListGroups, 3, bytesOf("\x01\x07\x05abc"), ErrTruncated},
		"version too high":          {kmsg.ApiVersions, 6, bytesOf("\x01\x01\x00"), ErrUnsupportedVersion},
		"version too low":           {kmsg.OffsetCommit, 1, nil, ErrUnsupportedVersion},
		"API that we don't serve":   {kmsg.ControlledShutdown, 0, nil, ErrUnsupportedVersion},
		"a sea of empty groups":     {kmsg.DescribeGroups, 5, append(bytesOf("\x81\x80\x40"), bytes.Repeat([]byte{1}, 1<<20+2)...), ErrTooLarge},
		"a sea of tags":             {kmsg.LeaveGroup, 5, leavingWithTags(100_000), ErrTooLarge},
		"tags in one place":         {kmsg.ListGroups, 3, append(bytesOf("\x80\x80\x20"), manyTags(1<<19)...), ErrTooLarge},
		"empty string":              {kmsg.ApiVersions, 3, bytesOf("\x01\x01\x00"), nil},
		"null topics, Metadata v1":  {kmsg.Metadata, 1, bytesOf(int32(-1)), nil},
		"empty topics, Metadata v1": {kmsg.Metadata, 1, bytesOf(int32(0)), nil},
		"group of 32,767 bytes":     {kmsg.FindCoordinator, 0, bytesOf(int16(32767), string(make([]byte, 32767))), nil},
	} {
		_, err := Decode(header(int16(c.key), c.version, c.body))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if err != nil && !errors.Is(err, ErrUnsupportedVersion) && !strings.HasPrefix(err.Error(), Lookup(int16(c.key)).Name) {
			t.Errorf("%s: %q doesn't say which API", name, err)
		}
	}
}

// leavingWithTags are members of LeaveGroup 5 of which each has an unknown tag: the dearest that a few bytes can buy.
func leavingWithTags(n int) []byte {
	b := binary.AppendUvarint([]byte("\x02g"), uint64(n+1))
	for range n {
		b = append(b, 1, 0, 0, 1, 100, 0) // no member id, null, null, one tag of no bytes
	}
	return append(b, 0)
}

func manyTags(n int) (b []byte) {
	for i := range n {
		b = append(binary.AppendUvarint(b, uint64(i+100)), 0)
	}
	return b
}

// Metadata: null and empty lists are different things from version 1 on.
func TestDecodeKeepsNullAndEmptyApart(t *testing.T) {
	for version := int16(1); version <= 13; version++ {
		for _, null := range []bool{true, false} {
			req := kmsg.NewPtrMetadataRequest()
			if req.Version = version; !null {
				req.Topics = []kmsg.MetadataRequestTopic{}
			}
			got, err := Decode(header(int16(kmsg.Metadata), version, req.AppendTo(nil)))
			if err != nil {
				t.Fatal(err)
			}
			if topics := got.(*kmsg.MetadataRequest).Topics; (topics == nil) != null {
				t.Errorf("version %d: null %v became %v", version, null, topics)
			}
		}
	}
}

// allocated is how many bytes f makes on the heap.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// measureSlack is what a measurement may be off by: other goroutines of the test allocate too.
const measureSlack = 256 << 10

// What a hostile body costs stays within decodedMax: either it is refused for nearly nothing, or the estimate was
// right. Each body is as large as the guard lets pass, and ten times that.
func TestDecodeMemoryIsBounded(t *testing.T) {
	compact := func(n int, element ...byte) []byte {
		b := binary.AppendUvarint(nil, uint64(n+1))
		return append(append(b, bytes.Repeat(element, n)...), 0, 0, 0, 0, 0, 0)
	}
	bodies := map[string]struct {
		key     kmsg.Key
		version int16
		body    func(n int) []byte
	}{
		"groups":       {kmsg.DescribeGroups, 5, func(n int) []byte { return compact(n, 1) }},
		"short groups": {kmsg.DescribeGroups, 5, func(n int) []byte { return compact(n, 3, 'a', 'b') }},
		"topics":       {kmsg.Metadata, 9, func(n int) []byte { return compact(n, 1, 0) }},
		"create":       {kmsg.CreateTopics, 7, func(n int) []byte { return compact(n, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0) }},
		"leave":        {kmsg.LeaveGroup, 5, leavingWithTags},
		"tags":         {kmsg.ListGroups, 3, func(n int) []byte { return append(compact(n)[:3], manyTags(n)...) }},
		"null configs": {kmsg.CreateTopics, 7, func(n int) []byte {
			return append(append([]byte("\x02\x02t\x00\x00\x00\x01\x00\x01\x01"), compact(n, 2, 'k', 0, 0)...), 0, 0)
		}},
	}
	for name, c := range bodies {
		for _, n := range []int{300, 1000, 3000, 10_000, 100_000} {
			h := header(int16(c.key), c.version, c.body(n))
			requestShape(h.Key, h.Version) // learned once, not for this request
			var err error
			got := allocated(func() { _, err = Decode(h) })
			if limit := raceFactor*decodedMax(len(h.Body)) + measureSlack; got > limit {
				t.Errorf("%s: %d bytes became %d, %d at most (%v)", name, len(h.Body), got, limit, err)
			}
			if err != nil && got > measureSlack {
				t.Errorf("%s: %d bytes made for a request that was refused", name, got)
			}
		}
	}
}

// The estimate errs on the safe side: what is really made for a request that passes is no more.
func TestDecodeEstimate(t *testing.T) {
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		s := requestShape(a.Key, version)
		var bodies [][]byte
		estimate := 0
		for range 300 {
			body := fill.request(a.Key, version).AppendTo(nil)
			r := reader{src: body, room: decodedMax(len(body))}
			walk(&r, s)
			if r.err != nil {
				t.Fatal(r.err)
			}
			estimate += decodedMax(len(body)) - r.room
			bodies = append(bodies, body)
		}
		got := allocated(func() {
			for _, body := range bodies {
				req := kmsg.RequestForKey(a.Key)
				req.SetVersion(version)
				_ = req.ReadFrom(body)
			}
		})
		if got > raceFactor*(estimate+300*(s.memory+64)+16<<10) {
			t.Errorf("%d bytes made, estimate %d", got, estimate)
		}
	})
}

// Honest requests pass, large ones too.
func TestDecodeLargeHonestRequests(t *testing.T) {
	const n = 20_000
	metadata, groups := kmsg.NewPtrMetadataRequest(), kmsg.NewPtrDescribeGroupsRequest()
	commit, create := kmsg.NewPtrOffsetCommitRequest(), kmsg.NewPtrCreateTopicsRequest()
	fetch, leave := kmsg.NewPtrOffsetFetchRequest(), kmsg.NewPtrLeaveGroupRequest()
	commit.Topics = make([]kmsg.OffsetCommitRequestTopic, n)
	fetch.Groups = make([]kmsg.OffsetFetchRequestGroup, n)
	for i := range n {
		name := fmt.Sprint("t", i)
		metadata.Topics = append(metadata.Topics, kmsg.MetadataRequestTopic{Topic: &name})
		groups.Groups = append(groups.Groups, name)
		commit.Topics[i].Topic = name
		commit.Topics[i].Partitions = make([]kmsg.OffsetCommitRequestTopicPartition, 1)
		create.Topics = append(create.Topics, kmsg.CreateTopicsRequestTopic{Topic: name})
		fetch.Groups[i].Group = name
		fetch.Groups[i].Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: name, Partitions: []int32{0}}}
		leave.Members = append(leave.Members, kmsg.LeaveGroupRequestMember{MemberID: "member-" + name + "-0123456789abcdef"})
	}
	for _, req := range []kmsg.Request{metadata, groups, commit, create, fetch, leave} {
		a := Lookup(req.Key())
		for v := a.Min; v <= a.Max; v++ {
			req.SetVersion(v)
			if _, err := Decode(header(a.Key, v, req.AppendTo(nil))); err != nil {
				t.Error(err)
			}
		}
	}
}

// Encode makes the frames that franz-go reads, for every API and version.
func TestEncodeAsKmsg(t *testing.T) {
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		for range rounds {
			resp := fill.response(a.Key, version)
			reply := Encode(resp, -77)
			got := reply.AppendTo(nil)
			flexibleHeader := a.flexible(version) && a.Key != int16(kmsg.ApiVersions)
			if diff := cmp.Diff(wantFrame(resp, -77, flexibleHeader), got); diff != "" {
				t.Fatal(diff)
			}
			reply.Release()
		}
	})
}

// KIP-511: version 0, whatever was asked for, with the range of ApiVersions alone.
func TestUnsupportedVersion(t *testing.T) {
	want := bytesOf(int32(4+2+4+6), int32(9), int16(protocol.UnsupportedVersion), int32(1), int16(18), int16(0), int16(5))
	reply := UnsupportedVersion(9)
	if diff := cmp.Diff(want, reply.AppendTo(nil)); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	fill := newFiller(11)
	for _, a := range APIs() {
		f.Add(a.Key, a.Min, fill.request(a.Key, a.Min).AppendTo(nil))
		f.Add(a.Key, a.Max, fill.request(a.Key, a.Max).AppendTo(nil))
	}
	f.Add(int16(13), int16(5), leavingWithTags(100))
	f.Add(keyFetch, int16(12), bytesOf(make([]byte, 25), "\x01\x01\x01\x01\x00\x01")) // a tag that is too short
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		if !Supported(key, version) {
			return
		}
		requestShape(key, version)
		var req kmsg.Request
		var err error
		if got := allocated(func() { req, err = Decode(header(key, version, body)) }); got > raceFactor*decodedMax(len(body))+measureSlack {
			t.Fatalf("%d bytes became %d", len(body), got)
		}
		if err != nil {
			// These two have tagged fields that kmsg knows; the walk doesn't look into them.
			if strings.Contains(err.Error(), "(") && key != keyFetch && key != keyFetchSnapshot {
				t.Fatalf("the walk passes what kmsg refuses: %v", err)
			}
			return
		}
		// Once decoded, a request says the same when it is written and read again.
		wire := req.AppendTo(nil)
		again, err := Decode(header(key, version, wire))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wire, again.AppendTo(nil)); diff != "" {
			t.Fatal(diff)
		}
	})
}
