package broker

import (
	"millrace/broker/plog"
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
}

// Produce appends batches to partitions, in order. The caller fills Parts, Acks and Done, calls Start, and reads the
// outcome in Done. It is a task of the workers from then until Done; the struct can be used again afterwards, and a
// Produce in steady state allocates nothing.
type Produce struct {
	jobs.Link
	Parts []AppendPart
	Acks  int16
	Done  func(*Produce) // called once; must not block
	Owner any            // the caller's

	broker *Broker
	at     int
	on     *jobs.Executor
}

// Start begins the operation on the broker.
func (p *Produce) Start(b *Broker) {
	p.broker, p.at, p.on = b, 0, nil
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
		part.Partition.append(part, p.Acks, p.broker.deps.NowMs())
	}
	p.on = nil
	p.Done(p)
}

// append carries out one part on the partition's worker. Everything that can refuse the batch comes before the log is
// touched.
func (p *Partition) append(part *AppendPart, acks int16, nowMs int64) {
	part.BaseOffset, part.LogAppendTimeMs, part.LogStartOffset = -1, -1, -1
	if part.Err = p.serving(); part.Err != nil {
		return
	}
	if acks == AcksAll && p.inSync < p.minInSync {
		part.Err = ErrNotEnoughReplicas
		return
	}
	first, duplicate, err := p.producers.check(part.Batch)
	if err != nil {
		part.Err = err
		return
	}
	part.LogStartOffset = p.log.StartOffset()
	if duplicate {
		part.BaseOffset = first
		return
	}
	appended, err := p.log.Append(part.Batch, p.leaderEpoch, nowMs)
	if err != nil {
		part.Err = err
		return
	}
	part.BaseOffset, part.LogAppendTimeMs = appended.BaseOffset, appended.LogAppendTimeMs
	p.appended(part.Batch, appended, nowMs)
}

// appended tells everyone whom an append concerns.
func (p *Partition) appended(b record.Batch, a plog.Appended, nowMs int64) {
	p.producers.note(b, a.BaseOffset, nowMs)
	p.log.Retain(nowMs, p.highWatermark())
	p.publish()
	p.waiters.wake(len(b))
}
