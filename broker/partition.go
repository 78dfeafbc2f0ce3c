package broker

import (
	"sync/atomic"

	"go.uber.org/zap"

	"millrace/broker/plog"
	"millrace/broker/replica"
	"millrace/metadata"
)

// Partition is one replica of a partition that this broker has, leader or follower. What Figures tells may be read from
// anywhere; everything else belongs to the partition's worker.
type Partition struct {
	Topic    string
	TopicID  metadata.TopicID
	Index    int32
	Internal bool

	broker *Broker
	worker *worker

	// Both are nil while they are on their way from another broker, and after the partition has left. They agree on
	// start and end of the log whenever the machine is stepped.
	log     *plog.Log
	machine *replica.Machine

	compactOnly bool
	cleanListed bool // its worker's cleaner has it on the list
	producers   producers
	waiters     waiters // consumers that wait for the high watermark
	followers   waiters // followers that wait for the end of the log
	replication replication
	coordinator *Coordinator    // while this broker leads a partition of __consumer_offsets
	txns        *txnCoordinator // while this broker leads a partition of __transaction_state
	figures     figures
}

// figures are published by the worker after each change, for those who only look.
type figures struct {
	start, end, high, sizeBytes atomic.Int64
	leading                     atomic.Bool
}

// Figures are a partition's offsets and size, as of a moment ago.
type Figures struct {
	LogStartOffset, LogEndOffset, HighWatermark int64
	SizeBytes                                   int64
}

// Figures may be called from anywhere.
func (p *Partition) Figures() Figures {
	return Figures{
		LogStartOffset: p.figures.start.Load(), LogEndOffset: p.figures.end.Load(),
		HighWatermark: p.figures.high.Load(), SizeBytes: p.figures.sizeBytes.Load(),
	}
}

// Leading may be called from anywhere: whether this broker led the partition a moment ago.
func (p *Partition) Leading() bool { return p.figures.leading.Load() }

func (p *Partition) publish() {
	tell(&p.figures.start, p.log.StartOffset())
	tell(&p.figures.end, p.log.EndOffset())
	tell(&p.figures.high, p.machine.HighWatermark())
	tell(&p.figures.sizeBytes, p.log.SizeBytes())
}

// tell stores what has changed: to look is cheaper than to store.
func tell(figure *atomic.Int64, now int64) {
	if figure.Load() != now {
		figure.Store(now)
	}
}

func (p *Partition) key() PartitionKey { return PartitionKey{p.TopicID, p.Index} }

// coordinates says that whoever leads the partition coordinates groups.
func (p *Partition) coordinates() bool { return p.Topic == metadata.ConsumerOffsetsTopic }

// coordinatesTransactions says that whoever leads the partition coordinates transactions.
func (p *Partition) coordinatesTransactions() bool { return p.Topic == metadata.TransactionStateTopic }

// serving says whether clients can use the partition here: another broker may lead it, its log may not have arrived yet,
// or have left.
func (p *Partition) serving() error {
	if p.machine == nil || p.machine.Role() != replica.Leader {
		return ErrNotLeader
	}
	return nil
}

// servingAt also compares the leader epoch that a client knows (KIP-320); −1 is not compared.
func (p *Partition) servingAt(epoch int32) error {
	if p.machine == nil {
		return ErrNotLeader
	}
	return p.machine.CheckEpoch(epoch)
}

// highWatermark is the end of what is committed: below it consumers may read.
func (p *Partition) highWatermark() int64 { return p.machine.HighWatermark() }

// LeaderEpoch may be called inside Visit.
func (p *Partition) LeaderEpoch() int32 { return p.machine.LeaderEpoch() }

// open gives the partition its contents, on its worker: nothing, or what another broker of this process held before.
func (p *Partition) open(c contents) {
	self := replica.Member(p.broker.Self)
	config := replica.DefaultConfig(self)
	settings := p.broker.deps.Config
	config.LagTimeMaxMs = settings.ReplicaLagTimeMaxMs
	config.FetchBackoffMs, config.FetchBackoffFirstMs = int64(settings.ReplicaFetchBackoffMs), fetchBackoffFirstMs
	config.OffsetCeilingStep = metadata.OffsetCeilingStep
	config.Buffer = &p.worker.effects
	p.log, p.producers = c.log, c.producers
	if c.log == nil {
		p.log = p.broker.newLog(p.replication.settings.log, 0, nil)
		p.machine = replica.New(config, epochCache{p})
	} else {
		p.machine = replica.Resume(config, epochCache{p}, replica.Held{StartOffset: c.log.StartOffset(),
			EndOffset: c.log.EndOffset(), HighWatermark: c.high, LossGeneration: c.lossGeneration})
	}
	p.publish()
}

// close takes the contents away, on the worker. Whoever waits learns that the partition is led elsewhere.
func (p *Partition) close() contents {
	if p.machine == nil {
		return contents{}
	}
	p.step(&replica.Stop{})
	p.broker.deps.Wheel.Cancel(&p.replication.timer)
	c := contents{log: p.log, producers: p.producers, high: p.highWatermark(), lossGeneration: p.machine.LossGeneration()}
	p.log, p.machine, p.producers = nil, nil, producers{}
	return c
}

// apply takes a topic's settings.
func (p *Partition) apply(s settings) {
	p.replication.settings, p.compactOnly = s, s.compactOnly
	if p.log != nil {
		p.log.SetConfig(s.log)
	}
}

// sweep applies retention, lists the log for compaction and forgets producers that have been quiet for too long.
func (p *Partition) sweep(nowMs, producerExpirationMs int64) {
	if p.machine == nil {
		return
	}
	p.retain(nowMs)
	p.worker.cleaner.consider(p, nowMs)
	p.producers.expire(nowMs - producerExpirationMs)
	p.producers.txns.forget(max(p.log.StartOffset(), p.log.CleanedTo()), p.highWatermark(), nowMs-verificationMs)
}

// verificationMs is how long a verified producer may take to send its first batch. Its produce waits for the answer, so it
// takes no time at all unless something is wrong.
const verificationMs = 60_000

// retain removes what the topic's retention doesn't keep. The leader decides it, for all replicas.
func (p *Partition) retain(nowMs int64) {
	if p.machine.Role() == replica.Leader && p.log.Retain(nowMs, p.highWatermark()) > 0 {
		p.startMoved()
	}
}

// startMoved tells of a log start offset that the leader has moved. Followers that wait may do so: they learn of it
// beside the next records.
func (p *Partition) startMoved() {
	p.step(&replica.LogStart{Head: p.head(), Offset: p.log.StartOffset()})
	p.publish()
	p.waiters.wakeAll()
	p.followers.list()
}

func (p *Partition) warn(text string, fields ...zap.Field) {
	p.broker.deps.Log.Warn(text, append(fields, zap.String("topic", p.Topic), zap.Int32("partition", p.Index))...)
}
