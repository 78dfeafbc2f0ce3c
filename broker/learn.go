package broker

import (
	"iter"
	"slices"

	"millrace/broker/plog"
	"millrace/broker/replica"
	"millrace/metadata"
)

// A change of the cluster comes to the brokers of a process in three rounds: Leave, Lead, Follow, each for every broker
// before the next. So what passes from one broker to another is promised before it is asked for, and a leader knows that
// it leads before its followers ask.

// Leave takes away the replicas that this broker has in old and not in new.
func (b *Broker) Leave(old, new *metadata.Image, deltas []metadata.Delta) {
	if b.reconfigured(deltas) {
		b.configure(new)
	}
	topics, _ := touched(deltas)
	for _, touch := range topics {
		name := touch.name
		was, is := old.Topic(name), new.Topic(name)
		if was == nil {
			continue
		}
		if is == nil || is.ID != was.ID {
			is = nil
			b.deps.Handover.discard(was.ID)
			b.topicGone(name)
		}
		b.leave(was, is, touch)
	}
}

func (b *Broker) leave(was, is *metadata.Topic, touch *touch) {
	b.mu.RLock()
	hosted := b.hosted[was.ID]
	b.mu.RUnlock()
	var gone []*Partition
	for i := range touch.indexes(was) {
		if int(i) >= len(hosted) {
			break
		}
		if p := hosted[i]; p != nil && (is == nil || !is.Partitions[i].HasReplica(b.ID)) {
			gone = append(gone, p)
		}
	}
	b.forget(was.ID, gone)
	for _, p := range gone {
		if is == nil || !p.heirloom(was, is) {
			b.remove(p, nil)
			continue
		}
		b.deps.Handover.promise(p.key())
		b.remove(p, func(c contents) { b.deps.Handover.put(p.key(), c) })
	}
}

// heirloom says that the partition's next leader is to have the log of this replica: it is led by a broker that held none
// itself. The controller does that only among the brokers of one process, when a broker leaves with the only copy.
func (p *Partition) heirloom(was, is *metadata.Topic) bool {
	heir := is.Partitions[p.Index].Leader
	return heir != metadata.NoBroker && !was.Partitions[p.Index].HasReplica(heir)
}

// Lead tells the partitions that this broker leads in new what has changed, and opens those that are new.
func (b *Broker) Lead(_, new *metadata.Image, deltas []metadata.Delta) {
	b.learn(new, deltas, func(p *metadata.Partition) bool { return p.LedBy(b.Self) })
}

// Follow is Lead for the partitions that this broker doesn't lead.
func (b *Broker) Follow(_, new *metadata.Image, deltas []metadata.Delta) {
	b.learn(new, deltas, func(p *metadata.Partition) bool { return !p.LedBy(b.Self) })
	b.fetchers.forget(new.Void)
	b.topicsChanged(new, deltas)
}

// news is what one worker is told of a change of one partition.
type news struct {
	partition *Partition
	topic     *metadata.Topic
	settings  *settings // nil: as before
	fresh     bool
}

func (b *Broker) learn(img *metadata.Image, deltas []metadata.Delta, mine func(*metadata.Partition) bool) {
	topics, brokers := touched(deltas)
	// It may have come to life again, with replicas of before; or the defaults of all topics are others.
	if slices.Contains(brokers, b.ID) || b.reconfigured(deltas) {
		topics = nil
		for _, t := range img.Topics() {
			topics = append(topics, &touch{name: t.Name, all: true})
		}
	}
	perWorker := map[*worker][]news{}
	for _, touch := range topics {
		if t := img.Topic(touch.name); t != nil {
			for _, n := range b.host(t, touch, mine) {
				perWorker[n.partition.worker] = append(perWorker[n.partition.worker], n)
			}
		}
	}
	if len(brokers) > 0 {
		for _, p := range b.Replicas() {
			t := img.TopicByID(p.TopicID)
			if t == nil || !mine(&t.Partitions[p.Index]) || !slices.ContainsFunc(brokers, t.Partitions[p.Index].HasReplica) {
				continue
			}
			perWorker[p.worker] = append(perWorker[p.worker], news{partition: p, topic: t})
		}
	}
	for w, list := range perWorker {
		for chunk := range slices.Chunk(list, learnChunk) {
			w.Do(func() { b.tell(img, chunk) })
		}
	}
}

// learnChunk is how many partitions are told in one job, so that a worker with ten thousand of them stays responsive.
const learnChunk = 512

// host finds or makes the replicas of a topic that are meant.
func (b *Broker) host(t *metadata.Topic, touch *touch, mine func(*metadata.Partition) bool) (list []news) {
	var settings *settings
	if touch.all {
		s := b.settings(t)
		settings = &s
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	hosted, copied := b.hosted[t.ID], false
	for i := range touch.indexes(t) {
		if !t.Partitions[i].HasReplica(b.ID) || !mine(&t.Partitions[i]) {
			continue
		}
		n := news{topic: t, settings: settings, fresh: int(i) >= len(hosted) || hosted[i] == nil}
		if n.fresh {
			if !copied { // readers hold the slice without a lock
				hosted, copied = append(make([]*Partition, 0, len(t.Partitions)), hosted...), true
				hosted = hosted[:len(t.Partitions)]
			}
			if settings == nil {
				s := b.settings(t)
				settings = &s
			}
			hosted[i] = b.newPartition(t, i, *settings)
		}
		n.partition = hosted[i]
		list = append(list, n)
	}
	if copied {
		b.hosted[t.ID] = hosted
	}
	return list
}

// tell brings the news to partitions of one worker, on it.
func (b *Broker) tell(img *metadata.Image, list []news) {
	var e replica.Metadata
	for i := range list {
		n := &list[i]
		if n.fresh {
			b.open(n.partition, img, n.topic, &e)
			continue
		}
		if n.settings != nil {
			n.partition.apply(*n.settings)
		}
		n.partition.learn(img, n.topic, &e)
	}
}

// open gives a new partition its contents: what a broker of this process held before, or nothing.
func (b *Broker) open(p *Partition, img *metadata.Image, t *metadata.Topic, e *replica.Metadata) {
	promised := b.deps.Handover.take(p.key(), func(c contents) {
		p.worker.DoDeferred(func() {
			p.open(c)
			img := b.deps.Cluster.Image()
			if t := img.TopicByID(p.TopicID); t != nil {
				p.learn(img, t, &replica.Metadata{})
			}
		})
	})
	if !promised {
		p.open(contents{})
		p.learn(img, t, e)
	}
}

func (b *Broker) newPartition(t *metadata.Topic, index int32, s settings) *Partition {
	p := &Partition{
		Topic: t.Name, TopicID: t.ID, Index: index, Internal: t.Internal,
		broker: b, worker: b.workerOf(t.ID, index), compactOnly: s.compactOnly,
	}
	p.initReplication(s)
	return p
}

// newLog makes a partition's log.
func (b *Broker) newLog(c plog.Config, start int64, epochs []plog.EpochStart) *plog.Log {
	return plog.NewAt(b.deps.Slabs, c, start, epochs)
}

// touch is what the deltas of a change touch of one topic.
type touch struct {
	name       string
	all        bool
	partitions []int32 // unless all; in no order, maybe twice
}

// indexes are the touched partitions, in their order.
func (x *touch) indexes(t *metadata.Topic) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		if !x.all {
			slices.Sort(x.partitions)
			for _, i := range slices.Compact(x.partitions) {
				if int(i) < len(t.Partitions) && !yield(i) {
					return
				}
			}
			return
		}
		for i := range int32(len(t.Partitions)) {
			if !yield(i) {
				return
			}
		}
	}
}

// touched are the topics, in the order of their first delta, and the ids of the brokers that the deltas are about.
func touched(deltas []metadata.Delta) (topics []*touch, brokers []int32) {
	byName := map[string]*touch{}
	note := func(name string, partition int32) {
		x := byName[name]
		if x == nil {
			x = &touch{name: name}
			byName[name], topics = x, append(topics, x)
		}
		if x.all = x.all || partition < 0; !x.all {
			x.partitions = append(x.partitions, partition)
		}
	}
	for _, d := range deltas {
		switch d := d.(type) {
		case metadata.TopicCreated:
			note(d.Topic.Name, -1)
		case metadata.TopicDeleted:
			note(d.Name, -1)
		case metadata.PartitionsAdded:
			note(d.Name, -1)
		case metadata.PartitionChanged:
			note(d.Name, d.Index)
		case metadata.ConfigChanged:
			note(d.Name, -1)
		case metadata.BrokerRegistered:
			brokers = append(brokers, d.Broker.ID)
		case metadata.BrokerChanged:
			brokers = append(brokers, d.Broker.ID)
		case metadata.BrokerRemoved:
			brokers = append(brokers, d.ID)
		}
	}
	return topics, brokers
}
