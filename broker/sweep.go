package broker

import (
	"time"

	"millrace/config"
	"millrace/jobs"
)

// sweepBatch is how many partitions one job sweeps, so that a worker with ten thousand of them stays responsive.
const sweepBatch = 256

// sweepEvery is how often retention is looked at besides at appends. RAM is scarcer than disk, so it is a second where
// Apache Kafka's log.retention.check.interval.ms is five minutes; what that name promises to records with old
// timestamps the log keeps (plog.Config.RetentionCheckMs).
func sweepEvery(c *config.Config) time.Duration {
	return min(time.Second, time.Duration(c.LogRetentionCheckIntervalMs)*time.Millisecond)
}

// sweep runs on the wheel's goroutine: it posts one task to each worker and comes again when all are through.
func (b *Broker) sweep() {
	select {
	case <-b.closed:
		return
	default:
	}
	(&sweepTask{broker: b, partitions: b.Replicas()}).next()
}

// sweepTask sweeps a few partitions on their worker and then posts itself again for the next.
type sweepTask struct {
	jobs.Link
	broker     *Broker
	partitions []*Partition
	at         int
}

// next goes on with the next partition, or schedules the next sweep.
func (t *sweepTask) next() {
	for t.at < len(t.partitions) {
		if t.partitions[t.at].worker.Defer(t) {
			return
		}
		t.at++
	}
	select {
	case <-t.broker.closed:
	default:
		t.broker.deps.Wheel.Schedule(&t.broker.sweeper, sweepEvery(t.broker.deps.Config))
	}
}

// Run sweeps up to sweepBatch partitions of one worker.
func (t *sweepTask) Run() {
	owner := t.partitions[t.at].worker
	nowMs, expirationMs := t.broker.deps.NowMs(), int64(t.broker.Config().ProducerIDExpirationMs)
	for n := 0; n < sweepBatch && t.at < len(t.partitions) && t.partitions[t.at].worker == owner; n++ {
		t.partitions[t.at].sweep(nowMs, expirationMs)
		t.at++
	}
	t.next()
}
