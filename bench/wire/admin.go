package wire

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// Topic is a topic with the address of each partition's leader, by partition.
type Topic struct {
	Name    string
	Leaders []string
	// Created is how long CreateTopics took, if CreateTopic made it.
	Created time.Duration
}

// TopicSpec is a topic to be made.
type TopicSpec struct {
	Name       string
	Partitions int
	Replicas   int // 0: 1
	Configs    map[string]string
}

// CreateTopics makes topics and says how long the request took. Their leaders may come later.
func (c *Conn) CreateTopics(specs ...TopicSpec) (time.Duration, error) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	for _, s := range specs {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = s.Name, int32(s.Partitions), int16(max(s.Replicas, 1))
		for k, v := range s.Configs {
			config := kmsg.NewCreateTopicsRequestTopicConfig()
			config.Name, config.Value = k, kmsg.StringPtr(v)
			t.Configs = append(t.Configs, config)
		}
		req.Topics = append(req.Topics, t)
	}
	start := time.Now()
	res, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	took := time.Since(start)
	for _, t := range res.(*kmsg.CreateTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			return took, codeError("CreateTopics "+t.Topic, t.ErrorCode, t.ErrorMessage)
		}
	}
	return took, nil
}

// CreateTopic makes a topic and waits, no longer than the connection's timeout, until each partition has a leader.
func (c *Conn) CreateTopic(s TopicSpec) (*Topic, error) {
	took, err := c.CreateTopics(s)
	if err != nil {
		return nil, err
	}
	t, err := c.AwaitTopic(s.Name, s.Partitions)
	if err == nil {
		t.Created = took
	}
	return t, err
}

// AwaitTopic asks for a topic until it has so many partitions, each with a leader that knows that it leads: Apache
// Kafka's Metadata may be ahead of the broker's own state.
func (c *Conn) AwaitTopic(name string, partitions int) (*Topic, error) {
	for end := time.Now().Add(c.timeout); ; time.Sleep(5 * time.Millisecond) {
		t, err := c.Topic(name)
		if err == nil && len(t.Leaders) >= partitions {
			if err = c.led(t); err == nil {
				return t, nil
			}
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("topic %s has no leaders for %d partitions: %w", name, partitions, err)
		}
	}
}

// led asks every leader for an offset of its partitions.
func (c *Conn) led(t *Topic) error {
	by := map[string][]int32{}
	for p, addr := range t.Leaders {
		by[addr] = append(by[addr], int32(p))
	}
	for addr, partitions := range by {
		leader := c
		if addr != c.Addr {
			var err error
			if leader, err = Dial(addr, c.timeout); err != nil {
				return err
			}
		}
		_, err := leader.Offsets(t.Name, Latest, partitions)
		if leader != c {
			_ = leader.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Topic asks for a topic; a partition without a leader is an error.
func (c *Conn) Topic(name string) (*Topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, t)
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	m := res.(*kmsg.MetadataResponse)
	brokers := map[int32]string{}
	for _, b := range m.Brokers {
		brokers[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	if len(m.Topics) != 1 {
		return nil, fmt.Errorf("Metadata of %s: %d topics", name, len(m.Topics))
	}
	if code := m.Topics[0].ErrorCode; code != 0 {
		return nil, codeError("Metadata "+name, code, nil)
	}
	topic := &Topic{Name: name, Leaders: make([]string, len(m.Topics[0].Partitions))}
	for _, p := range m.Topics[0].Partitions {
		if p.Partition < 0 || int(p.Partition) >= len(topic.Leaders) || brokers[p.Leader] == "" {
			return nil, fmt.Errorf("Metadata of %s: partition %d has leader %d, error %v", name, p.Partition, p.Leader,
				protocol.Code(p.ErrorCode))
		}
		topic.Leaders[p.Partition] = brokers[p.Leader]
	}
	return topic, nil
}

// DeleteTopics removes topics; one that isn't there is no error.
func (c *Conn) DeleteTopics(names ...string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	for _, name := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics, req.TopicNames = append(req.Topics, t), append(req.TopicNames, name)
	}
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	for _, t := range res.(*kmsg.DeleteTopicsResponse).Topics {
		if code := protocol.Code(t.ErrorCode); code != protocol.None && code != protocol.UnknownTopicOrPartition {
			return codeError("DeleteTopics", t.ErrorCode, t.ErrorMessage)
		}
	}
	return nil
}

// Timestamps that ask ListOffsets for an end of the log.
const (
	Latest   = -1
	Earliest = -2
)

// Offsets asks the leader, which this connection must be to, for an offset of each partition.
func (c *Conn) Offsets(topic string, timestamp int64, partitions []int32) (map[int32]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, index := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = index, timestamp
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	offsets := map[int32]int64{}
	for _, rt := range res.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range rt.Partitions {
			if p.ErrorCode != 0 {
				return nil, codeError("ListOffsets", p.ErrorCode, nil)
			}
			offsets[p.Partition] = p.Offset
		}
	}
	return offsets, nil
}

// InitProducerID draws a producer id.
func (c *Conn) InitProducerID() (id int64, epoch int16, err error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = 60000
	res, err := c.Do(req)
	if err != nil {
		return 0, 0, err
	}
	r := res.(*kmsg.InitProducerIDResponse)
	if r.ErrorCode != 0 {
		return 0, 0, codeError("InitProducerId", r.ErrorCode, nil)
	}
	return r.ProducerID, r.ProducerEpoch, nil
}

func codeError(api string, code int16, message *string) error {
	e := &CodeError{API: api, Code: protocol.Code(code)}
	if message != nil {
		e.Message = *message
	}
	return e
}

// Brokers asks how many brokers there are.
func (c *Conn) Brokers() (int, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none; null would be all
	res, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	return len(res.(*kmsg.MetadataResponse).Brokers), nil
}

// MetadataTook asks for a topic, or for all if there is no name, and gives the time until the whole answer was there,
// without decoding it.
func (c *Conn) MetadataTook(topic string) (time.Duration, error) {
	req := kmsg.NewPtrMetadataRequest()
	if topic != "" {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
	}
	start := time.Now()
	_, err := c.exchange(req)
	return time.Since(start), err
}
