package broker

import (
	"sync/atomic"

	"millrace/broker/plog"
	"millrace/jobs"
	"millrace/metadata"
)

// Partition is one partition that this broker leads. What Figures tells may be read from anywhere; everything else
// belongs to the partition's worker.
type Partition struct {
	Topic    string
	TopicID  metadata.TopicID
	Index    int32
	Internal bool

	broker      *Broker
	worker      *jobs.Executor
	log         *plog.Log // nil while it is on its way from another broker, and after the partition has left
	leaderEpoch int32
	inSync      int // replicas in sync, the leader among them
	minInSync   int
	compactOnly bool
	producers   producers
	waiters     waiters
	coordinator *Coordinator // of a partition of __consumer_offsets, else nil
	figures     figures
}

// figures are published by the worker after each change, for those who only look.
type figures struct {
	start, end, high, sizeBytes atomic.Int64
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

func (p *Partition) publish() {
	p.figures.start.Store(p.log.StartOffset())
	p.figures.end.Store(p.log.EndOffset())
	p.figures.high.Store(p.highWatermark())
	p.figures.sizeBytes.Store(p.log.SizeBytes())
}

// serving says whether the partition can be used: its log may not have arrived yet, or have left.
func (p *Partition) serving() error {
	if p.log == nil {
		return ErrNotLeader
	}
	return nil
}

// servingAt also compares the leader epoch that a client knows (KIP-320); −1 is not compared.
func (p *Partition) servingAt(epoch int32) error {
	switch {
	case p.log == nil:
		return ErrNotLeader
	case epoch < 0 || epoch == p.leaderEpoch:
		return nil
	case epoch < p.leaderEpoch:
		return ErrFencedLeaderEpoch
	default:
		return ErrUnknownLeaderEpoch
	}
}

// highWatermark is the end of what all replicas in sync hold: with one replica the end of its log.
func (p *Partition) highWatermark() int64 { return p.log.EndOffset() }

// LeaderEpoch may be called inside Visit.
func (p *Partition) LeaderEpoch() int32 { return p.leaderEpoch }

// open gives the partition its log, on its worker: a new one, or what another broker of this process held before.
func (p *Partition) open(c contents) {
	p.log, p.producers = c.log, c.producers
	p.publish()
	if p.coordinator != nil {
		p.coordinator.load()
	}
}

// close takes the log away, on the worker. Whoever waits learns that the partition is led elsewhere.
func (p *Partition) close() contents {
	c := contents{log: p.log, producers: p.producers}
	p.log, p.producers = nil, producers{}
	p.waiters.wakeAll()
	p.waiters.unlinkParts() // they are listed, and fail when they are read
	if p.coordinator != nil {
		p.coordinator.close()
	}
	return c
}

// apply takes new settings and a new leader epoch.
func (p *Partition) apply(s settings, leaderEpoch int32) {
	p.minInSync, p.compactOnly = s.minInSync, s.compactOnly
	if p.log == nil {
		return
	}
	p.log.SetConfig(s.log)
	if leaderEpoch != p.leaderEpoch {
		p.leaderEpoch = leaderEpoch
		p.waiters.wakeAll()
	}
}

// sweep applies retention and forgets producers that have been quiet for too long.
func (p *Partition) sweep(nowMs, producerExpirationMs int64) {
	if p.log == nil {
		return
	}
	if freed := p.log.Retain(nowMs, p.highWatermark()); freed > 0 {
		p.publish()
		p.waiters.wakeAll()
	}
	p.producers.expire(nowMs - producerExpirationMs)
}
