package floor

import (
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/bench/wire"
)

const (
	keyApiVersions         = 18
	codeUnsupportedVersion = 35
)

// spoken are the APIs and their newest versions.
var spoken = []kmsg.ApiVersionsResponseApiKey{
	{ApiKey: 0, MinVersion: 3, MaxVersion: 9},
	{ApiKey: 1, MinVersion: 4, MaxVersion: 12},
	{ApiKey: 2, MinVersion: 1, MaxVersion: 7},
	{ApiKey: 3, MinVersion: 0, MaxVersion: 9},
	{ApiKey: 18, MinVersion: 0, MaxVersion: 3},
	{ApiKey: 19, MinVersion: 2, MaxVersion: 6},
	{ApiKey: 20, MinVersion: 1, MaxVersion: 5},
	{ApiKey: 22, MinVersion: 0, MaxVersion: 4},
}

// node is the one broker that the floor pretends to be. Only the server's loop uses it.
type node struct {
	host       string
	port       int32
	partitions int32
	created    map[string]int32 // partitions of the topics that were created
	producers  int64
}

func newNode(addr string, partitions int) (*node, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	p, err := strconv.Atoi(port)
	return &node{host: host, port: int32(p), partitions: int32(max(partitions, 1)), created: map[string]int32{}}, err
}

// cold appends the answer to a request off the measured path. end gives the end of a partition.
func (n *node) cold(frame, out []byte, end func(partition int32) int64) ([]byte, error) {
	r := wire.Reader{B: frame}
	key, version, correlation := r.Int16(), r.Int16(), r.Int32()
	r.String()
	req := kmsg.RequestForKey(key)
	if r.Bad || req == nil {
		return out, fmt.Errorf("a request of key %d", key)
	}
	newest, unsupported := newestOf(key), int16(0)
	switch {
	case version > newest && key == keyApiVersions:
		// KIP-511: an error in the form that every client can read, which says what is spoken.
		version, unsupported = 0, codeUnsupportedVersion
	case version > newest:
		return out, fmt.Errorf("%s version %d", kmsg.NameForKey(key), version)
	}
	req.SetVersion(version)
	if r.Flexible = req.IsFlexible(); r.Flexible {
		r.Tags()
	}
	if err := req.ReadFrom(r.B); err != nil && unsupported == 0 {
		return out, fmt.Errorf("%s: %w", kmsg.NameForKey(key), err)
	}
	res, err := n.reply(req, end)
	if err != nil {
		return out, err
	}
	if v, ok := res.(*kmsg.ApiVersionsResponse); ok {
		v.ErrorCode = unsupported
	}
	w := wire.Writer{B: out, Flexible: res.IsFlexible() && key != keyApiVersions} // its header never has tags
	at := w.Begin(correlation)
	w.B = res.AppendTo(w.B)
	w.End(at)
	return w.B, nil
}

func newestOf(key int16) int16 {
	for _, k := range spoken {
		if k.ApiKey == key {
			return k.MaxVersion
		}
	}
	return -1
}

func (n *node) reply(req kmsg.Request, end func(int32) int64) (kmsg.Response, error) {
	res := req.ResponseKind()
	switch q := req.(type) {
	case *kmsg.ApiVersionsRequest:
		res.(*kmsg.ApiVersionsResponse).ApiKeys = spoken
	case *kmsg.MetadataRequest:
		n.metadata(q, res.(*kmsg.MetadataResponse))
	case *kmsg.ListOffsetsRequest:
		listOffsets(q, res.(*kmsg.ListOffsetsResponse), end)
	case *kmsg.CreateTopicsRequest:
		n.create(q, res.(*kmsg.CreateTopicsResponse))
	case *kmsg.DeleteTopicsRequest:
		for _, name := range q.TopicNames {
			delete(n.created, name)
			t := kmsg.NewDeleteTopicsResponseTopic()
			t.Topic = kmsg.StringPtr(name)
			res.(*kmsg.DeleteTopicsResponse).Topics = append(res.(*kmsg.DeleteTopicsResponse).Topics, t)
		}
	case *kmsg.InitProducerIDRequest:
		n.producers++
		res.(*kmsg.InitProducerIDResponse).ProducerID = n.producers
	default:
		return nil, fmt.Errorf("%s isn't spoken", kmsg.NameForKey(req.Key()))
	}
	return res, nil
}

func (n *node) metadata(q *kmsg.MetadataRequest, res *kmsg.MetadataResponse) {
	b := kmsg.NewMetadataResponseBroker()
	b.Host, b.Port = n.host, n.port
	res.Brokers = append(res.Brokers, b)
	for _, asked := range q.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic = asked.Topic
		partitions := n.partitions
		if asked.Topic != nil {
			copy(t.TopicID[:], *asked.Topic)
			if p, ok := n.created[*asked.Topic]; ok {
				partitions = p
			}
		}
		for p := range partitions {
			mp := kmsg.NewMetadataResponseTopicPartition()
			mp.Partition, mp.Replicas, mp.ISR = p, []int32{0}, []int32{0}
			t.Partitions = append(t.Partitions, mp)
		}
		res.Topics = append(res.Topics, t)
	}
}

func (n *node) create(q *kmsg.CreateTopicsRequest, res *kmsg.CreateTopicsResponse) {
	for _, t := range q.Topics {
		rt := kmsg.NewCreateTopicsResponseTopic()
		rt.Topic = t.Topic
		if t.NumPartitions > 0 {
			n.created[t.Topic] = min(t.NumPartitions, n.partitions)
		}
		res.Topics = append(res.Topics, rt)
	}
}

func listOffsets(q *kmsg.ListOffsetsRequest, res *kmsg.ListOffsetsResponse, end func(int32) int64) {
	for _, t := range q.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.LeaderEpoch, rp.Offset = p.Partition, -1, 0
			if p.Timestamp == wire.Latest {
				rp.Offset = end(p.Partition)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		res.Topics = append(res.Topics, rt)
	}
}
