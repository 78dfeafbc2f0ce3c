package broker_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"millrace/broker"
	"millrace/config"
	"millrace/jobs"
	"millrace/metadata"
	"millrace/metadata/central"
	"millrace/metadata/memory"
	"millrace/protocol/record"
	"millrace/slab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a central server with brokers and no sockets.
type cluster struct {
	*testing.T
	central *central.Server
	slabs   *slab.Pool
	deps    broker.Deps
	brokers map[int32]*broker.Broker
}

func newCluster(t *testing.T, brokers int, set ...string) *cluster {
	t.Helper()
	cfg, _, err := config.Load(config.Input{Overrides: set})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{T: t, slabs: slab.NewPool(slab.Options{LimitBytes: 64 << 20}), brokers: map[int32]*broker.Broker{}}
	c.central, err = central.Open(central.Options{Store: memory.Open(memory.Options{}), Policy: central.Policy{
		NumPartitions: cfg.NumPartitions,
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.deps = broker.Deps{Cluster: c.central, Config: cfg, Slabs: c.slabs, Wheel: jobs.NewWheel(),
		Handover: broker.NewHandover(), Log: zap.NewNop(), Now: time.Now}
	c.central.Subscribe(c.changed)
	for i := range brokers {
		c.addBroker(i + 1)
	}
	t.Cleanup(c.close)
	return c
}

func (c *cluster) changed(old, new *metadata.Image, deltas []metadata.Delta) {
	for _, d := range deltas {
		if r, ok := d.(metadata.BrokerRegistered); ok {
			c.brokers[r.Broker.ID] = broker.New(r.Broker.ID, c.deps)
		}
	}
	for _, b := range c.brokers {
		b.Leave(old, new, deltas)
	}
	for _, b := range c.brokers {
		b.Lead(old, new, deltas)
	}
}

func (c *cluster) close() {
	for _, b := range c.brokers {
		b.Close()
	}
	c.central.Close()
	c.deps.Wheel.Stop()
	c.deps.Handover.Close()
	if left := c.slabs.Close(); left != 0 {
		c.Errorf("%d slabs were not given back", left)
	}
}

func (c *cluster) addBroker(id int) {
	c.Helper()
	spec := metadata.BrokerSpec{ID: int32(id), Endpoints: []metadata.Endpoint{
		{Name: "PLAINTEXT", Host: "127.0.0.1", Port: int32(9000 + id), SecurityProtocol: "PLAINTEXT"}}}
	wait(c.T, func(done func(error)) {
		c.central.RegisterBroker(spec, func(_ *metadata.Broker, err error) { done(err) })
	})
}

func (c *cluster) removeBroker(id int32) {
	c.Helper()
	wait(c.T, func(done func(error)) { c.central.RemoveBroker(id, done) })
	c.brokers[id].Close()
	delete(c.brokers, id)
}

func (c *cluster) createTopic(name string, partitions int32, configs map[string]*string) {
	c.Helper()
	wait(c.T, func(done func(error)) {
		spec := metadata.TopicSpec{Name: name, Partitions: partitions, ReplicationFactor: 1, Configs: configs}
		c.central.CreateTopics([]metadata.TopicSpec{spec}, false, func(r []metadata.TopicResult) { done(r[0].Err) })
	})
}

// leader finds who leads a partition, and the partition.
func (c *cluster) leader(topic string, index int32) (*broker.Broker, *broker.Partition) {
	c.Helper()
	b := c.brokers[c.central.Image().Topic(topic).Partitions[index].Leader]
	p, err := b.Partition(topic, index)
	if err != nil {
		c.Fatal(err)
	}
	return b, p
}

// wait runs an operation with a completion to its end.
func wait(t *testing.T, start func(done func(error))) {
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

// batch builds a batch of n records.
func batch(t testing.TB, o record.Options, n int) record.Batch {
	t.Helper()
	var b record.Builder
	b.Reset(o)
	for i := range n {
		b.Append(record.Record{Timestamp: time.Now().UnixMilli(), Value: fmt.Appendf(nil, "value %d", i)})
	}
	return slices.Clone(b.Bytes())
}

// produce appends one batch and returns its part.
func (c *cluster) produce(topic string, index int32, b record.Batch) broker.AppendPart {
	c.Helper()
	leader, p := c.leader(topic, index)
	done := make(chan broker.AppendPart, 1)
	op := &broker.Produce{Acks: 1, Parts: []broker.AppendPart{{Partition: p, Batch: b}},
		Done: func(op *broker.Produce) { done <- op.Parts[0] }}
	op.Start(leader)
	return <-done
}

// fetched is what a fetch of one partition found.
type fetched struct {
	err    error
	high   int64
	bytes  int
	values []string
}

func (c *cluster) fetch(topic string, index int32, from int64, minBytes int, maxWait time.Duration) fetched {
	c.Helper()
	leader, p := c.leader(topic, index)
	done := make(chan fetched, 1)
	startFetch(leader, p, from, minBytes, maxWait, done)
	return <-done
}

func startFetch(b *broker.Broker, p *broker.Partition, from int64, minBytes int, maxWait time.Duration,
	done chan fetched) *broker.Fetch {
	op := &broker.Fetch{MaxWait: maxWait, BytesMin: minBytes, BytesMax: 1 << 20,
		Parts: []broker.FetchPart{{Partition: p, LeaderEpoch: -1, Offset: from, BytesMax: 1 << 20}}}
	op.Done = func(op *broker.Fetch) {
		part := &op.Parts[0]
		f := fetched{err: part.Err, high: part.HighWatermark, bytes: op.Bytes}
		for _, v := range op.Views {
			f.values = append(f.values, values(v.Bytes)...)
			v.Slab.Release()
		}
		op.Views = nil
		done <- f
	}
	op.Start(b)
	return op
}

func values(b []byte) (all []string) {
	for len(b) > 0 {
		var one record.Batch
		var err error
		if one, b, err = record.Next(b); err != nil {
			return append(all, err.Error())
		}
		var s record.Scratch
		_ = one.Each(&s, func(r record.Record) error {
			all = append(all, string(r.Value))
			return nil
		})
	}
	return all
}
