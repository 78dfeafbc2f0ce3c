package kafka

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/valyala/bytebufferpool"

	"millrace/protocol"
	"millrace/slab"
)

var fetchOptions = cmp.Options{
	cmpopts.IgnoreUnexported(FetchRequest{}),
	cmpopts.EquateEmpty(),
}

// kmsgFetch is a Fetch request as we should see it. Fields that the version doesn't have are at their defaults; that
// is what a round through kmsg leaves.
func kmsgFetch(t testing.TB, body []byte, version int16) *FetchRequest {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.Version = version
	if err := req.ReadFrom(body); err != nil {
		t.Fatalf("kmsg refuses: %v", err)
	}
	f := &FetchRequest{Version: version, ReplicaID: req.ReplicaID, ReplicaEpoch: -1, MaxWaitMs: req.MaxWaitMillis,
		MinBytes: req.MinBytes, MaxBytes: req.MaxBytes, IsolationLevel: req.IsolationLevel, SessionID: req.SessionID,
		SessionEpoch: req.SessionEpoch, Rack: []byte(req.Rack)}
	if req.ClusterID != nil {
		f.ClusterID = []byte(*req.ClusterID)
	}
	if version >= 15 {
		f.ReplicaID, f.ReplicaEpoch = req.ReplicaState.ID, req.ReplicaState.Epoch
	}
	for _, topic := range req.Topics {
		x := FetchTopic{Name: []byte(topic.Topic), ID: topic.TopicID}
		for _, p := range topic.Partitions {
			y := FetchPartition{p.FetchOffset, p.LogStartOffset, p.HighWatermark, p.Partition, p.CurrentLeaderEpoch,
				p.LastFetchedEpoch, p.PartitionMaxBytes}
			if version < 18 { // a tag that kmsg reads in all flexible versions
				y.HighWatermark = math.MaxInt64
			}
			x.Partitions = append(x.Partitions, y)
		}
		f.Topics = append(f.Topics, x)
	}
	for _, topic := range req.ForgottenTopics {
		f.Forgotten = append(f.Forgotten, ForgottenTopic{[]byte(topic.Topic), topic.TopicID, topic.Partitions})
	}
	return f
}

// What kmsg encodes, we decode: same values, for every version, into one structure used again and again.
func TestFetchRequestAsKmsg(t *testing.T) {
	var f FetchRequest
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		if a.Key != keyFetch {
			return
		}
		for round := range rounds {
			body := fill.request(a.Key, version).AppendTo(nil)
			if err := f.Parse(header(a.Key, version, body)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(kmsgFetch(t, body, version), &f, fetchOptions); diff != "" {
				t.Fatal(diff)
			}
			if err := f.Parse(header(a.Key, version, append(body, 0))); !errors.Is(err, ErrTrailing) {
				t.Errorf("with a byte more: %v", err)
			}
			for cut := range cuts(round, body) {
				if err := f.Parse(header(a.Key, version, body[:cut:cut])); err == nil {
					t.Fatalf("%d of %d bytes pass", cut, len(body))
				}
				if len(f.Topics) != 0 || len(f.Forgotten) != 0 {
					t.Fatal("something is left of a request that was refused")
				}
			}
		}
	})
}

func TestFetchRequestRefuses(t *testing.T) {
	v4 := func(parts ...any) []byte {
		return append(bytesOf(int32(-1), int32(500), int32(1), int32(1<<20), int8(0)), bytesOf(parts...)...)
	}
	v12 := func(parts ...any) []byte { return append(v4(int32(0), int32(-1)), bytesOf(parts...)...) }
	emptyTopics := append([]byte{0x81, 0x80, 0x10}, make([]byte, 3<<18)...) // 262,144 topics without name and partitions
	for i := 3; i < len(emptyTopics); i += 3 {
		emptyTopics[i], emptyTopics[i+1] = 1, 1
	}
	for name, c := range map[string]struct {
		version int16
		body    []byte
		want    error
	}{
		"null topics":          {4, v4(int32(-1)), ErrMalformed},
		"2 billion topics":     {4, v4(int32(math.MaxInt32)), ErrTruncated},
		"null name":            {4, v4(int32(1), int16(-1), int32(0)), ErrMalformed},
		"null partitions":      {4, v4(int32(1), int16(1), "t", int32(-1)), ErrMalformed},
		"2 billion partitions": {4, v4(int32(1), int16(1), "t", int32(math.MaxInt32)), ErrTruncated},
		"a sea of topics":      {12, append(v12(), append(emptyTopics, 1, 1, 0)...), ErrTooLarge},
		"null forgotten":       {12, v12("\x01\x00"), ErrMalformed},
		"null rack":            {12, v12("\x01\x01\x00"), ErrMalformed},
		"short replica state":  {15, append(v12()[4:], "\x01\x01\x01\x01\x01\x03abc"...), ErrTruncated},
		"version 3":            {3, v4(int32(0)), ErrUnsupportedVersion},
		"version 19":           {19, v12("\x01\x01\x01\x00"), ErrUnsupportedVersion},

		"nothing":           {4, v4(int32(0)), nil},
		"nothing, flexible": {12, v12("\x01\x01\x01\x00"), nil},
		"null cluster id":   {12, v12("\x01\x01\x01\x01\x00\x01\x00"), nil},
	} {
		var f FetchRequest
		if err := f.Parse(header(keyFetch, c.version, c.body)); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

// The fetch of ten thousand partitions passes, is kept, and the next one allocates nothing.
func TestFetchRequestAllocates(t *testing.T) {
	for _, version := range []int16{4, 7, 12, 13, 18} {
		req := kmsg.NewPtrFetchRequest()
		req.Version = version
		for i := range 100 {
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic, topic.TopicID = "topic", [16]byte{byte(i)}
			for range 100 {
				topic.Partitions = append(topic.Partitions, kmsg.NewFetchRequestTopicPartition())
			}
			req.Topics = append(req.Topics, topic)
			req.ForgottenTopics = append(req.ForgottenTopics, kmsg.FetchRequestForgottenTopic{Partitions: []int32{1, 2}})
		}
		h := header(keyFetch, version, req.AppendTo(nil))
		var f FetchRequest
		if n := testing.AllocsPerRun(10, func() {
			if err := f.Parse(h); err != nil {
				panic(err)
			}
		}); n != 0 {
			t.Errorf("version %d: %v allocations", version, n)
		}
	}
}

func TestFetchRequestReset(t *testing.T) {
	var f FetchRequest
	body := newFiller(9).request(keyFetch, 12).AppendTo(nil)
	if err := f.Parse(header(keyFetch, 12, body)); err != nil {
		t.Fatal(err)
	}
	topics := f.Topics[:cap(f.Topics)]
	f.Reset()
	for _, topic := range topics {
		if topic.Name != nil || topic.Partitions != nil {
			t.Errorf("still holds %q", topic.Name)
		}
	}
	f.partitions = make([]FetchPartition, 5*keptPartitionsMax)
	if f.Reset(); f.partitions != nil {
		t.Error("an unusually large request is kept")
	}
}

// oursFetch turns a partition of a kmsg response into what our encoder takes. Its records become views, cut anywhere.
func oursFetch(p *kmsg.FetchResponseTopicPartition, r *rand.Rand) (FetchedPartition, []protocol.View) {
	x := FetchedPartition{Index: p.Partition, Code: protocol.Code(p.ErrorCode), HighWatermark: p.HighWatermark,
		LastStableOffset: p.LastStableOffset, LogStartOffset: p.LogStartOffset,
		PreferredReplica: Replica{p.PreferredReadReplica != -1, p.PreferredReadReplica},
		Diverging: EpochEndOffset{p.DivergingEpoch.Epoch != -1 || p.DivergingEpoch.EndOffset != -1,
			p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset},
		Leader: Leader{p.CurrentLeader.LeaderID != -1 || p.CurrentLeader.LeaderEpoch != -1,
			p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch},
		Snapshot: EpochEndOffset{p.SnapshotID.EndOffset != -1 || p.SnapshotID.Epoch != -1,
			p.SnapshotID.Epoch, p.SnapshotID.EndOffset},
	}
	if p.AbortedTransactions != nil {
		x.Aborted = []AbortedTransaction{}
	}
	for _, a := range p.AbortedTransactions {
		x.Aborted = append(x.Aborted, AbortedTransaction{a.ProducerID, a.FirstOffset})
	}
	var views []protocol.View
	for rest := p.RecordBatches; len(rest) > 0; {
		n := 1 + r.IntN(len(rest))
		views = append(views, protocol.View{At: r.Int(), Bytes: rest[:n]})
		rest = rest[n:]
	}
	return x, views
}

func oursFetchEndpoints(resp *kmsg.FetchResponse) (ends []Endpoint) {
	if resp.Version < 16 {
		resp.Brokers = nil
	}
	for i := range resp.Brokers {
		b := &resp.Brokers[i]
		ends = append(ends, Endpoint{b.NodeID, b.Host, b.Port, said(&b.Rack)})
	}
	return ends
}

// Our encoder writes the very bytes that kmsg does, for every version; but where kmsg would say null for records, it
// says length 0.
func TestFetchResponseAsKmsg(t *testing.T) {
	var w FetchResponse
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		if a.Key != keyFetch {
			return
		}
		fill.tags = false
		for range rounds {
			resp := fill.response(a.Key, version).(*kmsg.FetchResponse)
			ends := oursFetchEndpoints(resp)
			reply := protocol.NewReply()
			w.Begin(&reply, version, 77, resp.ThrottleMillis, protocol.Code(resp.ErrorCode), resp.SessionID, len(resp.Topics))
			for i := range resp.Topics {
				topic := &resp.Topics[i]
				w.Topic([]byte(topic.Topic), topic.TopicID, len(topic.Partitions))
				for j := range topic.Partitions {
					p, views := oursFetch(&topic.Partitions[j], fill.Rand)
					w.Partition(&p, views)
					if topic.Partitions[j].RecordBatches == nil {
						topic.Partitions[j].RecordBatches = []byte{}
					}
				}
			}
			w.End(ends)
			if diff := cmp.Diff(wantFrame(resp, 77, version >= 12), reply.AppendTo(nil)); diff != "" {
				t.Fatal(diff)
			}
			reply.Release()
		}
	})
}

// A partition that failed has records of length 0 in every version, and everything else at Kafka's defaults.
func TestFetchResponseFailed(t *testing.T) {
	for version := int16(4); version <= 18; version++ {
		resp := kmsg.NewPtrFetchResponse()
		resp.Version = version
		topic, part := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		part.Partition, part.ErrorCode, part.HighWatermark = 3, int16(protocol.OffsetOutOfRange), -1
		part.AbortedTransactions, part.RecordBatches = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}, []byte{}
		topic.Topic, topic.Partitions = "t", append(topic.Partitions, part)
		resp.Topics = append(resp.Topics, topic)

		reply := protocol.NewReply()
		var w FetchResponse
		w.Begin(&reply, version, 1, 0, protocol.None, 0, 1)
		w.Topic([]byte("t"), [16]byte{}, 1)
		w.Failed(3, protocol.OffsetOutOfRange, Leader{})
		w.End(nil)
		if diff := cmp.Diff(wantFrame(resp, 1, version >= 12), reply.AppendTo(nil)); diff != "" {
			t.Errorf("version %d: %s", version, diff)
		}
	}
}

// The references of the views pass to the reply, which gives them back.
func TestFetchResponseReferences(t *testing.T) {
	pool := slab.NewPool(slab.Options{LimitBytes: 8 << 20})
	s, err := pool.Get(4096, slab.UseRecords)
	if err != nil {
		t.Fatal(err)
	}
	reply := protocol.NewReply()
	var w FetchResponse
	w.Begin(&reply, 12, 1, 0, protocol.None, 0, 1)
	w.Topic([]byte("t"), [16]byte{}, 1)
	w.Partition(&FetchedPartition{}, []protocol.View{{Bytes: s.Bytes()[:100], Slab: s}})
	w.End(nil)
	if s.Refs() != 1 || len(reply.Views) != 1 {
		t.Errorf("%d references, %d views", s.Refs(), len(reply.Views))
	}
	reply.Release()
	if out := pool.Close(); out != 0 {
		t.Errorf("%d slabs still out", out)
	}
}

func TestFetchResponseAllocates(t *testing.T) {
	records := make([]byte, 1000)
	views := []protocol.View{{Bytes: records[:100]}, {Bytes: records[100:]}}
	ends := []Endpoint{{1, "127.0.0.1", 9092, ""}}
	p := FetchedPartition{HighWatermark: 5, Leader: Leader{true, 1, 2}, Aborted: []AbortedTransaction{{1, 2}}}
	name := []byte("topic")
	for _, version := range []int16{4, 11, 12, 16, 18} {
		reply := protocol.Reply{Buf: &bytebufferpool.ByteBuffer{}, Views: make([]protocol.View, 0, 8)}
		var w FetchResponse
		if n := testing.AllocsPerRun(100, func() {
			reply.Buf.Reset()
			reply.Views = reply.Views[:0]
			w.Begin(&reply, version, 77, 0, protocol.None, 0, 1)
			w.Topic(name, [16]byte{}, 3)
			w.Partition(&p, views)
			w.Failed(1, protocol.OffsetOutOfRange, Leader{})
			w.Partition(&p, views)
			w.End(ends)
		}); n != 0 {
			t.Errorf("version %d: %v allocations", version, n)
		}
	}
}

func FuzzParseFetch(f *testing.F) {
	fill := newFiller(6)
	for v := int16(4); v <= 18; v++ {
		f.Add(v, fill.request(keyFetch, v).AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		var r FetchRequest
		if r.Parse(header(keyFetch, version, body)) != nil {
			return
		}
		// kmsg looks into the tags of later versions, which we pass over; it may stumble there.
		if req := (&kmsg.FetchRequest{Version: version}); version < 18 && req.ReadFrom(body) != nil {
			return
		}
		if diff := cmp.Diff(kmsgFetch(t, body, version), &r, fetchOptions); diff != "" {
			t.Fatal(diff)
		}
	})
}
