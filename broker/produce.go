package broker

import (
	"sync/atomic"
	"time"

	"millrace/broker/plog"
	"millrace/broker/replica"
	"millrace/jobs"
	"millrace/protocol/record"
)

// AcksAll asks for the acknowledgement of all replicas in sync.
const AcksAll = -1

// AppendPart is one partition's part of a Produce: what is to be appended, and what came of it.
type AppendPart struct {
	Partition *Partition   // nil: Err says why there is none, and the part is passed over
	Batch     record.Batch // checked by the caller; patched in place and copied, and not kept after Done

	Err             error
	BaseOffset      int64 // of the batch, or of its first copy if the producer sent it again
	LogAppendTimeMs int64 // -1 unless the topic's timestamps are the broker's
	LogStartOffset  int64

	produce *Produce // that waits for the part to be committed
}

// Produce appends batches to partitions, in order. The caller fills Parts, Acks and Done, calls Start, and reads the
// outcome in Done. It is a task of the workers from then until Done; the struct can be used again afterwards, and a
// Produce in steady state allocates nothing.
type Produce struct {
	jobs.Link
	Parts     []AppendPart // not to be reallocated before Done: partitions point to what waits in them
	Acks      int16
	TimeoutMs int64          // of AcksAll: how long the replicas in sync have
	Done      func(*Produce) // called once; must not block
	Owner     any            // the caller's

	broker *Broker
	at     int
	on     *worker
	left   atomic.Int32 // parts that are not committed yet, and the walk
}

// Start begins the operation on the broker.
func (p *Produce) Start(b *Broker) {
	p.broker, p.at, p.on = b, 0, nil
	p.left.Store(1)
	p.Run()
}

// Run carries on where the executor changed. It is called by the executors alone.
//
// After a Post the operation may already be over and in use again, so nothing of p is touched behind it.
func (p *Produce) Run() {
	for ; p.at < len(p.Parts); p.at++ {
		part := &p.Parts[p.at]
		if part.Partition == nil {
			continue
		}
		if owner := part.Partition.worker; owner != p.on {
			p.on = owner
			if owner.Post(p) {
				return
			}
			p.on = nil
			part.Err = ErrNotLeader
			continue
		}
		part.Partition.append(part, p)
	}
	p.on = nil
	p.partDone()
}

// partDone ends the walk, or the wait for one part.
func (p *Produce) partDone() {
	if p.left.Add(-1) == 0 {
		p.Done(p)
	}
}

// committed ends the wait for a part, on its partition's worker.
func (part *AppendPart) committed(err error) {
	if err != nil {
		part.Err, part.BaseOffset = err, -1
	}
	part.produce.partDone()
}

// append carries out one part on the partition's worker. Everything that can refuse the batch comes before the log is
// touched.
func (p *Partition) append(part *AppendPart, op *Produce) {
	part.BaseOffset, part.LogAppendTimeMs, part.LogStartOffset = -1, -1, -1
	if part.Err = p.serving(); part.Err != nil {
		return
	}
	if part.Err = p.machine.Admit(op.Acks == AcksAll, part.Batch.LastOffsetDelta()+1); part.Err != nil {
		return
	}
	first, duplicate, err := int64(-1), false, error(nil)
	if part.Batch.IsControl() { // a coordinator's: clients' are refused before
		err = p.producers.checkMarker(part.Batch)
	} else {
		first, duplicate, err = p.producers.check(part.Batch)
	}
	if err != nil {
		part.Err = err
		return
	}
	part.LogStartOffset = p.log.StartOffset()
	var end int64
	if duplicate {
		part.BaseOffset = first
		end = first + int64(part.Batch.LastOffsetDelta()) + 1
	} else if end, part.Err = p.appendNew(part); part.Err != nil {
		return
	}
	if op.Acks == AcksAll && p.highWatermark() < end {
		p.awaitCommit(part, op, end)
	}
}

// appendNew appends a batch that is no repetition, and returns the offset that follows it.
func (p *Partition) appendNew(part *AppendPart) (end int64, err error) {
	now := p.broker.deps.Now()
	appended, err := p.log.Append(part.Batch, p.machine.LeaderEpoch(), now.UnixMilli())
	if err != nil {
		return 0, err
	}
	part.BaseOffset, part.LogAppendTimeMs = appended.BaseOffset, appended.LogAppendTimeMs
	end = appended.LastOffset + 1
	p.appended(part.Batch, appended, now)
	return end, nil
}

// awaitCommit makes the produce wait for the high watermark to reach end. A repeated batch waits like its first copy did.
func (p *Partition) awaitCommit(part *AppendPart, op *Produce, end int64) {
	part.produce = op
	op.left.Add(1)
	e := &p.worker.await
	head := p.head()
	*e = replica.Await{Head: head, Offset: end, DeadlineMs: head.NowMs + op.TimeoutMs, Token: part}
	p.step(e)
}

// appended tells everyone whom an append concerns.
func (p *Partition) appended(b record.Batch, a plog.Appended, now time.Time) {
	nowMs := now.UnixMilli()
	p.producers.note(b, a.BaseOffset, nowMs)
	if p.coordinator != nil && b.IsControl() {
		p.coordinator.ended(b)
	}
	p.replication.unread += int64(len(b))
	e := &p.worker.appended
	*e = replica.Appended{Head: replica.Head{NowMs: p.broker.clockAt(now)}, EndOffset: a.LastOffset + 1}
	p.step(e)
	p.retain(nowMs)
	p.publish()
	p.followers.wake(len(b))
}
