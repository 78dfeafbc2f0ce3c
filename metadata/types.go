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

// Member is a broker for as long as its RAM lives: one that restarts is another
// member under the same id. What a partition says about its replicas' contents it
// says about members.
type Member struct {
	Broker      int32
	Incarnation uint64 // 0: of no broker that ever was
}

// NoMember is the leader of a partition that has none.
var NoMember = Member{Broker: NoBroker}

// String is broker@incarnation.
func (m Member) String() string { return fmt.Sprintf("%d@%x", m.Broker, m.Incarnation) }

// Broker is one registration. It is immutable.
type Broker struct {
	ID int32 // ≥ 0; the central server issues them from 1

	// Incarnation is a random number, not 0, drawn when the broker, and so its
	// RAM, came to life. Whoever has to know whether a replica still holds its
	// data compares incarnations; a lease id would be the same before and after a
	// quick restart, or differ although the RAM is intact.
	Incarnation uint64

	Rack      string // "" for none
	Endpoints []Endpoint

	// Fenced: it was not heard of for too long, or seen dead. It leads nothing
	// and is in no ISR, but for all anybody knows its RAM is intact: the
	// incarnation stays.
	Fenced bool

	// Draining: it is about to leave. It stays in the ISRs it is in, joins no
	// other, and leads only what nobody else can lead.
	Draining bool

	Revision int64 // of the registration's key in the Store; 0 for one that isn't stored yet
}

// Member is the broker in this life.
func (b *Broker) Member() Member { return Member{b.ID, b.Incarnation} }

// Active tells whether new work may be given to the broker.
func (b *Broker) Active() bool { return !b.Fenced && !b.Draining }

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
