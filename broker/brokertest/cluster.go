package brokertest

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"millrace/broker"
	"millrace/config"
	"millrace/jobs"
	"millrace/metadata"
	"millrace/metadata/central"
	"millrace/metadata/memory"
	"millrace/slab"
)

// Cluster is a central server with brokers and no sockets.
type Cluster struct {
	testing.TB
	Central *central.Server
	Deps    broker.Deps
	Brokers map[int32]*broker.Broker // changed under mu, by AddBroker, RemoveBroker and KillBroker
	mu      sync.Mutex
	store   *memory.Store
	apart   atomic.Bool
}

// New starts a cluster of brokers 1 … n, with settings as name=value.
func New(t testing.TB, brokers int, set ...string) *Cluster {
	t.Helper()
	cfg, _, err := config.Load(config.Input{Overrides: set})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{TB: t, Brokers: map[int32]*broker.Broker{}, store: memory.Open(memory.Options{})}
	c.Central, err = central.Open(central.Options{Store: c.store, Policy: central.Policy{
		NumPartitions: cfg.NumPartitions, ReplicationFactor: cfg.DefaultReplicationFactor,
		InternalReplicationFactor: cfg.OffsetsTopicReplicationFactor, MinInSyncReplicas: cfg.TopicDefaults.MinInsyncReplicas,
		ValidateConfigs: func(_ string, configs map[string]string) error {
			_, err := cfg.Topic(configs)
			return err
		},
		ValidateResource: func(r metadata.ConfigResource, configs map[string]string) error {
			if err := cfg.ValidateDynamic(configs, r != metadata.DefaultBroker); err != nil {
				return metadata.Errorf(metadata.ErrInvalidRequest, "%v", err)
			}
			return nil
		},
		ListConfig: func(_ *metadata.Image, kind metadata.ConfigKind, name string) (string, bool) {
			if kind == metadata.TopicConfigs {
				return cfg.TopicList(name)
			}
			return cfg.BrokerList(name)
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.Deps = broker.Deps{Cluster: c.Central, Config: cfg, Slabs: slab.NewPool(slab.Options{LimitBytes: 64 << 20}),
		Wheel: jobs.NewWheel(), Handover: broker.NewHandover(), Log: zap.NewNop(), Now: time.Now, Source: c.source, Peer: c.peer}
	c.Central.Subscribe(c.changed)
	for i := range brokers {
		c.AddBroker(int32(i + 1))
	}
	t.Cleanup(c.close)
	return c
}

func (c *Cluster) changed(old, new *metadata.Image, deltas []metadata.Delta) {
	for _, d := range deltas {
		if r, ok := d.(metadata.BrokerRegistered); ok {
			c.mu.Lock()
			c.Brokers[r.Broker.ID] = broker.New(r.Broker.Member(), c.Deps)
			c.mu.Unlock()
		}
	}
	brokers := c.living()
	for _, b := range brokers {
		b.Leave(old, new, deltas)
	}
	for _, b := range brokers {
		b.Lead(old, new, deltas)
	}
	for _, b := range brokers {
		b.Follow(old, new, deltas)
	}
}

func (c *Cluster) living() []*broker.Broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.Brokers))
}

// Broker finds one that lives.
func (c *Cluster) Broker(id int32) *broker.Broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Brokers[id]
}

func (c *Cluster) source(follower, leader metadata.Member) broker.Source {
	if b := c.Broker(leader.Broker); b != nil && !c.apart.Load() && b.Self == leader {
		return b.Source(follower)
	}
	return nil
}

func (c *Cluster) peer(m metadata.Member) broker.Peer {
	if b := c.Broker(m.Broker); b != nil && b.Self == m {
		return b
	}
	return nil
}

func (c *Cluster) close() {
	for _, b := range c.Brokers {
		b.Close()
	}
	c.Central.Close()
	c.store.Close()
	c.Deps.Wheel.Stop()
	c.Deps.Handover.Close()
	if left := c.Deps.Slabs.Close(); left != 0 {
		c.Errorf("%d slabs were not given back", left)
	}
}

// AddBroker registers a broker under an id that was never used.
func (c *Cluster) AddBroker(id int32) {
	c.Helper()
	spec := metadata.BrokerSpec{ID: id, Endpoints: []metadata.Endpoint{
		{Name: "PLAINTEXT", Host: "127.0.0.1", Port: 9000 + id, SecurityProtocol: "PLAINTEXT"}}}
	Wait(c, func(done func(error)) {
		c.Central.RegisterBroker(spec, func(_ *metadata.Broker, err error) { done(err) })
	})
}

// RemoveBroker takes a broker out and closes it.
func (c *Cluster) RemoveBroker(id int32) {
	c.Helper()
	Wait(c, func(done func(error)) { c.Central.RemoveBroker(id, done) })
	c.take(id).Close()
}

func (c *Cluster) take(id int32) *broker.Broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.Brokers[id]
	delete(c.Brokers, id)
	return b
}

// KillBroker has a broker die with its RAM, and the cluster see it.
func (c *Cluster) KillBroker(id int32) {
	c.Helper()
	b := c.take(id)
	b.Close()
	c.Forget(b)
}

// Forget has the cluster see that a broker, which was closed, is dead.
func (c *Cluster) Forget(b *broker.Broker) {
	c.Helper()
	c.mu.Lock()
	if c.Brokers[b.ID] == b {
		delete(c.Brokers, b.ID)
	}
	c.mu.Unlock()
	Wait(c, func(done func(error)) { c.Central.FenceBrokers([]metadata.Member{b.Self}, done) })
}

// Part takes the followers' ways to leaders that they don't follow yet: what they would catch up on stands still.
func (c *Cluster) Part() { c.apart.Store(true) }

// CreateTopic makes a topic with one replica of each partition.
func (c *Cluster) CreateTopic(name string, partitions int32, configs map[string]*string) {
	c.Helper()
	c.CreateReplicated(name, partitions, 1, configs)
}

// CreateReplicated makes a topic with some replicas of each partition.
func (c *Cluster) CreateReplicated(name string, partitions int32, replicas int16, configs map[string]*string) {
	c.Helper()
	Wait(c, func(done func(error)) {
		spec := metadata.TopicSpec{Name: name, Partitions: partitions, ReplicationFactor: replicas, Configs: configs}
		c.Central.CreateTopics([]metadata.TopicSpec{spec}, false, func(r []metadata.TopicResult) { done(r[0].Err) })
	})
}

// DeleteTopic deletes a topic.
func (c *Cluster) DeleteTopic(name string) {
	c.Helper()
	Wait(c, func(done func(error)) {
		c.Central.DeleteTopics([]metadata.TopicRef{{Name: name}}, func(r []metadata.DeleteResult) { done(r[0].Err) })
	})
}

// Leader finds who leads a partition, and the partition.
func (c *Cluster) Leader(topic string, index int32) (*broker.Broker, *broker.Partition) {
	c.Helper()
	b := c.Broker(c.Central.Image().Topic(topic).Partitions[index].Leader)
	p, err := b.Partition(topic, index)
	if err != nil {
		c.Fatal(err)
	}
	return b, p
}

// Wait runs an operation with a completion to its end; an error fails the test.
func Wait(t testing.TB, start func(done func(error))) {
	t.Helper()
	done := make(chan error, 1)
	start(func(err error) { done <- err })
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no completion")
	}
}
