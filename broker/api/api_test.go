package api_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"millrace/broker/api"
	"millrace/broker/brokertest"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/kafka"
	"millrace/protocol/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is the front desk of broker 1 of a cluster, and a session there.
type desk struct {
	*brokertest.Cluster
	*api.Desk
	session *api.Session
}

func newDesk(t testing.TB, brokers int, set ...string) *desk {
	t.Helper()
	return (&desk{Cluster: brokertest.New(t, brokers, set...)}).deskOf(1)
}

// deskOf is the front desk of another broker of the cluster.
func (d *desk) deskOf(id int32) *desk {
	c := d.Cluster
	made := &desk{Cluster: c, Desk: api.NewDesk(api.Deps{Broker: c.Broker(id), Cluster: c.Central, Config: c.Deps.Config, Log: zap.NewNop()})}
	made.session = made.connect()
	return made
}

// slot takes one answer.
type slot struct {
	reply   protocol.Reply
	replied int
	dropped int
	failed  string
	done    chan struct{} // closed by the answer; nil: nobody waits
}

func (s *slot) Reply(r protocol.Reply) {
	s.reply = r
	s.replied++
	s.end()
}

func (s *slot) Drop() {
	s.dropped++
	s.end()
}

func (s *slot) Fail(reason string) {
	s.failed = reason
	s.end()
}

func (s *slot) end() {
	if s.done != nil {
		close(s.done)
	}
}

// frame is a request as it comes off the wire, without its size.
func frame(r kmsg.Request, version int16) []byte {
	r.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("client")).AppendRequest(nil, r, 42)[4:]
}

func (d *desk) connect() *api.Session {
	here := netip.MustParseAddrPort("127.0.0.1:9092")
	return d.Open(here, netip.MustParseAddrPort("10.0.0.7:5000"))
}

// topic makes a topic, or makes it again.
func (d *desk) topic(name string, partitions int32) *metadata.Topic {
	d.Helper()
	d.CreateTopic(name, partitions, nil)
	return d.Central.Image().Topic(name)
}

// send starts a request at a version; the answer is what receive brings.
func (d *desk) send(session *api.Session, r kmsg.Request, version int16) *slot {
	d.Helper()
	s := &slot{done: make(chan struct{})}
	d.Serve(session, frame(r, version), s)
	return s
}

// receive decodes an answer.
func receive[R kmsg.Response](d *desk, s *slot, version int16) R {
	d.Helper()
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		d.Fatal("no answer")
	}
	if s.failed != "" {
		d.Fatalf("the connection was closed: %s", s.failed)
	}
	defer s.reply.Release()
	var typed R
	resp := kmsg.ResponseForKey(typed.Key())
	resp.SetVersion(version)
	if err := resp.ReadFrom(body(s.reply, resp)); err != nil {
		d.Fatalf("%T v%d: %v", resp, version, err)
	}
	return resp.(R)
}

// ask sends a request and decodes the answer.
func ask[R kmsg.Response](d *desk, r kmsg.Request, version int16) R {
	d.Helper()
	return receive[R](d, d.send(d.session, r, version), version)
}

// each runs f at every version of an API that the table has.
func (d *desk) each(key kmsg.Key, f func(version int16)) {
	d.Helper()
	a := kafka.Lookup(key.Int16())
	for v := a.Min; v <= a.Max; v++ {
		f(v)
		if d.Failed() {
			d.Fatalf("at version %d of %s", v, key.Name())
		}
	}
}

// codeIs complains about an error code that is not the one wanted.
func (d *desk) codeIs(got int16, want protocol.Code, what string) {
	d.Helper()
	if protocol.Code(got) != want {
		d.Errorf("%s: %v, want %v", what, protocol.Code(got), want)
	}
}

// body is an answer without its size and header.
func body(r protocol.Reply, resp kmsg.Response) []byte {
	b := slices.Concat(r.Chunks(nil)...)[8:]
	if resp.IsFlexible() && resp.Key() != kmsg.ApiVersions.Int16() {
		b = b[1:]
	}
	return b
}

func batch(n, valueBytes int) record.Batch {
	var b record.Builder
	b.Reset(record.Options{})
	for i := range n {
		b.Append(record.Record{Timestamp: time.Now().UnixMilli(), Key: fmt.Appendf(nil, "%d", i), Value: make([]byte, valueBytes)})
	}
	return slices.Clone(b.Bytes())
}

func produceRequest(acks int16, topic string, partitions int32, records []byte) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Acks, r.TimeoutMillis = acks, 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	for i := range partitions {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = i, records
		t.Partitions = append(t.Partitions, p)
	}
	r.Topics = append(r.Topics, t)
	return r
}

func fetchRequest(topic string, partitions int32, offset int64) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes = 0, 1, 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	for i := range partitions {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = i, offset, 1<<20, -1
		t.Partitions = append(t.Partitions, p)
	}
	r.Topics = append(r.Topics, t)
	return r
}

// The path of produce and fetch allocates nothing in steady state, from the frame to the reply. Under the race
// detector sync.Pool drops what it is given at random, so there the test only runs the path.
func TestProduceAndFetchAllocateNothing(t *testing.T) {
	d := newDesk(t, 1)
	d.CreateTopic("t", 4, nil)
	produce := frame(produceRequest(1, "t", 4, batch(10, 100)), 9)
	fetch := frame(fetchRequest("t", 4, 0), 12)
	s := &slot{}
	for _, c := range []struct {
		name  string
		frame []byte
	}{{"produce", produce}, {"fetch", fetch}} {
		run := func() {
			d.Serve(d.session, c.frame, s)
			s.reply.Release()
		}
		for range 100 {
			run()
		}
		if n := testing.AllocsPerRun(200, run); n > 0 && !raceEnabled {
			t.Errorf("%s: %v allocations a request", c.name, n)
		}
		if s.failed != "" || s.replied == 0 {
			t.Errorf("%s: %d answers, %q", c.name, s.replied, s.failed)
		}
	}
}

func BenchmarkProduce(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			d := newDesk(b, 1, "log.retention.bytes=16000000")
			d.CreateTopic("t", 1, nil)
			f, s := frame(produceRequest(1, "t", 1, batch(size>>10, 1000)), 9), &slot{}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				d.Serve(d.session, f, s)
				s.reply.Release()
			}
		})
	}
}

func BenchmarkFetch(b *testing.B) {
	d := newDesk(b, 1)
	d.CreateTopic("t", 1, nil)
	s := &slot{}
	for range 16 {
		d.Serve(d.session, frame(produceRequest(1, "t", 1, batch(64, 1000)), 9), s)
		s.reply.Release()
	}
	f := frame(fetchRequest("t", 1, 0), 12)
	b.ReportAllocs()
	for b.Loop() {
		d.Serve(d.session, f, s)
		s.reply.Release()
	}
}

// Where an acks=0 produce fails, the connection is closed: the client can't be told otherwise.
func TestAcksZero(t *testing.T) {
	d := newDesk(t, 1)
	d.CreateTopic("t", 1, nil)
	s := &slot{}
	d.Serve(d.session, frame(produceRequest(0, "t", 1, batch(1, 1)), 9), s)
	if s.dropped != 1 || s.replied != 0 || s.failed != "" {
		t.Errorf("good batch: %+v", s)
	}
	s = &slot{}
	d.Serve(d.session, frame(produceRequest(0, "unknown", 1, batch(1, 1)), 9), s)
	if s.dropped != 0 || s.replied != 0 || s.failed == "" {
		t.Errorf("unknown topic: %+v", s)
	}
}

// Every key of the table is served by a handler in each of its versions: an empty request gets an answer.
func TestEveryVersionAnswers(t *testing.T) {
	d := newDesk(t, 1)
	for _, k := range ask[*kmsg.ApiVersionsResponse](d, kmsg.NewPtrApiVersionsRequest(), 0).ApiKeys {
		for version := k.MinVersion; version <= k.MaxVersion; version++ {
			if k.ApiKey == kmsg.Produce.Int16() && version < 3 {
				continue
			}
			req := kmsg.RequestForKey(k.ApiKey)
			if p, ok := req.(*kmsg.ProduceRequest); ok {
				p.Acks = 1
			}
			s := d.send(d.session, req, version)
			<-s.done
			resp := req.ResponseKind()
			if err := resp.ReadFrom(body(s.reply, resp)); err != nil || s.failed != "" {
				t.Errorf("%s v%d: %v, %s", kmsg.NameForKey(k.ApiKey), version, err, s.failed)
			}
			s.reply.Release()
		}
	}
}

func TestUnknownVersions(t *testing.T) {
	d := newDesk(t, 1)
	for _, c := range []struct {
		name    string
		key     uint16
		version uint16
		answers bool
	}{
		{"ApiVersions 6", 18, 6, true},
		{"ApiVersions 99", 18, 99, true},
		{"Metadata 99", 3, 99, false},
		{"Produce 2", 0, 2, false},
		{"key 999", 999, 0, false},
	} {
		s := &slot{}
		b := binary.BigEndian.AppendUint16(nil, c.key)
		b = binary.BigEndian.AppendUint16(b, c.version)
		d.Serve(d.session, append(b, 0, 0, 0, 7, 255, 255, 0, 0), s)
		if answered := s.replied == 1; answered != c.answers || answered == (s.failed != "") {
			t.Errorf("%s: answered %v, failed %q", c.name, answered, s.failed)
		}
		if c.answers {
			resp := kmsg.NewPtrApiVersionsResponse()
			if err := resp.ReadFrom(body(s.reply, resp)); err != nil || resp.ErrorCode != int16(protocol.UnsupportedVersion) ||
				len(resp.ApiKeys) != 1 {
				t.Errorf("%s: %+v, %v", c.name, resp, err)
			}
		}
	}
}
