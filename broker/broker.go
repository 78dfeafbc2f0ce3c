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
	"millrace/broker/replica"
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
	AlterPartitions(from metadata.Member, specs []metadata.AlterPartitionSpec, done func([]metadata.AlterPartitionResult))
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

	// Source is how a follower reaches a leader; nil: there is no way. The source belongs to the broker that asked.
	Source func(follower, leader metadata.Member) Source
	// Peer is how another broker is reached about transactions; nil: there is no way now. The peer belongs to the callee.
	Peer func(metadata.Member) Peer
}

// NowMs is the time in Kafka's unit: milliseconds since 1970.
func (d *Deps) NowMs() int64 { return d.Now().UnixMilli() }

// Broker is one broker. Its methods may be called from anywhere.
type Broker struct {
	ID    int32
	Self  metadata.Member // in this life
	deps  Deps
	began time.Time

	workers []*worker
	seed    maphash.Seed

	mu     sync.RWMutex
	hosted map[metadata.TopicID][]*Partition // guarded by mu; nil where this broker has no replica

	fetchers    fetchers
	alters      alters
	catchUp     catchUp
	producerIDs producerIDs
	admissions  admissions
	groupWatch  atomic.Pointer[func(group.GroupChange)]
	config      atomic.Pointer[config.Config]
	sweeper     jobs.Timer
	closed      chan struct{}
}

// New makes a broker that has no replica of anything yet. Close stops it.
func New(self metadata.Member, d Deps) *Broker {
	b := &Broker{ID: self.Broker, Self: self, deps: d, began: d.Now(), seed: maphash.MakeSeed(),
		hosted: map[metadata.TopicID][]*Partition{}, closed: make(chan struct{})}
	b.configure(d.Cluster.Image())
	b.fetchers.init(b)
	b.alters.broker, b.alters.at = b, map[*Partition]int{}
	b.catchUp.init(b)
	for range workerCount(d.Config) {
		w := &worker{Executor: jobs.NewExecutor(jobs.ExecutorOptions{Name: "broker"})}
		w.cleaner.init(b, w)
		b.workers = append(b.workers, w)
	}
	b.producerIDs.allocate = d.Cluster.AllocateProducerIDs
	b.sweeper.Init(b.sweep)
	b.deps.Wheel.Schedule(&b.sweeper, sweepEvery(d.Config))
	return b
}

// worker owns partitions: the executor that they are touched on, and what one step of a machine needs until the next. No
// step begins inside another's effects (Partition.step), so all of a worker's partitions share it.
type worker struct {
	*jobs.Executor
	stepping bool
	effects  replica.Buffer
	appended replica.Appended
	await    replica.Await
	fetch    replica.Fetch
	cleaner  cleaner
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
	b.admissions.close()
	for _, p := range b.Replicas() {
		b.remove(p, nil)
	}
	b.catchUp.close()
	b.fetchers.close()
	for _, w := range b.workers {
		b.deps.Wheel.Cancel(&w.cleaner.timer)
		w.Stop()
	}
}

// clockMs is the clock of the step machines: it doesn't jump when somebody sets the machine's.
func (b *Broker) clockMs() int64 { return b.clockAt(b.deps.Now()) }

func (b *Broker) clockAt(now time.Time) int64 { return now.Sub(b.began).Milliseconds() }

// Partition finds this broker's replica of a partition; whether it leads is known on its worker. The errors are
// ErrUnknownPartition and ErrNotLeader.
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

// Replicas are all that this broker has, in no order.
func (b *Broker) Replicas() (all []*Partition) {
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

// Partitions are the replicas that lead, in no order.
func (b *Broker) Partitions() []*Partition {
	return slices.DeleteFunc(b.Replicas(), func(p *Partition) bool { return !p.Leading() })
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

func (b *Broker) workerOf(id metadata.TopicID, index int32) *worker {
	if len(b.workers) == 1 {
		return b.workers[0]
	}
	return b.workers[(maphash.Bytes(b.seed, id[:])+uint64(index))%uint64(len(b.workers))]
}
