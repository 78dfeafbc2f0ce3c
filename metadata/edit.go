package metadata

import (
	"fmt"
	"slices"
)

// Apply returns the image after deltas, at the same revision. A delta that
// doesn't fit the image (a change of a topic that isn't there) panics: deltas
// are planned against the image that they are applied to.
func (img *Image) Apply(deltas ...Delta) *Image {
	e := img.edit()
	for _, d := range deltas {
		e.apply(d)
	}
	return e.finish(img.revision)
}

// edit is an image in the making. What it changes it has copied first, once,
// however many deltas touch it.
type edit struct {
	next       *Image
	byName     shardsEdit[string, *Topic]
	byID       shardsEdit[TopicID, *Topic]
	collisions shardsEdit[string, *Topic]

	ownBrokers   bool
	ownRemoved   bool
	ownResources bool
	own          map[TopicID]*ownTopic
}

// ownTopic is a topic that this edit has copied.
type ownTopic struct {
	*Topic
	partitions bool // and its Partitions too
}

func (img *Image) edit() *edit {
	return &edit{
		next: &Image{
			revision: img.revision, clusterID: img.clusterID, brokers: img.brokers, removed: img.removed,
			alive: img.alive, controller: img.controller, resources: img.resources,
			topicCount: img.topicCount, partitionCount: img.partitionCount, placed: img.placed,
			producerIDNext: img.producerIDNext, producerIDRevision: img.producerIDRevision,
		},
		byName:     shardsEdit[string, *Topic]{shards: img.byName},
		byID:       shardsEdit[TopicID, *Topic]{shards: img.byID},
		collisions: shardsEdit[string, *Topic]{shards: img.collisions},
	}
}

func (e *edit) finish(revision int64) *Image {
	e.next.revision = revision
	e.next.byName, e.next.byID, e.next.collisions = e.byName.shards, e.byID.shards, e.collisions.shards
	return e.next
}

func (e *edit) topic(name string) *Topic {
	t, _ := e.byName.get(nameShard(name), name)
	return t
}

func (e *edit) topicByID(id TopicID) *Topic {
	t, _ := e.byID.get(idShard(id), id)
	return t
}

func (e *edit) apply(d Delta) {
	switch d := d.(type) {
	case ClusterNamed:
		e.next.clusterID = d.ClusterID
	case BrokerRegistered:
		e.putBroker(d.Broker)
	case BrokerChanged:
		e.putBroker(d.Broker)
	case BrokerRemoved:
		e.removeBroker(d)
	case BrokerAlive:
		e.putAlive(d)
	case BrokerSilent:
		if i, ok := e.next.findAlive(d.ID); ok {
			e.next.alive = slices.Delete(slices.Clone(e.next.alive), i, i+1)
		}
	case ControllerElected:
		e.next.controller = d
		e.next.controller.Lease = 0
	case ControllerResigned:
		e.next.controller = ControllerElected{}
	case TopicCreated:
		e.createTopic(d.Topic)
	case TopicDeleted:
		e.deleteTopic(d)
	case PartitionsAdded:
		e.addPartitions(d)
	case PartitionChanged:
		e.changePartition(d)
	case ConfigChanged:
		t := e.ownTopic(d.ID, d)
		t.Configs, t.ConfigRevision = d.Configs, d.Revision
	case ResourceConfigChanged:
		e.putResource(d)
	case ProducerIDsAllocated:
		e.next.producerIDNext, e.next.producerIDRevision = d.Next, d.Revision
	default:
		panic(fmt.Sprintf("metadata: unknown delta %T", d))
	}
}

func (e *edit) changePartition(d PartitionChanged) {
	t := e.ownTopic(d.ID, d)
	if d.Index < 0 || int(d.Index) >= len(t.Partitions) {
		panic(fmt.Sprintf("metadata: %+v: the topic has %d partitions", d, len(t.Partitions)))
	}
	if !t.partitions {
		t.partitions = true
		t.Partitions = slices.Clone(t.Partitions)
	}
	t.Partitions[d.Index] = d.Partition
}

// putAlive copies the list each time: there are few brokers, and they come to
// life rarely.
func (e *edit) putAlive(d BrokerAlive) {
	d.Lease = 0
	i, ok := e.next.findAlive(d.ID)
	e.next.alive = slices.Clone(e.next.alive)
	if ok {
		e.next.alive[i] = d
		return
	}
	e.next.alive = slices.Insert(e.next.alive, i, d)
}

func (e *edit) writeBrokers() {
	if !e.ownBrokers {
		e.ownBrokers = true
		e.next.brokers = slices.Clone(e.next.brokers)
	}
}

func (e *edit) writeRemoved() {
	if !e.ownRemoved {
		e.ownRemoved = true
		e.next.removed = slices.Clone(e.next.removed)
	}
}

func (e *edit) putBroker(b *Broker) {
	e.writeBrokers()
	i, ok := e.next.findBroker(b.ID)
	if ok {
		e.next.brokers[i] = b
		return
	}
	e.next.brokers = slices.Insert(e.next.brokers, i, b)
	if i, ok := e.next.findRemoved(b.ID); ok { // an operator brought the id back by name
		e.writeRemoved()
		e.next.removed = slices.Delete(e.next.removed, i, i+1)
	}
}

// removeBroker may meet an id that it doesn't know as registered: a store that
// is read as a whole has only the note that the broker is gone.
func (e *edit) removeBroker(d BrokerRemoved) {
	e.dropBroker(d.ID)
	e.writeRemoved()
	i, ok := e.next.findRemoved(d.ID)
	if ok {
		e.next.removed[i].revision = d.Revision
		return
	}
	e.next.removed = slices.Insert(e.next.removed, i, removedID{d.ID, d.Revision})
}

func (e *edit) dropBroker(id int32) {
	if i, ok := e.next.findBroker(id); ok {
		e.writeBrokers()
		e.next.brokers = slices.Delete(e.next.brokers, i, i+1)
	}
}

func (e *edit) createTopic(t *Topic) {
	if old := e.topic(t.Name); old != nil {
		panic(fmt.Sprintf("metadata: topic %q created, but it exists with id %v", t.Name, old.ID))
	}
	e.put(t)
	e.next.topicCount++
	e.next.partitionCount += len(t.Partitions)
	e.next.placed += int64(len(t.Partitions))
}

func (e *edit) put(t *Topic) {
	e.byName.set(nameShard(t.Name), t.Name, t)
	e.byID.set(idShard(t.ID), t.ID, t)
	if canCollide(t.Name) {
		normal := NormalName(t.Name)
		e.collisions.set(nameShard(normal), normal, t)
	}
}

func (e *edit) deleteTopic(d TopicDeleted) {
	t := e.topicByID(d.ID)
	if t == nil {
		panic(fmt.Sprintf("metadata: %+v: no such topic", d))
	}
	e.byName.remove(nameShard(t.Name), t.Name)
	e.byID.remove(idShard(t.ID), t.ID)
	if canCollide(t.Name) {
		normal := NormalName(t.Name)
		if c, _ := e.collisions.get(nameShard(normal), normal); c != nil && c.Name == t.Name {
			e.collisions.remove(nameShard(normal), normal)
		}
	}
	delete(e.own, d.ID)
	e.next.topicCount--
	e.next.partitionCount -= len(t.Partitions)
}

func (e *edit) addPartitions(d PartitionsAdded) {
	t := e.ownTopic(d.ID, d)
	if int(d.First) != len(t.Partitions) {
		panic(fmt.Sprintf("metadata: partitions from %d on added to topic %q, which has %d", d.First, d.Name, len(t.Partitions)))
	}
	t.partitions = true
	t.Partitions = append(slices.Clip(t.Partitions), d.Partitions...) // clipped: append copies
	t.Revision = d.Revision
	e.next.partitionCount += len(d.Partitions)
	e.next.placed += int64(len(d.Partitions))
}

// ownTopic returns the topic as a copy that this edit may write to.
func (e *edit) ownTopic(id TopicID, d Delta) *ownTopic {
	if own := e.own[id]; own != nil {
		return own
	}
	t := e.topicByID(id)
	if t == nil {
		panic(fmt.Sprintf("metadata: %+v: no such topic", d))
	}
	copied := *t
	own := &ownTopic{Topic: &copied}
	e.put(own.Topic)
	if e.own == nil {
		e.own = make(map[TopicID]*ownTopic)
	}
	e.own[id] = own
	return own
}
