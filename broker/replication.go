package broker

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"millrace/broker/plog"
	"millrace/broker/replica"
	"millrace/jobs"
	"millrace/metadata"
	"millrace/protocol"
)

// fetchBackoffFirstMs is the pause of a follower after the first error in a row; it doubles up to
// replica.fetch.backoff.ms. After an election a follower often asks before its leader has heard of it, and an acks=all
// produce waits for its next try.
const fetchBackoffFirstMs = 10

// replication is what a partition needs to drive its machine (broker/replica). It belongs to the partition's worker.
type replication struct {
	settings settings
	fetcher  *fetcher // of the leader that is followed; nil: none is

	// What the effects of the step that is carried out have left for after it, since nothing may step meanwhile.
	moved     bool // the high watermark
	changed   bool // the role, or the leader epoch
	append    bool // the records of the answer that was stepped
	restarted bool // the log begins anew
	held      bool // by catchUp
	answered  fetchAnswered

	unread int64 // bytes appended and not yet passed by the high watermark, or a little more

	timer   jobs.Timer
	armedMs int64 // when it fires; noDeadline: never
	ticking atomic.Bool
	tick    replicaTick
}

// fetchAnswered is what an EffectAnswerFetch says.
type fetchAnswered struct {
	replica.Answer
	err    error
	atOnce bool
}

func (p *Partition) initReplication(s settings) {
	r := &p.replication
	r.settings, r.armedMs = s, noDeadline
	r.tick.partition = p
	r.timer.Init(p.wakeUp)
}

func (p *Partition) head() replica.Head { return replica.Head{NowMs: p.broker.clockMs()} }

// step brings the machine one event and carries out what it asks for. Nothing that an effect starts may step the same
// machine again: it is left for settle.
func (p *Partition) step(e replica.Event) {
	p.stepOnly(e)
	p.settle()
}

func (p *Partition) stepOnly(e replica.Event) {
	if p.worker.stepping {
		panic("broker: a machine is stepped while the effects of a step are carried out")
	}
	p.worker.stepping = true
	effects := p.machine.Step(e)
	for i := range effects {
		p.carryOut(&effects[i])
	}
	p.worker.stepping = false
}

// stepFetch brings the machine a follower's fetch and returns its answer.
func (p *Partition) stepFetch(e *replica.Fetch) fetchAnswered {
	p.stepOnly(e)
	answered := p.replication.answered // before anything else is stepped
	p.settle()
	return answered
}

func (p *Partition) carryOut(f *replica.Effect) {
	r := &p.replication
	switch f.Kind {
	case replica.EffectHighWatermark:
		r.moved = true
	case replica.EffectComplete:
		f.Token.(*AppendPart).committed(f.Err)
	case replica.EffectAnswerFetch:
		r.answered = fetchAnswered{f.Answer, f.Err, f.AtOnce}
	case replica.EffectRole:
		r.changed = true
		p.figures.leading.Store(f.Role == replica.Leader)
	case replica.EffectBeginEpoch:
		p.log.BeginEpoch(f.LeaderEpoch)
	case replica.EffectISR:
	case replica.EffectAlterPartition:
		p.broker.alters.propose(p, f.Proposal)
	case replica.EffectFetch:
		p.follow(f.Position)
	case replica.EffectStopFetch:
		p.broker.fetchers.stop(p)
	case replica.EffectAppend:
		r.append = true
	case replica.EffectTruncate:
		p.log.Truncate(f.Offset)
		p.producers.truncate(f.Offset, p.log)
		p.publish()
	case replica.EffectTrim:
		if err := p.log.DeleteRecords(f.Offset); err != nil {
			panic("broker: a follower's log can't be trimmed: " + err.Error())
		}
		p.publish()
	case replica.EffectReset:
		p.restart(f.Offset, nil)
		p.producers = producers{}
	case replica.EffectCopySnapshot:
		p.copySnapshot(f)
	case replica.EffectInstallSnapshot:
		p.install(f.Offset, f.Token.(*snapshot))
	}
}

// settle does what had to wait for the end of a step.
func (p *Partition) settle() {
	r := &p.replication
	if r.restarted {
		r.restarted = false
		p.endCoordinator() // what it knows was in the log
	}
	if r.changed {
		r.changed = false
		p.roleChanged()
	}
	if r.moved {
		r.moved = false
		tell(&p.figures.high, p.highWatermark())
		if len(p.producers.txns.open) > 0 {
			p.waiters.wakeAll() // who reads committed records may now read what was counted before
		} else {
			p.waiters.wake(int(r.unread))
		}
		p.followers.list()
		if p.highWatermark() == p.log.EndOffset() {
			r.unread = 0
		}
		if p.coordinator != nil {
			p.coordinator.durable()
		}
		if p.txns != nil {
			p.txns.durable()
		}
	}
	p.arm()
}

// roleChanged tells those who wait, and begins or ends the coordinator. A leader that is elected again goes on with the
// one it has: the log is the same.
func (p *Partition) roleChanged() {
	p.waiters.wakeAll()
	p.followers.wakeAll()
	if p.machine.Role() == replica.Leader {
		if p.coordinates() && p.coordinator == nil {
			p.coordinator = newCoordinator(p)
			p.coordinator.load()
		}
		if p.coordinatesTransactions() && p.txns == nil {
			p.txns = newTxnCoordinator(p)
			p.txns.load()
		}
		return
	}
	p.waiters.unlinkParts() // they are listed, and fail when they are read
	p.followers.unlinkParts()
	p.endCoordinator()
}

func (p *Partition) endCoordinator() {
	if c := p.coordinator; c != nil {
		p.coordinator = nil
		c.close()
	}
	if c := p.txns; c != nil {
		p.txns = nil
		c.close()
	}
}

// restart drops the log; a new one begins at offset.
func (p *Partition) restart(offset int64, epochs []plog.EpochStart) {
	if p.log.EndOffset() > p.log.StartOffset() {
		p.warn("the log begins anew", zap.Int64("start", p.log.StartOffset()), zap.Int64("end", p.log.EndOffset()),
			zap.Int64("new_start", offset), zap.Int32("broker", p.broker.ID))
	}
	p.replication.restarted = true
	config := p.log.Config()
	p.log.Close()
	p.log = p.broker.newLog(config, offset, epochs)
	p.publish()
}

// learn brings the machine what an image says of the partition. e is used again by the caller.
func (p *Partition) learn(img *metadata.Image, t *metadata.Topic, e *replica.Metadata) {
	state := &t.Partitions[p.Index]
	if p.machine == nil {
		return // it will learn of the latest image when its log is there
	}
	e.Head, e.Revision = p.head(), img.Revision()
	e.Leader, e.LeaderEpoch = replica.Member(state.LeaderMember()), state.LeaderEpoch
	e.PartitionEpoch, e.LossGeneration = state.PartitionEpoch, state.LossGeneration
	e.BaseOffset, e.OffsetCeiling, e.MinISR = state.BaseOffset, state.OffsetCeiling, state.MinISR()
	e.Replicas, e.ISR = e.Replicas[:0], e.ISR[:0]
	for _, id := range state.Replicas {
		r := replica.Replica{Member: replica.Member{Broker: id}, Fenced: true}
		if b := img.Broker(id); b != nil {
			r.Member, r.Fenced = replica.Member(b.Member()), !b.Active()
		}
		e.Replicas = append(e.Replicas, r)
	}
	for i, id := range state.ISR {
		e.ISR = append(e.ISR, replica.Member{Broker: id, Incarnation: state.ISRIncarnations[i]})
	}
	p.step(e)
	p.publish()
}

// foundEvents are what the partitions of an answer are told with, one after the other.
type foundEvents struct {
	answer     replica.FetchAnswer
	replicated replica.Replicated
}

// found takes what a leader has answered. position is what it was asked for.
func (p *Partition) found(position replica.Position, f *ReplicaFound, e *foundEvents) {
	if p.machine == nil {
		return
	}
	e.answer = replica.FetchAnswer{Head: p.head(), Position: position, Err: f.Err, Answer: f.Answer, Records: len(f.Records) > 0}
	p.step(&e.answer)
	if !p.replication.append {
		return
	}
	p.replication.append = false
	if !p.machine.InISR() {
		p.broker.catchUp.spend(sizeOf(f.Records))
	}
	err := p.appendReplicated(f.Records)
	e.replicated = replica.Replicated{Head: p.head(), EndOffset: p.log.EndOffset(), Err: err}
	p.step(&e.replicated)
	p.publish()
}

func sizeOf(views []protocol.View) (bytes int) {
	for i := range views {
		bytes += len(views[i].Bytes)
	}
	return bytes
}

// appendReplicated copies a leader's batches to the log and notes what their producers have sent.
func (p *Partition) appendReplicated(views []protocol.View) (err error) {
	nowMs, from := p.broker.deps.NowMs(), p.log.EndOffset()
	for i := 0; i < len(views) && err == nil; i++ {
		err = p.log.AppendReplicated(views[i].Bytes, nowMs)
	}
	for b := range p.log.Batches(from, p.log.EndOffset()) {
		p.producers.note(b, b.BaseOffset(), nowMs)
	}
	if err != nil {
		p.warn("records of the leader can't be appended", zap.Int32("broker", p.broker.ID), zap.Error(err))
	}
	return err
}

// epochCache is what the machine sees of the log, which is another one after a restart.
type epochCache struct{ *Partition }

func (p epochCache) EpochEnd(epoch int32) (int32, int64) { return p.log.EpochEnd(epoch) }
func (p epochCache) EpochAt(offset int64) int32          { return p.log.EpochAt(offset) }
func (p epochCache) BatchStart(offset int64) int64       { return p.log.BatchStart(offset) }

// arm sets the timer to the machine's next deadline, which rarely moves.
func (p *Partition) arm() {
	r := &p.replication
	next := p.machine.NextDeadline()
	if next == r.armedMs {
		return
	}
	r.armedMs = next
	if next == noDeadline {
		p.broker.deps.Wheel.Cancel(&r.timer)
		return
	}
	p.broker.deps.Wheel.Schedule(&r.timer, time.Duration(max(0, next-p.broker.clockMs()))*time.Millisecond)
}

// wakeUp runs on the wheel's goroutine.
func (p *Partition) wakeUp() {
	// The timer may be set again, and fire, before the worker has come to the first tick; a task is queued once only.
	if !p.replication.ticking.Swap(true) && !p.worker.Defer(&p.replication.tick) {
		p.replication.ticking.Store(false)
	}
}

// replicaTick brings the machine the time, on the worker.
type replicaTick struct {
	jobs.Link
	partition *Partition
}

func (t *replicaTick) Run() {
	p := t.partition
	p.replication.ticking.Store(false)
	if p.machine != nil {
		p.replication.armedMs = noDeadline
		p.step(&replica.Tick{Head: p.head()})
	}
}
