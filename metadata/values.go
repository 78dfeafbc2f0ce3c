package metadata

import (
	"encoding/binary"
	"math"
	"slices"
)

func encodeCluster(id string) []byte { return appendString([]byte{codecVersion}, id) }

func decodeCluster(b []byte) (string, error) {
	r := newReader(b, codecVersion)
	id := r.string()
	return id, r.done()
}

func encodeProducerIDs(next int64) []byte { return appendInt64([]byte{codecVersion}, next) }

func decodeProducerIDs(b []byte) (int64, error) {
	r := newReader(b, codecVersion)
	next := r.int64()
	return next, r.done()
}

func encodeController(name string, token uint64) []byte {
	return appendString(binary.LittleEndian.AppendUint64([]byte{codecVersion}, token), name)
}

func decodeController(b []byte) (ControllerElected, error) {
	r := newReader(b, codecVersion)
	d := ControllerElected{Token: r.uint64()}
	d.Name = r.string()
	if d.Token == 0 {
		return d, errValue
	}
	return d, r.done()
}

func encodeAlive(incarnation uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{codecVersion}, incarnation)
}

func decodeAlive(b []byte) (incarnation uint64, err error) {
	r := newReader(b, codecVersion)
	if incarnation = r.uint64(); incarnation == 0 {
		return 0, errValue
	}
	return incarnation, r.done()
}

// The second byte of a broker's value.
const (
	brokerGone       = 0
	brokerRegistered = 1
)

// The flags of a registration.
const (
	flagFenced   = 1
	flagDraining = 2
)

func encodeBrokerGone() []byte { return []byte{codecVersion, brokerGone} }

func encodeBroker(br *Broker) []byte {
	b := []byte{brokerVersion, brokerRegistered}
	b = binary.LittleEndian.AppendUint64(b, br.Incarnation)
	b = appendString(b, br.Rack)
	b = binary.AppendUvarint(b, uint64(len(br.Endpoints)))
	for _, e := range br.Endpoints {
		b = appendString(b, e.Name)
		b = appendString(b, e.Host)
		b = appendInt32(b, e.Port)
		b = appendString(b, e.SecurityProtocol)
	}
	var flags byte
	if br.Fenced {
		flags |= flagFenced
	}
	if br.Draining {
		flags |= flagDraining
	}
	return append(b, flags)
}

// decodeBroker returns nil for the note that the broker is gone.
func decodeBroker(id int32, b []byte) (*Broker, error) {
	r := newReader(b, brokerVersion)
	switch r.byte() {
	case brokerGone:
		return nil, r.done()
	case brokerRegistered:
	default:
		return nil, errValue
	}
	br := &Broker{ID: id, Incarnation: r.uint64(), Rack: r.string()}
	for n := r.len(4); n > 0 && !r.bad; n-- {
		br.Endpoints = append(br.Endpoints, Endpoint{
			Name: r.string(), Host: r.string(), Port: int32(r.uvarint(math.MaxUint16)), SecurityProtocol: r.string(),
		})
	}
	if r.version >= 2 {
		flags := r.uvarint(flagFenced | flagDraining)
		br.Fenced, br.Draining = flags&flagFenced != 0, flags&flagDraining != 0
	}
	return br, r.done()
}

// encodeTopic writes of each partition what there is to one that was just
// created: its replicas, who of them is in sync in which life, and MinInSync.
// Members are written once and referred to by their place, so that ten thousand
// partitions don't write ten thousand times which incarnation broker 1 has.
func encodeTopic(id TopicID, partitions ...[]Partition) []byte {
	places := make(map[Member]uint64)
	var table, body []byte
	n := 0
	for _, list := range partitions {
		n += len(list)
		for i := range list {
			p := &list[i]
			body = appendInt32(body, p.MinInSync)
			body = binary.AppendUvarint(body, uint64(len(p.Replicas)))
			next := 0 // in the ISR, which is in the order of the replicas in what was just created
			for _, replica := range p.Replicas {
				m := Member{Broker: replica}
				if next < len(p.ISR) && p.ISR[next] == replica {
					m.Incarnation = p.ISRIncarnations[next]
					next++
				}
				place, known := places[m]
				if !known {
					place = uint64(len(places))
					places[m] = place
					table = appendInt32(table, m.Broker)
					table = binary.LittleEndian.AppendUint64(table, m.Incarnation)
				}
				body = binary.AppendUvarint(body, place)
			}
		}
	}
	b := make([]byte, 0, 1+len(id)+2*binary.MaxVarintLen32+len(table)+len(body))
	b = append(append(b, topicVersion), id[:]...)
	b = binary.AppendUvarint(b, uint64(len(places)))
	b = append(b, table...)
	b = binary.AppendUvarint(b, uint64(n))
	return append(b, body...)
}

// decodeTopic returns the topic with every partition as it was created
// (NewPartition).
func decodeTopic(name string, b []byte) (*Topic, error) {
	r := newReader(b, topicVersion)
	t := &Topic{Name: name, Internal: IsInternal(name)}
	copy(t.ID[:], r.take(uint64(len(t.ID))))
	if t.ID.IsZero() {
		return nil, errValue
	}
	d := partitionsReader{reader: r}
	if r.version >= 2 {
		d.ids, d.incarnations = r.members()
	}
	t.Partitions = make([]Partition, r.len(int(r.version)+1))
	// A replica takes a byte or more, and so does each list.
	d.replicas = make([]int32, 0, max(0, len(r.b)-len(t.Partitions)))
	d.lives = make([]uint64, 0, cap(d.replicas))
	for i := range t.Partitions {
		t.Partitions[i] = d.partition()
		if len(t.Partitions[i].Replicas) == 0 {
			return nil, errValue
		}
	}
	if len(t.Partitions) == 0 {
		return nil, errValue
	}
	return t, r.done()
}

// partitionsReader reads a topic's partitions. Their lists share two arrays.
type partitionsReader struct {
	*reader
	ids          []int32 // of the members that are referred to
	incarnations []uint64

	replicas []int32
	lives    []uint64
}

// partition reads the next one. In version 1 it was replicas only, whose members
// are of no life that is still known.
func (d *partitionsReader) partition() Partition {
	var minInSync int32
	if d.version >= 2 {
		minInSync = d.int32()
	}
	from := len(d.replicas)
	for n := d.len(1); n > 0; n-- {
		if d.version < 2 {
			d.replicas, d.lives = append(d.replicas, d.int32()), append(d.lives, 0)
			continue
		}
		place := d.uvarint(math.MaxInt32)
		if place >= uint64(len(d.ids)) {
			d.bad = true
			break
		}
		d.replicas, d.lives = append(d.replicas, d.ids[place]), append(d.lives, d.incarnations[place])
	}
	if len(d.replicas) == from {
		return Partition{}
	}
	return NewPartition(slices.Clip(d.replicas[from:]), slices.Clip(d.lives[from:]), minInSync)
}

func encodePartition(p *Partition) []byte {
	b := make([]byte, 0, 48+4*len(p.Replicas)+9*(len(p.ISR)+len(p.ELR)))
	b = append(b, partitionVersion)
	b = binary.AppendVarint(b, int64(p.Leader))
	b = appendInt32(b, p.LeaderEpoch)
	b = appendInt32(b, p.PartitionEpoch)
	b = appendInt32(b, p.LossGeneration)
	b = appendInt32(b, p.MinInSync)
	b = appendInt64(b, p.BaseOffset)
	b = appendInt64(b, p.OffsetCeiling)
	b = appendIDs(b, p.Replicas)
	b = appendMembers(b, p.ISR, p.ISRIncarnations)
	b = appendMembers(b, p.ELR, p.ELRIncarnations)
	b = appendIDs(b, p.Adding)
	return appendIDs(b, p.Removing)
}

func decodePartition(b []byte) (Partition, error) {
	r := newReader(b, partitionVersion)
	p := Partition{Leader: r.id(), LeaderEpoch: r.int32(), PartitionEpoch: r.int32(), LossGeneration: r.int32()}
	if r.version < 2 {
		p.OffsetCeiling = OffsetCeilingStep
		p.Replicas, p.ISR = r.ids(), r.ids()
		if len(p.ISR) > 0 {
			p.ISRIncarnations = make([]uint64, len(p.ISR)) // of no life that is still known
		}
	} else {
		p.MinInSync, p.BaseOffset, p.OffsetCeiling = r.int32(), r.int64(), r.int64()
		p.Replicas = r.ids()
		p.ISR, p.ISRIncarnations = r.members()
		p.ELR, p.ELRIncarnations = r.members()
		p.Adding, p.Removing = r.ids(), r.ids()
	}
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
	r := newReader(b, codecVersion)
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
