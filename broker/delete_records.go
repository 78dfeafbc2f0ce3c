package broker

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
		if r.Err = p.log.DeleteRecords(before); r.Err != nil {
			return
		}
		r.LowWatermark = p.log.StartOffset()
		p.publish()
		p.waiters.wakeAll()
	}, done)
}
