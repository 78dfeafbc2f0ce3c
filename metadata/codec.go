package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// A value is one byte of version and then its fields: numbers as (u)varint,
// strings and lists with their length before them. A later release that adds
// something writes version 2 and goes on reading version 1. Nothing may follow
// the last field.
const codecVersion = 1

var errValue = errors.New("metadata: malformed value")

// reader takes a value apart. After the first fault it reads zeros; done
// tells about it. Lengths are checked against the bytes that are there, so
// that a value can't claim memory that it doesn't bring.
type reader struct {
	b   []byte
	bad bool
}

func newReader(b []byte) *reader {
	r := &reader{b: b}
	if v := r.byte(); v != codecVersion {
		r.bad = true
	}
	return r
}

func (r *reader) done() error {
	if r.bad || len(r.b) != 0 {
		return errValue
	}
	return nil
}

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	head := r.b[:n]
	r.b = r.b[n:]
	return head
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// uvarint reads a number up to limit.
func (r *reader) uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 || v > limit {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int32() int32 { return int32(r.uvarint(math.MaxInt32)) }
func (r *reader) int64() int64 { return int64(r.uvarint(math.MaxInt64)) }

// len reads the length of a list whose elements take at least size bytes each.
func (r *reader) len(size int) int {
	n := r.uvarint(math.MaxInt32)
	if n > uint64(len(r.b)/size) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) string() string { return string(r.take(uint64(r.len(1)))) }

// ids appends a list of broker ids to arena and returns the part that it took.
func (r *reader) ids(arena *[]int32) []int32 {
	from := len(*arena)
	for n := r.len(1); n > 0; n-- {
		*arena = append(*arena, r.int32())
	}
	return slices.Clip((*arena)[from:])
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendIDs(b []byte, ids []int32) []byte {
	b = binary.AppendUvarint(b, uint64(len(ids)))
	for _, id := range ids {
		b = appendInt32(b, id)
	}
	return b
}

func appendInt32(b []byte, v int32) []byte { return appendInt64(b, int64(v)) }

func appendInt64(b []byte, v int64) []byte {
	if v < 0 {
		panic(fmt.Sprintf("metadata: %d can't be stored, it is negative", v))
	}
	return binary.AppendUvarint(b, uint64(v))
}

func encodeCluster(id string) []byte { return appendString([]byte{codecVersion}, id) }

func decodeCluster(b []byte) (string, error) {
	r := newReader(b)
	id := r.string()
	return id, r.done()
}

func encodeProducerIDs(next int64) []byte { return appendInt64([]byte{codecVersion}, next) }

func decodeProducerIDs(b []byte) (int64, error) {
	r := newReader(b)
	next := r.int64()
	return next, r.done()
}

// The second byte of a broker's value.
const (
	brokerGone       = 0
	brokerRegistered = 1
)

func encodeBrokerGone() []byte { return []byte{codecVersion, brokerGone} }

func encodeBroker(br *Broker) []byte {
	b := []byte{codecVersion, brokerRegistered}
	b = binary.LittleEndian.AppendUint64(b, br.Incarnation)
	b = appendString(b, br.Rack)
	b = binary.AppendUvarint(b, uint64(len(br.Endpoints)))
	for _, e := range br.Endpoints {
		b = appendString(b, e.Name)
		b = appendString(b, e.Host)
		b = appendInt32(b, e.Port)
		b = appendString(b, e.SecurityProtocol)
	}
	return b
}

// decodeBroker returns nil for the note that the broker is gone.
func decodeBroker(id int32, b []byte) (*Broker, error) {
	r := newReader(b)
	switch r.byte() {
	case brokerGone:
		return nil, r.done()
	case brokerRegistered:
	default:
		return nil, errValue
	}
	br := &Broker{ID: id}
	if raw := r.take(8); raw != nil {
		br.Incarnation = binary.LittleEndian.Uint64(raw)
	}
	br.Rack = r.string()
	for n := r.len(4); n > 0 && !r.bad; n-- {
		br.Endpoints = append(br.Endpoints, Endpoint{
			Name: r.string(), Host: r.string(), Port: int32(r.uvarint(math.MaxUint16)), SecurityProtocol: r.string(),
		})
	}
	return br, r.done()
}

// encodeTopic writes of each partition its replicas only: that is all that
// there is to a partition that was just created.
func encodeTopic(id TopicID, partitions ...[]Partition) []byte {
	n := 0
	for _, list := range partitions {
		n += len(list)
	}
	b := make([]byte, 0, 1+len(id)+binary.MaxVarintLen32+4*n)
	b = append(append(b, codecVersion), id[:]...)
	b = binary.AppendUvarint(b, uint64(n))
	for _, list := range partitions {
		for i := range list {
			b = appendIDs(b, list[i].Replicas)
		}
	}
	return b
}

// decodeTopic returns the topic with every partition as it was created: led by
// its first replica, all replicas in the ISR, epochs 0.
func decodeTopic(name string, b []byte) (*Topic, error) {
	r := newReader(b)
	t := &Topic{Name: name, Internal: IsInternal(name)}
	copy(t.ID[:], r.take(uint64(len(t.ID))))
	n := r.len(2)
	arena := make([]int32, 0, max(0, len(r.b)-n)) // a replica takes a byte or more, and so does each list
	t.Partitions = make([]Partition, n)
	for i := range t.Partitions {
		replicas := r.ids(&arena)
		if len(replicas) == 0 {
			return nil, errValue
		}
		t.Partitions[i] = NewPartition(replicas)
	}
	if n == 0 || t.ID.IsZero() {
		return nil, errValue
	}
	return t, r.done()
}

// NewPartition is a partition as it is created: the first of replicas leads,
// all of them are in the ISR, and every epoch is 0. It keeps replicas.
func NewPartition(replicas []int32) Partition {
	return Partition{Leader: replicas[0], Replicas: replicas, ISR: replicas}
}

func encodePartition(p *Partition) []byte {
	b := make([]byte, 0, 24+2*(len(p.Replicas)+len(p.ISR)))
	b = append(b, codecVersion)
	b = binary.AppendVarint(b, int64(p.Leader))
	b = appendInt32(b, p.LeaderEpoch)
	b = appendInt32(b, p.PartitionEpoch)
	b = appendInt32(b, p.LossGeneration)
	b = appendIDs(b, p.Replicas)
	return appendIDs(b, p.ISR)
}

func decodePartition(b []byte) (Partition, error) {
	r := newReader(b)
	leader, n := binary.Varint(r.b)
	if n <= 0 || leader < int64(NoBroker) || leader > math.MaxInt32 {
		return Partition{}, errValue
	}
	r.take(uint64(n))
	p := Partition{Leader: int32(leader), LeaderEpoch: r.int32(), PartitionEpoch: r.int32(), LossGeneration: r.int32()}
	var arena []int32
	p.Replicas = r.ids(&arena)
	p.ISR = r.ids(&arena)
	if len(p.Replicas) == 0 {
		return Partition{}, errValue
	}
	return p, r.done()
}

func encodeConfigs(configs map[string]string) []byte {
	names := sortedKeys(configs)
	b := binary.AppendUvarint([]byte{codecVersion}, uint64(len(names)))
	for _, name := range names {
		b = appendString(appendString(b, name), configs[name])
	}
	return b
}

// decodeConfigs returns nil for no settings.
func decodeConfigs(b []byte) (map[string]string, error) {
	r := newReader(b)
	n := r.len(2)
	if n == 0 {
		return nil, r.done()
	}
	configs := make(map[string]string, n)
	for i := 0; i < n && !r.bad; i++ {
		name := r.string()
		configs[name] = r.string()
	}
	if len(configs) != n {
		return nil, errValue
	}
	return configs, r.done()
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
