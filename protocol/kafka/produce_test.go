package kafka

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/valyala/bytebufferpool"

	"millrace/protocol"
)

// produced is what a walk over a Produce request saw.
type produced struct {
	Name    string
	ID      [16]byte
	Index   int32
	Records []byte
	Null    bool
}

func walkProduce(p *ProduceRequest) (topics int, seen []produced) {
	for c := p.Cursor(); c.NextTopic(); {
		topics++
		for c.NextPartition() {
			seen = append(seen, produced{string(c.Name), c.ID, c.Index, append([]byte{}, c.Records...), c.Records == nil})
		}
	}
	return topics, seen
}

// kmsgProduce is the same from kmsg's structure.
func kmsgProduce(req *kmsg.ProduceRequest) (seen []produced) {
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			x := produced{"", t.TopicID, p.Partition, append([]byte{}, p.Records...), p.Records == nil}
			if req.Version < 13 {
				x.Name, x.ID = t.Topic, [16]byte{}
			}
			seen = append(seen, x)
		}
	}
	return seen
}

func checkProduce(t *testing.T, p *ProduceRequest, req *kmsg.ProduceRequest) {
	t.Helper()
	var id []byte
	if req.TransactionID != nil {
		id = append([]byte{}, *req.TransactionID...)
	}
	if !bytes.Equal(id, p.TransactionalID) || (id == nil) != (p.TransactionalID == nil) || p.Version != req.Version ||
		p.Acks != req.Acks || p.TimeoutMs != req.TimeoutMillis {
		t.Errorf("got %q %d %d, want %q %d %d", p.TransactionalID, p.Acks, p.TimeoutMs, id, req.Acks, req.TimeoutMillis)
	}
	topics, seen := walkProduce(p)
	want := kmsgProduce(req)
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	var size int64
	for _, x := range want {
		size += int64(len(x.Records))
	}
	if p.Topics != topics || topics != len(req.Topics) || p.Partitions != len(want) || p.RecordBytes != size {
		t.Errorf("%d topics (walked %d), %d partitions, %d bytes", p.Topics, topics, p.Partitions, p.RecordBytes)
	}
}

// What kmsg encodes, the view reads: same values, for every version. No shorter body passes, and no longer one.
func TestParseProduceAsKmsg(t *testing.T) {
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		if a.Key != keyProduce {
			return
		}
		for round := range rounds {
			req := fill.request(a.Key, version).(*kmsg.ProduceRequest)
			body := req.AppendTo(nil)
			p, err := ParseProduce(header(a.Key, version, body))
			if err != nil {
				t.Fatal(err)
			}
			checkProduce(t, &p, req)
			if _, err := ParseProduce(header(a.Key, version, append(body, 0))); !errors.Is(err, ErrTrailing) {
				t.Errorf("with a byte more: %v", err)
			}
			for cut := range cuts(round, body) {
				if _, err := ParseProduce(header(a.Key, version, body[:cut:cut])); err == nil {
					t.Fatalf("%d of %d bytes pass", cut, len(body))
				}
			}
		}
	})
}

func TestParseProduceRefuses(t *testing.T) {
	top := func(parts ...any) []byte { return append(bytesOf(int16(-1), int16(1), int32(9)), bytesOf(parts...)...) }
	compact := func(parts ...any) []byte { return append(bytesOf("\x00", int16(1), int32(9)), bytesOf(parts...)...) }
	for name, c := range map[string]struct {
		version int16
		body    []byte
		want    error
	}{
		"null topics":           {3, top(int32(-1)), ErrMalformed},
		"null compact topics":   {9, compact("\x00\x00"), ErrMalformed},
		"2 billion topics":      {3, top(int32(math.MaxInt32)), ErrTruncated},
		"topics beyond the end": {3, top(int32(2), int16(0), int32(0), int16(0)), ErrTruncated},
		"null name":             {3, top(int32(1), int16(-1), int32(0)), ErrMalformed},
		"long compact name":     {9, compact("\x02\x81\x80\x02", string(make([]byte, 40000))), ErrMalformed},
		"null partitions":       {3, top(int32(1), int16(1), "t", int32(-1)), ErrMalformed},
		"2 billion partitions":  {3, top(int32(1), int16(1), "t", int32(math.MaxInt32)), ErrTruncated},
		"records beyond":        {3, top(int32(1), int16(1), "t", int32(1), int32(0), int32(5), "1234"), ErrTruncated},
		"2 billion records":     {9, compact("\x02\x02t\x02", int32(0), "\xff\xff\xff\xff\x07"), ErrTruncated},
		"many tags":             {9, compact("\x01\xff\xff\xff\xff\x0f"), ErrTruncated},
		"version 2":             {2, top(int32(0)), ErrUnsupportedVersion},
		"version 14":            {14, compact("\x01\x00"), ErrUnsupportedVersion},

		"null records":  {3, top(int32(1), int16(1), "t", int32(1), int32(0), int32(-1)), nil},
		"no topics":     {3, top(int32(0)), nil},
		"no partitions": {9, compact("\x02\x02t\x01\x00\x00"), nil},
	} {
		if _, err := ParseProduce(header(keyProduce, c.version, c.body)); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	if _, err := ParseProduce(header(keyFetch, 4, top(int32(0)))); !errors.Is(err, ErrUnsupportedVersion) {
		t.Errorf("Fetch passes for Produce: %v", err)
	}
}

// A cursor may skip partitions, and a copy goes on by itself.
func TestProduceCursor(t *testing.T) {
	req := &kmsg.ProduceRequest{Version: 9, Topics: []kmsg.ProduceRequestTopic{
		{Topic: "a", Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 1}, {Partition: 2}}},
		{Topic: "b", Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 3}}},
	}}
	p, err := ParseProduce(header(keyProduce, 9, req.AppendTo(nil)))
	if err != nil {
		t.Fatal(err)
	}
	c := p.Cursor()
	c.NextTopic()
	c.NextPartition()
	saved := c
	if !c.NextTopic() || string(c.Name) != "b" || !c.NextPartition() || c.Index != 3 || c.NextPartition() || c.NextTopic() {
		t.Errorf("after skipping: %s %d", c.Name, c.Index)
	}
	if !saved.NextPartition() || saved.Index != 2 || string(saved.Name) != "a" {
		t.Errorf("the copy stands at %s %d", saved.Name, saved.Index)
	}
}

func TestParseProduceAllocates(t *testing.T) {
	for _, version := range []int16{3, 9, 13} {
		h := header(keyProduce, version, newFiller(4).request(keyProduce, version).AppendTo(nil))
		if n := testing.AllocsPerRun(100, func() {
			p, err := ParseProduce(h)
			if err != nil {
				panic(err)
			}
			for c := p.Cursor(); c.NextTopic(); {
				for c.NextPartition() {
				}
			}
		}); n != 0 {
			t.Errorf("version %d: %v allocations", version, n)
		}
	}
}

// respondProduce answers like a kmsg response, by our encoder.
func respondProduce(w *ProduceResponse, reply *protocol.Reply, resp *kmsg.ProduceResponse, parts [][]ProducePartition, ends []Endpoint) {
	w.Begin(reply, resp.Version, 77, len(resp.Topics))
	for i := range resp.Topics {
		t := &resp.Topics[i]
		w.Topic([]byte(t.Topic), t.TopicID, len(t.Partitions))
		for j := range parts[i] {
			w.Partition(&parts[i][j])
		}
	}
	w.End(resp.ThrottleMillis, ends)
}

// oursProduce turns the partitions of a kmsg response into what our encoder takes. What we never send is taken out of resp:
// texts that are there but empty, and in version 9 the tagged fields of version 10.
func oursProduce(resp *kmsg.ProduceResponse) (parts [][]ProducePartition) {
	for i := range resp.Topics {
		list := []ProducePartition{}
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			if resp.Version < 10 {
				p.CurrentLeader.Default()
			}
			l := p.CurrentLeader
			x := ProducePartition{Index: p.Partition, Code: protocol.Code(p.ErrorCode), BaseOffset: p.BaseOffset,
				LogAppendTimeMs: p.LogAppendTime, LogStartOffset: p.LogStartOffset, Message: said(&p.ErrorMessage),
				Leader: Leader{l.LeaderID != -1 || l.LeaderEpoch != -1, l.LeaderID, l.LeaderEpoch}}
			for k := range p.ErrorRecords {
				e := &p.ErrorRecords[k]
				x.RecordErrors = append(x.RecordErrors, RecordError{e.RelativeOffset, said(&e.ErrorMessage)})
			}
			list = append(list, x)
		}
		parts = append(parts, list)
	}
	return parts
}

// said is a text of a response, which where it is empty becomes null.
func said(text **string) string {
	if *text == nil || **text == "" {
		*text = nil
		return ""
	}
	return **text
}

func oursProduceEndpoints(resp *kmsg.ProduceResponse) (ends []Endpoint) {
	if resp.Version < 10 {
		resp.Brokers = nil
	}
	for i := range resp.Brokers {
		b := &resp.Brokers[i]
		ends = append(ends, Endpoint{b.NodeID, b.Host, b.Port, said(&b.Rack)})
	}
	return ends
}

// wantFrame is the frame that kmsg's encoding makes.
func wantFrame(resp kmsg.Response, correlationID int32, flexibleHeader bool) []byte {
	head := bytesOf(correlationID)
	if flexibleHeader {
		head = append(head, 0)
	}
	body := resp.AppendTo(head)
	return append(bytesOf(int32(len(body))), body...)
}

// Our encoder writes the very bytes that kmsg does, for every version.
func TestProduceResponseAsKmsg(t *testing.T) {
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		if a.Key != keyProduce {
			return
		}
		fill.tags = false
		var w ProduceResponse
		for range rounds {
			resp := fill.response(a.Key, version).(*kmsg.ProduceResponse)
			parts, ends := oursProduce(resp), oursProduceEndpoints(resp)
			reply := protocol.NewReply()
			respondProduce(&w, &reply, resp, parts, ends)
			got := reply.AppendTo(nil)
			if diff := cmp.Diff(wantFrame(resp, 77, version >= 9), got); diff != "" {
				t.Fatal(diff)
			}
			reply.Release()
		}
	})
}

func TestProduceResponseFailed(t *testing.T) {
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = 10
	topic, part := kmsg.NewProduceResponseTopic(), kmsg.NewProduceResponseTopicPartition()
	part.Partition, part.ErrorCode, part.BaseOffset = 4, int16(protocol.NotLeaderOrFollower), -1
	part.CurrentLeader.LeaderID, part.CurrentLeader.LeaderEpoch = 0, 3
	topic.Topic, topic.Partitions = "t", append(topic.Partitions, part)
	resp.Topics = append(resp.Topics, topic)

	reply := protocol.NewReply()
	var w ProduceResponse
	w.Begin(&reply, 10, 1, 1)
	w.Topic([]byte("t"), [16]byte{}, 1)
	w.Failed(4, protocol.NotLeaderOrFollower, "", Leader{Known: true, ID: 0, Epoch: 3})
	w.End(0, nil)
	if diff := cmp.Diff(wantFrame(resp, 1, true), reply.AppendTo(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestProduceResponseAllocates(t *testing.T) {
	for _, version := range []int16{3, 8, 10, 13} {
		fill := newFiller(5)
		resp := fill.response(keyProduce, version).(*kmsg.ProduceResponse)
		parts, ends := oursProduce(resp), oursProduceEndpoints(resp)
		name := []byte("topic")
		reply := protocol.Reply{Buf: &bytebufferpool.ByteBuffer{}}
		var w ProduceResponse
		if n := testing.AllocsPerRun(100, func() {
			reply.Buf.Reset()
			w.Begin(&reply, version, 77, len(parts))
			for _, list := range parts {
				w.Topic(name, [16]byte{}, len(list))
				for j := range list {
					w.Partition(&list[j])
				}
			}
			w.End(0, ends)
		}); n != 0 {
			t.Errorf("version %d: %v allocations", version, n)
		}
	}
}

func TestEncoderMisuse(t *testing.T) {
	var w ProduceResponse
	for name, f := range map[string]func(){
		"a topic more":      func() { w.Topic(nil, [16]byte{}, 0); w.Topic(nil, [16]byte{}, 0) },
		"a partition more":  func() { w.Topic(nil, [16]byte{}, 1); w.Failed(0, 0, "", Leader{}); w.Failed(1, 0, "", Leader{}) },
		"a partition less":  func() { w.Topic(nil, [16]byte{}, 2); w.Failed(0, 0, "", Leader{}); w.End(0, nil) },
		"no topic at all":   func() { w.End(0, nil) },
		"partition first":   func() { w.Failed(0, 0, "", Leader{}) },
		"topic in a topic":  func() { w.Topic(nil, [16]byte{}, 1); w.Topic(nil, [16]byte{}, 1) },
		"a negative number": func() { w.Topic(nil, [16]byte{}, -1) },
	} {
		reply := protocol.NewReply()
		w.Begin(&reply, 9, 1, 1)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func FuzzParseProduce(f *testing.F) {
	fill := newFiller(6)
	for v := int16(3); v <= 13; v++ {
		f.Add(v, fill.request(keyProduce, v).AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		p, err := ParseProduce(header(keyProduce, version, body))
		if err != nil {
			return
		}
		req := kmsg.NewPtrProduceRequest()
		req.Version = version
		if err := req.ReadFrom(body); err != nil {
			t.Fatalf("kmsg refuses: %v", err)
		}
		checkProduce(t, &p, req)
	})
}
