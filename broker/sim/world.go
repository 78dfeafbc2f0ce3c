package sim

import (
	"fmt"

	"millrace/broker/plog"
	"millrace/broker/replica"
	"millrace/metadata"
	"millrace/metadata/controller"
	"millrace/slab"
)

// Times in milliseconds, and sizes. All are small, so that much happens in few actions.
const (
	leaseMs        = 300
	lagTimeMaxMs   = 200
	alterRetryMs   = 50
	backoffMs      = 30
	requestMs      = 150 // that an acks=all produce waits at most
	segmentMs      = 40  // where logs are compacted
	ceilingStep    = 16
	bytesPerAnswer = 250 // two or three batches

	replicationFactor = 3
	minISR            = 2

	storeID       int32 = 0 // the store's address; brokers count from 1
	firstClientID int32 = 100
	committerID   int32 = 190

	topicName = "t"
)

var topicID = metadata.TopicID{0: 1, 15: 7}

// cluster is what a world is made of; it doesn't change.
type cluster struct {
	brokers    int
	partitions int
	producers  int
	txnMax     int  // ops and compares of a transaction; 0: no limit
	groups     bool // partition 0 has a coordinator
	compact    bool // logs are compacted
	prompt     bool // the store answers at once, as one in the process does
	bugs       Bugs
}

// world is a cluster and everything around it.
type world struct {
	cluster
	policy    controller.Policy
	nowMs     int64
	processes []*process // by id; [0] is nil
	store     store
	net       []*message
	cut       []link // nothing gets through
	producers []*producer
	consumers []*consumer
	committer committer
	oracles   []*oracle // by partition

	violation string     // the first
	kinds     []string   // that are looked for; nil: all
	gone      []*process // have drained, and stop after the action that is under way
	lives     uint64
	values    int64 // that were produced
	pids      int64 // the first one of those that producers have who begin with one

	compactions int                                    // of coordinators' logs
	cleanings   int                                    // of logs that are compacted
	happened    [replica.EffectInstallSnapshot + 1]int // effects, by kind
	pool        *slab.Pool
	trace       func(format string, args ...any) // nil: nobody looks
}

func newWorld(c cluster, pool *slab.Pool) *world {
	w := &world{cluster: c, nowMs: 1000, processes: make([]*process, 1), pool: pool}
	w.policy = controller.Policy{NoHandover: true, MinInSyncReplicas: minISR, ReplicationFactor: replicationFactor,
		NewTopicID: func() metadata.TopicID { return topicID }}.WithDefaults()
	w.store.init(w)
	w.committer = committer{w: w, known: -1}
	for range c.partitions {
		w.oracles = append(w.oracles, newOracle(w, len(w.oracles)))
	}
	for id := int32(1); id <= int32(c.brokers); id++ {
		w.processes = append(w.processes, &process{w: w, id: id})
	}
	w.begin()
	for i := range c.producers {
		w.producers = append(w.producers, newProducer(w, i))
	}
	for i := range c.partitions {
		w.consumers = append(w.consumers, &consumer{w: w, id: firstClientID + 50 + int32(i), part: i})
	}
	return w
}

// begin makes a cluster that is whole: every broker is registered, the topic exists, everybody knows.
func (w *world) begin() {
	for _, n := range w.processes[1:] {
		n.start()
		n.lease = w.store.grant()
		deltas, _, err := w.policy.RegisterBroker(w.store.image, n.registration(), n.incarnation)
		w.mustCommit(deltas, err)
		n.announced = true
	}
	deltas, results := w.policy.CreateTopics(w.store.image, []metadata.TopicSpec{
		{Name: topicName, Partitions: int32(w.cluster.partitions), ReplicationFactor: replicationFactor},
	})
	w.mustCommit(deltas, results[0].Err)
	deltas = nil
	for i, p := range w.topic().Partitions { // a low ceiling, or no leader would ever meet it
		p.OffsetCeiling, p.PartitionEpoch = ceilingStep, 1
		deltas = append(deltas, metadata.PartitionChanged{Name: topicName, ID: topicID, Index: int32(i), Partition: p})
	}
	w.mustCommit(deltas, nil)
	first := w.processes[1]
	w.mustCommit([]metadata.Delta{metadata.ControllerElected{Name: "1", Token: first.incarnation, Lease: first.lease}}, nil)
	deltas, w.pids, _ = w.policy.AllocateProducerIDs(w.store.image)
	w.mustCommit(deltas, nil)
	for _, n := range w.processes[1:] {
		n.central.img = metadata.Empty()
		n.central.learn(true)
	}
}

func (w *world) mustCommit(deltas []metadata.Delta, err error) {
	for _, t := range w.store.image.Transactions(deltas, 0) {
		if err == nil {
			_, err = w.store.commit(t)
		}
	}
	if err != nil {
		panic(err)
	}
}

// close gives the memory back.
func (w *world) close() {
	for _, n := range w.processes[1:] {
		n.stop()
	}
}

func (w *world) say(format string, args ...any) {
	if w.trace != nil {
		w.trace(format, args...)
	}
}

func (w *world) topic() *metadata.Topic { return w.store.image.TopicByID(topicID) }

// truth is a partition as the store has it.
func (w *world) truth(part int) *metadata.Partition { return &w.topic().Partitions[part] }

// member finds the process that is m; nil if that life is over.
func (w *world) member(m metadata.Member) *process {
	if m.Broker < 1 || int(m.Broker) >= len(w.processes) {
		return nil
	}
	n := w.processes[m.Broker]
	if !n.alive || n.incarnation != m.Incarnation {
		return nil
	}
	return n
}

// imageChanged is called when the store has a new image.
func (w *world) imageChanged(old *metadata.Image, deltas []metadata.Delta) {
	for _, d := range deltas {
		switch d := d.(type) {
		case metadata.TopicCreated:
			for i := range d.Topic.Partitions {
				w.oracles[i].created(&d.Topic.Partitions[i])
			}
		case metadata.PartitionChanged:
			was := &old.TopicByID(d.ID).Partitions[d.Index]
			if w.trace != nil {
				w.say("  → %d: %s", d.Index, showPartition(&d.Partition))
			}
			w.oracles[d.Index].changed(was, &d.Partition)
		case metadata.BrokerRegistered:
			w.say("  → broker %v registered", d.Broker.Member())
			w.touched()
		case metadata.BrokerRemoved:
			w.say("  → broker %d unregistered", d.ID)
			w.touched()
		case metadata.BrokerChanged:
			w.say("  → broker %v fenced %v draining %v", d.Broker.Member(), d.Broker.Fenced, d.Broker.Draining)
			w.touched()
		case metadata.ControllerElected:
			w.say("  → controller %s", d.Name)
		}
	}
}

// touched: all has to be looked at again.
func (w *world) touched() {
	for _, o := range w.oracles {
		o.dirty = true
	}
}

func (w *world) logConfig() plog.Config {
	c := plog.DefaultConfig()
	if w.cluster.compact {
		c.Compact, c.MinCleanableDirtyRatio, c.SegmentMs = true, 0, segmentMs
	}
	c.TimestampAfterMaxMs = 1 << 62 // a batch's timestamp is its value (client.go)
	c.RetentionMs = -1
	return c
}

func asReplica(m metadata.Member) replica.Member { return replica.Member(m) }

func asReplicas(list []metadata.Member) []replica.Member {
	out := make([]replica.Member, len(list))
	for i, m := range list {
		out[i] = replica.Member(m)
	}
	return out
}

func asMembers(list []replica.Member) []metadata.Member {
	out := make([]metadata.Member, len(list))
	for i, m := range list {
		out[i] = metadata.Member(m)
	}
	return out
}

func showPartition(p *metadata.Partition) string {
	s := fmt.Sprintf("leader %v epoch %d/%d loss %d from %d ceiling %d replicas %v isr %v elr %v", p.LeaderMember(), p.LeaderEpoch,
		p.PartitionEpoch, p.LossGeneration, p.BaseOffset, p.OffsetCeiling, p.Replicas, p.ISRMembers(), p.ELRMembers())
	if p.Reassigning() {
		s += fmt.Sprintf(" adding %v removing %v", p.Adding, p.Removing)
	}
	return s
}
