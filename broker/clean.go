package broker

import (
	"sort"
	"time"

	"go.uber.org/zap"

	"millrace/broker/plog"
	"millrace/jobs"
	"millrace/protocol/record"
)

// cleanPause is how long a cleaner rests between two of its steps: a step takes a third of a millisecond, so compaction
// takes a fifth of a worker's time at most, and an append waits for one step at most.
const cleanPause = time.Millisecond

// cleaner compacts the logs of a worker's partitions, leaders and followers: each replica cleans its own log. It takes one
// log at a time, so there is one table of keys for each worker, and one small step at a time, each as a task of its own.
// The sweep tells it what is due.
type cleaner struct {
	jobs.Link
	worker *worker
	broker *Broker
	timer  jobs.Timer
	steps  plog.Cleaner

	due     []*Partition // the first is being cleaned; bounded by the worker's partitions, each of which is there once
	running bool         // the timer is set, or the task is on its way
}

func (c *cleaner) init(b *Broker, w *worker) {
	c.broker, c.worker = b, w
	c.timer.Init(func() { w.Defer(c) })
}

// consider lists a partition if its log is worth a pass. On its worker.
func (c *cleaner) consider(p *Partition, nowMs int64) {
	if p.cleanListed || !p.log.Config().Compact {
		return
	}
	rules := p.cleanRules(nowMs)
	if !p.log.CleanDue(&rules) {
		return
	}
	p.cleanListed = true
	c.due = append(c.due, p)
	if !c.running {
		c.running = true
		c.rest()
	}
}

func (c *cleaner) rest() { c.broker.deps.Wheel.Schedule(&c.timer, cleanPause) }

// Run does one step.
func (c *cleaner) Run() {
	p := c.due[0]
	if !p.clean(&c.steps) {
		p.cleanListed = false
		c.due[0] = nil
		c.due = c.due[1:]
	}
	if len(c.due) > 0 {
		c.rest()
		return
	}
	// What a step works with, decompressors above all, are a few MiB.
	c.due, c.running, c.steps = nil, false, plog.Cleaner{}
}

// clean does one step on the partition's log; more: its pass isn't over. Without memory the pass is given up until the
// next sweep.
func (p *Partition) clean(c *plog.Cleaner) (more bool) {
	if p.machine == nil {
		return false
	}
	rules := p.cleanRules(p.broker.deps.NowMs())
	more, err := c.Step(p.log, &rules)
	if err != nil {
		p.broker.deps.Log.Debug("the log can't be compacted now", zap.String("topic", p.Topic), zap.Int32("partition", p.Index),
			zap.Error(err))
	}
	p.publish()
	return more
}

// cleanRules are what compaction has to respect.
func (p *Partition) cleanRules(nowMs int64) plog.CleanRules {
	return plog.CleanRules{NowMs: nowMs, UpTo: p.lastStable(), KeepEmpty: p.producers.endsWith, Aborted: p.producers.txns.abortedBatch}
}

// endsWith tells whether a batch holds the last sequence number of its producer, or the marker that is all that is known of
// it.
func (ps *producers) endsWith(b record.Batch) bool {
	s := ps.byID[b.ProducerID()]
	switch {
	case s == nil:
		return false
	case s.count > 0:
		return s.spans[s.count-1].baseOffset == b.BaseOffset()
	}
	return b.IsControl() && s.epoch == b.ProducerEpoch()
}

// abortedBatch tells whether a transactional batch below the last stable offset is of a transaction that was aborted.
func (t *transactions) abortedBatch(b record.Batch) bool {
	at := b.BaseOffset()
	i := sort.Search(len(t.aborted), func(i int) bool { return t.aborted[i].last >= at })
	for ; i < len(t.aborted); i++ {
		a := &t.aborted[i]
		if a.ProducerID == b.ProducerID() && a.First <= at {
			return true
		}
		if a.stable > at {
			break
		}
	}
	return false
}
