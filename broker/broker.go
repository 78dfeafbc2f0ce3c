package broker

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"go.uber.org/zap"

	"millrace/broker/group"
	"millrace/broker/plog"
	"millrace/config"
	"millrace/jobs"
	"millrace/metadata"
	"millrace/slab"
)

// Cluster is what brokers and their front desks need of the central server. Its completions are called on the
// server's executor after every broker of the process has seen the change; they must not block.
type Cluster interface {
	Image() *metadata.Image
	CreateTopics(specs []metadata.TopicSpec, validateOnly bool, done func([]metadata.TopicResult))
	DeleteTopics(refs []metadata.TopicRef, done func([]metadata.DeleteResult))
	CreatePartitions(specs []metadata.PartitionsSpec, validateOnly bool, done func([]metadata.PartitionsResult))
	AllocateProducerIDs(done func(first, count int64, err error))
}

// Deps is what a broker works with; the brokers of a process share all of it.
type Deps struct {
	Cluster  Cluster
	Config   *config.Config
	Slabs    *slab.Pool
	Wheel    *jobs.Wheel
	Handover *Handover
	Log      *zap.Logger
	Now      func() time.Time
}

// NowMs is the time in Kafka's unit: milliseconds since 1970.
func (d *Deps) NowMs() int64 { return d.Now().UnixMilli() }

// Broker is one broker. Its methods may be called from anywhere.
type Broker struct {
	ID   int32
	deps Deps

	workers []*jobs.Executor
	seed    maphash.Seed

	mu     sync.RWMutex
	hosted map[metadata.TopicID][]*Partition // guarded by mu; nil where another broker leads

	producerIDs producerIDs
	groupWatch  atomic.Pointer[func(group.GroupChange)]
	sweeper     jobs.Timer
	closed      chan struct{}
}

// New makes a broker that leads nothing yet. Close stops it.
func New(id int32, d Deps) *Broker {
	b := &Broker{ID: id, deps: d, seed: maphash.MakeSeed(), hosted: map[metadata.TopicID][]*Partition{},
		closed: make(chan struct{})}
	for range workerCount(d.Config) {
		b.workers = append(b.workers, jobs.NewExecutor(jobs.ExecutorOptions{Name: "broker"}))
	}
	b.producerIDs.allocate = d.Cluster.AllocateProducerIDs
	b.sweeper.Init(b.sweep)
	b.deps.Wheel.Schedule(&b.sweeper, sweepEvery(d.Config))
	return b
}

// workerCount is millrace.workers, or half the processors: executors run on the event loops while those are idle, so
// more of them only add hand-overs.
func workerCount(c *config.Config) int {
	if c.Workers > 0 {
		return int(c.Workers)
	}
	return max(1, runtime.GOMAXPROCS(0)/2)
}

// Close takes the broker's partitions away and stops its workers. Operations that wait are completed.
func (b *Broker) Close() {
	close(b.closed)
	b.deps.Wheel.Cancel(&b.sweeper)
	for _, p := range b.Partitions() {
		b.remove(p, nil)
	}
	for _, w := range b.workers {
		w.Stop()
	}
}

// Partition finds a partition that this broker leads. The errors are ErrUnknownPartition and ErrNotLeader.
func (b *Broker) Partition(topic string, index int32) (*Partition, error) {
	t := b.deps.Cluster.Image().Topic(topic)
	if t == nil {
		return nil, ErrUnknownPartition
	}
	return b.partitionOf(t, index)
}

// PartitionNamed is Partition for a name that lies in a request.
func (b *Broker) PartitionNamed(topic []byte, index int32) (*Partition, error) {
	// The string lives no longer than the look-up; a copy would be an allocation for each partition of a request.
	return b.Partition(unsafe.String(unsafe.SliceData(topic), len(topic)), index)
}

// PartitionByID is Partition for clients that know topics by their id; an unknown one is ErrUnknownTopicID.
func (b *Broker) PartitionByID(id metadata.TopicID, index int32) (*Partition, error) {
	t := b.deps.Cluster.Image().TopicByID(id)
	if t == nil {
		return nil, ErrUnknownTopicID
	}
	return b.partitionOf(t, index)
}

func (b *Broker) partitionOf(t *metadata.Topic, index int32) (*Partition, error) {
	if index < 0 || int(index) >= len(t.Partitions) {
		return nil, ErrUnknownPartition
	}
	b.mu.RLock()
	hosted := b.hosted[t.ID]
	b.mu.RUnlock()
	if int(index) >= len(hosted) || hosted[index] == nil {
		return nil, ErrNotLeader
	}
	return hosted[index], nil
}

// Partitions are those that this broker leads, in no order.
func (b *Broker) Partitions() (all []*Partition) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, hosted := range b.hosted {
		for _, p := range hosted {
			if p != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// Leave takes away the partitions that this broker leads in old and not in new. On a change of the cluster every
// broker first leaves and then leads, so that what passes from one to the other is promised before it is asked for.
func (b *Broker) Leave(old, new *metadata.Image, deltas []metadata.Delta) {
	for _, name := range changedTopics(deltas) {
		was, is := old.Topic(name), new.Topic(name)
		if was == nil {
			continue
		}
		if is == nil || is.ID != was.ID {
			is = nil
			b.deps.Handover.discard(was.ID)
			b.topicGone(name)
		}
		b.leave(was, is)
	}
}

func (b *Broker) leave(was, is *metadata.Topic) {
	b.mu.RLock()
	hosted := b.hosted[was.ID]
	b.mu.RUnlock()
	var gone []*Partition
	for i, p := range hosted {
		if p != nil && (is == nil || is.Partitions[i].Leader != b.ID) {
			gone = append(gone, p)
		}
	}
	b.forget(was.ID, gone)
	for _, p := range gone {
		if is == nil {
			b.remove(p, nil)
			continue
		}
		lost := is.Partitions[p.Index].Leader == metadata.NoBroker
		if lost {
			b.deps.Log.Warn("records lost: the last replica of a partition left with its broker",
				zap.String("topic", p.Topic), zap.Int32("partition", p.Index), zap.Int32("broker", b.ID),
				zap.Int64("end", p.Figures().LogEndOffset))
		}
		key := partitionKey{was.ID, p.Index}
		b.deps.Handover.promise(key)
		b.remove(p, func(c contents) {
			if lost {
				c = c.lose()
			}
			b.deps.Handover.put(key, c)
		})
	}
}

// forget takes partitions of a topic out of the table, so that no new operation finds them. All at once: readers hold
// the topic's slice without a lock, so it is copied, and one copy for each of ten thousand partitions took two seconds.
func (b *Broker) forget(id metadata.TopicID, gone []*Partition) {
	if len(gone) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	hosted := slices.Clone(b.hosted[id])
	for _, p := range gone {
		hosted[p.Index] = nil
	}
	if slices.ContainsFunc(hosted, func(p *Partition) bool { return p != nil }) {
		b.hosted[id] = hosted
	} else {
		delete(b.hosted, id)
	}
}

// remove closes a partition on its worker. Its contents go to whoever wants them, or back to the pool.
func (b *Broker) remove(p *Partition, to func(contents)) {
	p.worker.Do(func() {
		switch c := p.close(); {
		case to != nil:
			to(c)
		case c.log != nil:
			c.log.Close()
		}
	})
}

// Lead opens the partitions that this broker leads in new and not in old, and applies changed settings to the others.
func (b *Broker) Lead(_, new *metadata.Image, deltas []metadata.Delta) {
	for _, name := range changedTopics(deltas) {
		if t := new.Topic(name); t != nil {
			b.lead(t)
		}
	}
}

func (b *Broker) lead(t *metadata.Topic) {
	settings := b.settings(t)
	b.mu.Lock()
	hosted := append([]*Partition(nil), b.hosted[t.ID]...)
	var fresh, kept []*Partition
	for i := range t.Partitions {
		if t.Partitions[i].Leader != b.ID {
			continue
		}
		for len(hosted) <= i {
			hosted = append(hosted, nil)
		}
		if hosted[i] != nil {
			kept = append(kept, hosted[i])
			continue
		}
		hosted[i] = b.newPartition(t, int32(i), settings)
		fresh = append(fresh, hosted[i])
	}
	if len(hosted) > 0 {
		b.hosted[t.ID] = hosted
	}
	b.mu.Unlock()
	for _, p := range fresh {
		b.open(p, settings)
	}
	for _, p := range kept {
		epoch := t.Partitions[p.Index].LeaderEpoch
		p.worker.Do(func() { p.apply(settings, epoch) })
	}
}

// open gives a new partition its log: what a broker of this process held before, or an empty one.
func (b *Broker) open(p *Partition, s settings) {
	taken := b.deps.Handover.take(partitionKey{p.TopicID, p.Index}, func(c contents) {
		p.worker.Do(func() {
			if c.log == nil {
				c.log = plog.New(b.deps.Slabs, s.log, c.start)
			}
			p.open(c)
			p.apply(s, p.leaderEpoch)
		})
	})
	if !taken {
		p.worker.Do(func() { p.open(contents{log: plog.New(b.deps.Slabs, s.log, 0)}) })
	}
}

func (b *Broker) newPartition(t *metadata.Topic, index int32, s settings) *Partition {
	state := &t.Partitions[index]
	p := &Partition{
		Topic: t.Name, TopicID: t.ID, Index: index, Internal: t.Internal,
		broker: b, worker: b.workerOf(t.ID, index), leaderEpoch: state.LeaderEpoch,
		inSync: len(state.ISR), minInSync: s.minInSync, compactOnly: s.compactOnly,
	}
	if t.Name == metadata.ConsumerOffsetsTopic {
		p.coordinator = newCoordinator(p)
	}
	return p
}

func (b *Broker) workerOf(id metadata.TopicID, index int32) *jobs.Executor {
	if len(b.workers) == 1 {
		return b.workers[0]
	}
	return b.workers[(maphash.Bytes(b.seed, id[:])+uint64(index))%uint64(len(b.workers))]
}

// changedTopics are the names of the topics that the deltas touch, each once.
func changedTopics(deltas []metadata.Delta) (names []string) {
	seen := map[string]bool{}
	for _, d := range deltas {
		name := ""
		switch d := d.(type) {
		case metadata.TopicCreated:
			name = d.Topic.Name
		case metadata.TopicDeleted:
			name = d.Name
		case metadata.PartitionsAdded:
			name = d.Name
		case metadata.PartitionChanged:
			name = d.Name
		case metadata.ConfigChanged:
			name = d.Name
		}
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}
