package broker

import "millrace/broker/plog"

// DeleteRecords asks one partition to forget the records before an offset, and takes the answer.
type DeleteRecords struct {
	Partition *Partition
	Before    int64 // -1: the high watermark

	Err          error
	LowWatermark int64 // the log start offset afterwards
}

// DeleteRecords carries out the requests in place and then calls done. A topic that is only compacted refuses, as on
// Apache Kafka: its records are deleted by tombstones.
func (b *Broker) DeleteRecords(requests []DeleteRecords, done func()) {
	partitions := make([]*Partition, len(requests))
	for i := range requests {
		partitions[i] = requests[i].Partition
	}
	Visit(partitions, func(i int, p *Partition, err error) {
		r := &requests[i]
		r.LowWatermark, r.Err = -1, err
		if err != nil {
			return
		}
		if p.compactOnly {
			r.Err = ErrPolicyViolation
			return
		}
		before := r.Before
		if before == -1 {
			before = p.highWatermark()
		}
		if r.Err = p.deleteRecords(before); r.Err == nil {
			r.LowWatermark = p.log.StartOffset()
		}
	}, done)
}

// deleteRecords moves the leader's log start offset up to an offset that is committed; the followers do it after it.
func (p *Partition) deleteRecords(before int64) error {
	if before < 0 || before > p.highWatermark() {
		return plog.ErrOffsetOutOfRange
	}
	if before <= p.log.StartOffset() {
		return nil
	}
	if err := p.log.DeleteRecords(before); err != nil {
		return err
	}
	p.startMoved()
	return nil
}
