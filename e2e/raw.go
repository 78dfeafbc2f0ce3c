package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Conn is a plain connection to a broker: requests go out as they are given, answers come in one after the other.
type Conn struct {
	t    testing.TB
	conn net.Conn
	next int32

	ClientID *string // what the headers say; nil is null
}

// Dial connects to a broker.
func Dial(t testing.TB, address string) *Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(60 * time.Second))
	id := "e2e"
	return &Conn{t: t, conn: conn, ClientID: &id}
}

// Close closes the connection.
func (c *Conn) Close() { c.conn.Close() }

// Frame encodes a request with its header and size.
func (c *Conn) Frame(r kmsg.Request) (frame []byte, correlation int32) {
	c.next++
	b := []byte{0, 0, 0, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(r.Key()))
	b = binary.BigEndian.AppendUint16(b, uint16(r.GetVersion()))
	b = binary.BigEndian.AppendUint32(b, uint32(c.next))
	if c.ClientID == nil {
		b = append(b, 0xff, 0xff)
	} else {
		b = binary.BigEndian.AppendUint16(b, uint16(len(*c.ClientID)))
		b = append(b, *c.ClientID...)
	}
	if r.IsFlexible() {
		b = append(b, 0) // no tags
	}
	b = r.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b, c.next
}

// Write sends bytes.
func (c *Conn) Write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// Send sends a request and returns its correlation id.
func (c *Conn) Send(r kmsg.Request) int32 {
	c.t.Helper()
	b, correlation := c.Frame(r)
	c.Write(b)
	return correlation
}

// Read reads one answer without its size.
func (c *Conn) Read() []byte {
	c.t.Helper()
	b, err := readFrame(c.conn)
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// Closed says whether the other side has closed the connection, within the given time.
func (c *Conn) Closed(within time.Duration) bool {
	c.conn.SetReadDeadline(time.Now().Add(within))
	_, err := c.conn.Read(make([]byte, 1))
	timeout, ok := err.(net.Error)
	return err != nil && !(ok && timeout.Timeout())
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 1<<30 {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// parse decodes an answer to r. kmsg takes header v1 for all flexible requests, but ApiVersions always has v0.
func parse(r kmsg.Request, frame []byte) (correlation int32, response kmsg.Response, err error) {
	if len(frame) < 4 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	correlation = int32(binary.BigEndian.Uint32(frame))
	body := frame[4:]
	if r.IsFlexible() && r.Key() != int16(kmsg.ApiVersions) {
		if len(body) == 0 || body[0] != 0 {
			return correlation, nil, fmt.Errorf("response header v1 expected, body is % x", body[:min(16, len(body))])
		}
		body = body[1:]
	}
	response = r.ResponseKind()
	response.SetVersion(r.GetVersion())
	return correlation, response, response.ReadFrom(body)
}

// Do sends a request and decodes the answer.
func (c *Conn) Do(r kmsg.Request) kmsg.Response {
	c.t.Helper()
	want := c.Send(r)
	got, response, err := parse(r, c.Read())
	if err != nil {
		c.t.Fatalf("%s v%d: %v", kmsg.NameForKey(r.Key()), r.GetVersion(), err)
	}
	if got != want {
		c.t.Fatalf("%s v%d: answer to request %d, expected %d", kmsg.NameForKey(r.Key()), r.GetVersion(), got, want)
	}
	return response
}

// Versions asks which versions of each API are served.
func (c *Conn) Versions() map[int16]kmsg.ApiVersionsResponseApiKey {
	c.t.Helper()
	r := kmsg.NewPtrApiVersionsRequest()
	r.Version = 3
	r.ClientSoftwareName, r.ClientSoftwareVersion = "e2e", "1"
	versions := map[int16]kmsg.ApiVersionsResponseApiKey{}
	for _, k := range c.Do(r).(*kmsg.ApiVersionsResponse).ApiKeys {
		versions[k.ApiKey] = k
	}
	return versions
}

// Record is one record of a batch made by hand.
type Record struct {
	Timestamp  int64
	Key, Value []byte
}

// Batch is a record batch made by hand.
type Batch struct {
	Records       []Record
	Codec         kgo.CompressionCodecType
	MaxTimestamp  int64 // 0: as it should be; −1: unset, as some clients leave it
	ProducerID    int64 // with ProducerEpoch and Sequence; −1 by NewBatch
	ProducerEpoch int16
	Sequence      int32
}

// NewBatch is a batch of an ordinary producer.
func NewBatch(records ...Record) Batch {
	return Batch{Records: records, ProducerID: -1, ProducerEpoch: -1, Sequence: -1}
}

// Encode makes the bytes of the batch, magic 2, with a right checksum.
func (b Batch) Encode(t testing.TB) []byte {
	t.Helper()
	first, last := b.Records[0].Timestamp, b.Records[0].Timestamp
	var records []byte
	for i, r := range b.Records {
		last = max(last, r.Timestamp)
		one := kmsg.Record{TimestampDelta64: r.Timestamp - first, OffsetDelta: int32(i), Key: r.Key, Value: r.Value}
		body := one.AppendTo(nil)
		one.Length = int32(len(body) - 1) // AppendTo wrote one byte for the length 0
		records = one.AppendTo(records)
	}
	if b.MaxTimestamp != 0 {
		last = b.MaxTimestamp
	}
	batch := kmsg.RecordBatch{
		Magic: 2, PartitionLeaderEpoch: -1, Attributes: int16(b.Codec), LastOffsetDelta: int32(len(b.Records) - 1),
		FirstTimestamp: first, MaxTimestamp: last, ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch,
		FirstSequence: b.Sequence, NumRecords: int32(len(b.Records)), Records: compress(t, b.Codec, records),
	}
	bytes := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(bytes[8:], uint32(len(bytes)-12))
	binary.BigEndian.PutUint32(bytes[17:], crc32.Checksum(bytes[21:], castagnoli))
	return bytes
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Codecs are the compressions a batch can have.
var Codecs = map[string]kgo.CompressionCodecType{
	"none": kgo.CodecNone, "gzip": kgo.CodecGzip, "snappy": kgo.CodecSnappy, "lz4": kgo.CodecLz4, "zstd": kgo.CodecZstd,
}

func compress(t testing.TB, codec kgo.CompressionCodecType, records []byte) []byte {
	t.Helper()
	if codec == kgo.CodecNone {
		return records
	}
	c, err := kgo.DefaultCompressor([]kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	}[codec])
	if err != nil {
		t.Fatal(err)
	}
	var buffer bytes.Buffer
	out, used := c.Compress(&buffer, records)
	if used != codec {
		t.Fatalf("compressed with %v, not %v", used, codec)
	}
	return bytes.Clone(out)
}

// Batches cuts the records of a fetch answer into batches and checks the checksum of each. What is cut off at the end is left out.
func Batches(t testing.TB, records []byte) (batches []kmsg.RecordBatch) {
	t.Helper()
	for len(records) >= 61 {
		size := 12 + int(binary.BigEndian.Uint32(records[8:]))
		if size > len(records) {
			break
		}
		var b kmsg.RecordBatch
		if err := b.ReadFrom(records[:size]); err != nil {
			t.Fatal(err)
		}
		if crc := crc32.Checksum(records[21:size], castagnoli); crc != uint32(b.CRC) {
			t.Fatalf("batch at offset %d: checksum is %08x, should be %08x", b.FirstOffset, uint32(b.CRC), crc)
		}
		batches = append(batches, b)
		records = records[size:]
	}
	return batches
}

// FetchAll reads a whole partition with plain requests to its leader.
func FetchAll(t testing.TB, s *Server, topic string, partition int32) (records []byte) {
	t.Helper()
	c := Dial(t, Leader(t, s, topic, partition))
	for next := int64(0); ; {
		p := Fetch(c, 4, topic, partition, next)
		if p.ErrorCode != 0 {
			t.Fatalf("fetch %s/%d at %d: error %d", topic, partition, next, p.ErrorCode)
		}
		batches := Batches(t, p.RecordBatches)
		if len(batches) == 0 {
			return records
		}
		records = append(records, p.RecordBatches...)
		last := batches[len(batches)-1]
		next = last.FirstOffset + int64(last.LastOffsetDelta) + 1
	}
}

// Fetch asks for one partition, does not wait, and returns the answer for it. Up to version 12 it goes by name.
func Fetch(c *Conn, version int16, topic string, partition int32, offset int64) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	r := FetchRequest(version, topic, partition, offset)
	answer := c.Do(r).(*kmsg.FetchResponse)
	if answer.ErrorCode != 0 || len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		c.t.Fatalf("fetch v%d: %+v", version, answer)
	}
	return answer.Topics[0].Partitions[0]
}

// FetchRequest makes a request for one partition that does not wait.
func FetchRequest(version int16, topic string, partition int32, offset int64) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.Version = version
	r.ReplicaID, r.MaxWaitMillis, r.MinBytes, r.MaxBytes = -1, 0, 0, 50<<20
	r.SessionID, r.SessionEpoch = 0, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = partition, offset, 50<<20, -1
	one := kmsg.NewFetchRequestTopic()
	one.Topic, one.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
	r.Topics = []kmsg.FetchRequestTopic{one}
	return r
}

// Leader is the address of a partition's leader. It waits until there is one.
func Leader(t testing.TB, s *Server, topic string, partition int32) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		m := Metadata(t, s, topic)
		if len(m.Topics) != 1 || m.Topics[0].ErrorCode != 0 || int(partition) >= len(m.Topics[0].Partitions) {
			continue
		}
		for _, p := range m.Topics[0].Partitions {
			for _, b := range m.Brokers {
				if p.Partition == partition && p.Leader == b.NodeID && ready(t, hostPort(b.Host, b.Port), topic, partition) {
					return hostPort(b.Host, b.Port)
				}
			}
		}
	}
	t.Fatalf("%s/%d has no leader", topic, partition)
	return ""
}

// ready: Apache Kafka tells of a leader before it leads. Ours must not.
func ready(t testing.TB, leader, topic string, partition int32) bool {
	if !External() {
		return true
	}
	c := Dial(t, leader)
	defer c.Close()
	r := kmsg.NewPtrListOffsetsRequest()
	r.Version, r.ReplicaID = 1, -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, -1
	one := kmsg.NewListOffsetsRequestTopic()
	one.Topic, one.Partitions = topic, append(one.Partitions, p)
	r.Topics = append(r.Topics, one)
	return c.Do(r).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode == 0
}

// Metadata asks for one topic, without creating it.
func Metadata(t testing.TB, s *Server, topic string) *kmsg.MetadataResponse {
	t.Helper()
	r := kmsg.NewPtrMetadataRequest()
	r.Version = 12
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = &topic
	r.Topics = []kmsg.MetadataRequestTopic{one}
	c := Dial(t, s.Bootstrap[0])
	defer c.Close()
	return c.Do(r).(*kmsg.MetadataResponse)
}

// Produce sends batches to one partition and returns the answer for it.
func Produce(c *Conn, version int16, topic string, partition int32, batches ...[]byte) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	answer := c.Do(ProduceRequest(version, topic, partition, batches...)).(*kmsg.ProduceResponse)
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		c.t.Fatalf("produce v%d: %+v", version, answer)
	}
	return answer.Topics[0].Partitions[0]
}

// ProduceRequest makes a request with acks=all for one partition.
func ProduceRequest(version int16, topic string, partition int32, batches ...[]byte) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks, r.TimeoutMillis = version, -1, 5000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, bytes.Join(batches, nil)
	one := kmsg.NewProduceRequestTopic()
	one.Topic, one.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	r.Topics = []kmsg.ProduceRequestTopic{one}
	return r
}

func hostPort(host string, port int32) string { return net.JoinHostPort(host, fmt.Sprint(port)) }

// tryMetadata asks for brokers only; false if nobody answers.
func tryMetadata(address string) (*kmsg.MetadataResponse, bool) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return nil, false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	r := kmsg.NewPtrMetadataRequest()
	r.Version, r.Topics = 9, []kmsg.MetadataRequestTopic{}
	frame, _ := (&Conn{conn: conn}).Frame(r)
	if _, err := conn.Write(frame); err != nil {
		return nil, false
	}
	answer, err := readFrame(conn)
	if err != nil {
		return nil, false
	}
	_, response, err := parse(r, answer)
	m, ok := response.(*kmsg.MetadataResponse)
	return m, ok && err == nil && len(m.Brokers) > 0
}
