package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/valyala/bytebufferpool"

	"millrace/protocol"
)

// tenByTen is a Produce request of ten topics with ten partitions each.
func tenByTen(version int16) Header {
	req := kmsg.NewPtrProduceRequest()
	req.Version = version
	for i := range 10 {
		topic := kmsg.ProduceRequestTopic{Topic: "bench-topic", TopicID: [16]byte{byte(i)}}
		for j := range 10 {
			topic.Partitions = append(topic.Partitions,
				kmsg.ProduceRequestTopicPartition{Partition: int32(j), Records: make([]byte, 1024)})
		}
		req.Topics = append(req.Topics, topic)
	}
	return header(keyProduce, version, req.AppendTo(nil))
}

func BenchmarkParseProduce(b *testing.B) {
	h := tenByTen(9)
	b.ReportAllocs()
	for b.Loop() {
		p, err := ParseProduce(h)
		if err != nil {
			b.Fatal(err)
		}
		for c := p.Cursor(); c.NextTopic(); {
			for c.NextPartition() {
			}
		}
	}
}

func BenchmarkProduceResponse(b *testing.B) {
	reply := protocol.Reply{Buf: &bytebufferpool.ByteBuffer{}}
	name := []byte("bench-topic")
	var w ProduceResponse
	b.ReportAllocs()
	for b.Loop() {
		reply.Buf.Reset()
		w.Begin(&reply, 9, 1, 10)
		for range 10 {
			w.Topic(name, [16]byte{}, 10)
			for j := range int32(10) {
				w.Partition(&ProducePartition{Index: j, LogAppendTimeMs: -1})
			}
		}
		w.End(0, nil)
	}
}

func BenchmarkParseFetch(b *testing.B) {
	req := kmsg.NewPtrFetchRequest()
	req.Version = 12
	for range 10 {
		topic := kmsg.FetchRequestTopic{Topic: "bench-topic"}
		for range 10 {
			topic.Partitions = append(topic.Partitions, kmsg.NewFetchRequestTopicPartition())
		}
		req.Topics = append(req.Topics, topic)
	}
	h := header(keyFetch, 12, req.AppendTo(nil))
	var f FetchRequest
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Parse(h); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFetchResponse(b *testing.B) {
	reply := protocol.Reply{Buf: &bytebufferpool.ByteBuffer{}, Views: make([]protocol.View, 0, 128)}
	name, records := []byte("bench-topic"), []protocol.View{{Bytes: make([]byte, 1024)}}
	var w FetchResponse
	b.ReportAllocs()
	for b.Loop() {
		reply.Buf.Reset()
		reply.Views = reply.Views[:0]
		w.Begin(&reply, 12, 1, 0, protocol.None, 0, 10)
		for range 10 {
			w.Topic(name, [16]byte{}, 10)
			for j := range int32(10) {
				w.Partition(&FetchedPartition{Index: j}, records)
			}
		}
		w.End(nil)
	}
}

// BenchmarkDecode is a heartbeat: the guard's walk and kmsg's decoding together.
func BenchmarkDecode(b *testing.B) {
	req := &kmsg.HeartbeatRequest{Version: 4, Group: "group", MemberID: "member-0123456789"}
	h := header(req.Key(), 4, req.AppendTo(nil))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(h); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLearn(b *testing.B) {
	for b.Loop() {
		learn(int16(kmsg.CreateTopics), 7)
	}
}
