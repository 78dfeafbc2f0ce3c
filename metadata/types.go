package metadata

import (
	"encoding/base64"
	"fmt"
	"net"
	"strconv"
)

// NoBroker stands where a broker id is expected and there is none: the leader
// of an offline partition, the controller of an empty cluster.
const NoBroker int32 = -1

// TopicID is the 128-bit id of a topic (KIP-516). A topic that is deleted and
// made again under the same name has another id. The zero value is no id.
type TopicID [16]byte

// ParseTopicID reads the form that String writes.
func ParseTopicID(s string) (TopicID, error) {
	var id TopicID
	if len(s) != topicIDTextLen {
		return TopicID{}, fmt.Errorf("topic id %q: want %d characters of url-safe base64", s, topicIDTextLen)
	}
	if _, err := base64.RawURLEncoding.Strict().Decode(id[:], []byte(s)); err != nil {
		return TopicID{}, fmt.Errorf("topic id %q: %w", s, err)
	}
	return id, nil
}

const topicIDTextLen = 22

// String is Kafka's text form: 22 characters of url-safe base64, no padding.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// IsZero tells whether id is the absent id.
func (id TopicID) IsZero() bool { return id == TopicID{} }

// Endpoint is one address that a broker advertises.
type Endpoint struct {
	Name             string // the listener's name, e.g. "PLAINTEXT"
	Host             string
	Port             int32  // 1..65535; 0 for a listener that isn't bound yet
	SecurityProtocol string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
}

// String is NAME://HOST:PORT, with brackets around an IPv6 host.
func (e Endpoint) String() string {
	return e.Name + "://" + net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// Broker is one registration. It is immutable.
type Broker struct {
	ID int32 // ≥ 0; the central server issues them from 1

	// Incarnation is a random number drawn when the broker, and so its RAM,
	// came to life. Whoever has to know whether a replica still holds its data
	// compares incarnations; a lease id would be the same before and after a
	// quick restart, or differ although the RAM is intact.
	Incarnation uint64

	Rack      string // "" for none
	Endpoints []Endpoint

	Revision int64 // of the registration's key in the Store; 0 for one that isn't stored yet
}

// Endpoint returns the endpoint of the listener name, and whether it exists.
func (b *Broker) Endpoint(name string) (Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Name == name {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Topic is one topic with all its partitions. It is immutable, the slices and
// the map included.
type Topic struct {
	Name       string
	ID         TopicID
	Partitions []Partition       // index = partition id; never empty
	Configs    map[string]string // the topic's own settings only; nil for none
	Internal   bool              // IsInternal(Name)

	Revision       int64 // of the topic's key in the Store; 0 for one that isn't stored yet
	ConfigRevision int64 // of the key of its settings; 0 for one that has none
}

// ReplicationFactor is the number of replicas of partition 0, which Kafka
// takes for the topic's.
func (t *Topic) ReplicationFactor() int16 {
	if len(t.Partitions) == 0 {
		return 0
	}
	return int16(len(t.Partitions[0].Replicas))
}

// Partition is the state of one partition. Replicas and ISR are shared between
// images, and may be one slice: nobody writes to them.
type Partition struct {
	Leader         int32 // NoBroker: offline
	LeaderEpoch    int32 // from 0; rises with each election
	PartitionEpoch int32 // from 0; rises with each change of this state
	LossGeneration int32 // from 0; rises when the partition's records were lost, which is declared and never silent

	Replicas []int32 // in order of preference; never empty
	ISR      []int32 // a subset of Replicas

	Revision int64 // of the partition's own key in the Store; 0 while it is as its topic was created
}

// HasReplica tells whether broker id holds a replica of the partition.
func (p *Partition) HasReplica(id int32) bool {
	for _, r := range p.Replicas {
		if r == id {
			return true
		}
	}
	return false
}
