package metadata

import (
	"slices"
	"strings"
	"sync"
)

// Image is the cluster's metadata at one revision. It never changes, so any
// number of readers share it without a lock; whoever holds the newest one keeps
// it in an atomic pointer. Apply and Replay make the next one, which shares
// with the old one everything that didn't change.
type Image struct {
	revision  int64
	clusterID string

	brokers    []*Broker     // by id
	removed    []removedID   // by id
	alive      []BrokerAlive // by id
	controller ControllerElected
	resources  map[ConfigResource]resourceConfigs

	byName     shards[string, *Topic]
	byID       shards[TopicID, *Topic]
	collisions shards[string, *Topic] // by NormalName, of those topics that can collide

	topicCount     int
	partitionCount int
	placed         int64

	producerIDNext     int64
	producerIDRevision int64

	sortOnce sync.Once
	sorted   []*Topic
}

// removedID is the id of a broker that was removed, and the revision of the
// key that says so.
type removedID struct {
	id       int32
	revision int64
}

var empty = &Image{}

// Empty is the image of a cluster in which there is nothing, at revision 0.
func Empty() *Image { return empty }

// Revision is the Store's revision that the image shows.
func (img *Image) Revision() int64 { return img.revision }

// ClusterID is "" in an image that comes before the first ClusterNamed.
func (img *Image) ClusterID() string { return img.clusterID }

// ControllerID is the broker that clients are told to send admin requests to:
// of those that aren't fenced the one with the lowest id, or NoBroker. Every
// broker of the cluster takes such requests, so nothing hangs on the choice but
// that it is a broker that is there. It has nothing to do with Controller.
func (img *Image) ControllerID() int32 {
	for _, b := range img.brokers {
		if !b.Fenced {
			return b.ID
		}
	}
	return NoBroker
}

// Controller is who was elected to decide about the cluster; its Token is 0
// if nobody is.
func (img *Image) Controller() ControllerElected { return img.controller }

// Brokers returns the registered brokers by id. The caller must not change it.
func (img *Image) Brokers() []*Broker { return img.brokers }

// Broker returns the registration of id, or nil.
func (img *Image) Broker(id int32) *Broker {
	if i, ok := img.findBroker(id); ok {
		return img.brokers[i]
	}
	return nil
}

// Live tells whether m is registered in this life and not fenced.
func (img *Image) Live(m Member) bool {
	b := img.Broker(m.Broker)
	return b != nil && b.Incarnation == m.Incarnation && m.Incarnation != 0 && !b.Fenced
}

// Void tells whether m is of the past: the broker is registered in another life,
// or not any more. What it held is gone.
func (img *Image) Void(m Member) bool {
	b := img.Broker(m.Broker)
	return b == nil || b.Incarnation != m.Incarnation || m.Incarnation == 0
}

// LeaderOf is who leads p as of this image: NoBroker also while the leader's
// entry is void, or it is fenced, and nobody was elected yet.
func (img *Image) LeaderOf(p *Partition) int32 {
	if m := p.LeaderMember(); m != NoMember && img.Live(m) {
		return m.Broker
	}
	return NoBroker
}

// LiveISR is the ISR of p without the entries that don't count as of this image: of
// brokers that are fenced, or have registered again. The slice may be shared: nobody
// writes to it.
func (img *Image) LiveISR(p *Partition) []int32 {
	for i := range p.ISR {
		if !img.liveEntry(p, i) {
			return img.liveISR(p, i)
		}
	}
	return p.ISR
}

// liveISR is LiveISR where the first entry that doesn't count is known.
func (img *Image) liveISR(p *Partition, first int) []int32 {
	live := append([]int32{}, p.ISR[:first]...)
	for i := first + 1; i < len(p.ISR); i++ {
		if img.liveEntry(p, i) {
			live = append(live, p.ISR[i])
		}
	}
	return live
}

func (img *Image) liveEntry(p *Partition, i int) bool {
	return img.Live(Member{p.ISR[i], p.ISRIncarnations[i]})
}

// Offline lists the replicas of p whose brokers are fenced or not registered; nil
// for none.
func (img *Image) Offline(p *Partition) (ids []int32) {
	for _, id := range p.Replicas {
		if b := img.Broker(id); b == nil || b.Fenced {
			ids = append(ids, id)
		}
	}
	return ids
}

// Alive returns the life in which a broker is heard of; 0: it isn't.
func (img *Image) Alive(id int32) (incarnation uint64) {
	if i, ok := img.findAlive(id); ok {
		return img.alive[i].Incarnation
	}
	return 0
}

func (img *Image) findAlive(id int32) (int, bool) {
	return slices.BinarySearchFunc(img.alive, id, func(a BrokerAlive, id int32) int { return int(a.ID) - int(id) })
}

func (img *Image) findBroker(id int32) (int, bool) {
	return slices.BinarySearchFunc(img.brokers, id, func(b *Broker, id int32) int { return int(b.ID) - int(id) })
}

func (img *Image) findRemoved(id int32) (int, bool) {
	return slices.BinarySearchFunc(img.removed, id, func(r removedID, id int32) int { return int(r.id) - int(id) })
}

// FreeBrokerID is the lowest id from 1 on that no broker has or had.
func (img *Image) FreeBrokerID() int32 {
	id, b, r := int32(1), 0, 0
	for {
		for b < len(img.brokers) && img.brokers[b].ID < id {
			b++
		}
		for r < len(img.removed) && img.removed[r].id < id {
			r++
		}
		switch {
		case b < len(img.brokers) && img.brokers[b].ID == id:
		case r < len(img.removed) && img.removed[r].id == id:
		default:
			return id
		}
		id++
	}
}

// Topic returns the topic of that name, or nil.
func (img *Image) Topic(name string) *Topic {
	t, _ := img.byName.get(nameShard(name), name)
	return t
}

// TopicBytes is Topic for a name in a request's bytes: it allocates nothing.
func (img *Image) TopicBytes(name []byte) *Topic {
	if img.byName.table == nil {
		return nil
	}
	return img.byName.table[nameShardBytes(name)][string(name)]
}

// TopicByID returns the topic with that id, or nil.
func (img *Image) TopicByID(id TopicID) *Topic {
	t, _ := img.byID.get(idShard(id), id)
	return t
}

// Colliding returns a topic whose name collides with name without being equal
// to it (NormalName), or nil.
func (img *Image) Colliding(name string) *Topic {
	if !canCollide(name) {
		return nil
	}
	normal := NormalName(name)
	if t, ok := img.collisions.get(nameShard(normal), normal); ok && t.Name != name {
		return t
	}
	return nil
}

// TopicCount is the number of topics.
func (img *Image) TopicCount() int { return img.topicCount }

// PartitionCount is the number of partitions of all topics.
func (img *Image) PartitionCount() int { return img.partitionCount }

// Placed counts the partitions that were created since the image before all
// images. Placement goes on from there round robin. It is a hint: an image that
// was loaded from a store counts the partitions that it finds there.
func (img *Image) Placed() int64 { return img.placed }

// ProducerIDNext is the first producer id that no block covers yet.
func (img *Image) ProducerIDNext() int64 { return img.producerIDNext }

// Topics returns all topics by name. The first call on an image sorts them (a
// few milliseconds for 10,000), so a hot path asks for topics by name instead.
// The caller must not change the slice.
func (img *Image) Topics() []*Topic {
	img.sortOnce.Do(func() {
		img.sorted = make([]*Topic, 0, img.topicCount)
		img.byName.each(func(t *Topic) { img.sorted = append(img.sorted, t) })
		slices.SortFunc(img.sorted, func(a, b *Topic) int { return strings.Compare(a.Name, b.Name) })
	})
	return img.sorted
}
