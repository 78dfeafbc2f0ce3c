package broker

// EpochQuery asks one partition where a leader epoch ends (KIP-101, KIP-320), and takes the answer.
type EpochQuery struct {
	Partition   *Partition
	Epoch       int32 // whose end is asked for
	LeaderEpoch int32 // the client's; -1: not told

	Err       error
	EndEpoch  int32 // the largest epoch ≤ Epoch that the log has; -1: Epoch isn't known
	EndOffset int64 // where it ends; -1: Epoch isn't known
}

// OffsetsForEpochs answers the queries in place and then calls done. The last epoch ends at the end of the log, not at the
// high watermark: who asks wants to know up to where its own records are those of the leader.
func (b *Broker) OffsetsForEpochs(queries []EpochQuery, done func()) {
	partitions := make([]*Partition, len(queries))
	for i := range queries {
		partitions[i] = queries[i].Partition
	}
	Visit(partitions, func(i int, p *Partition, err error) {
		q := &queries[i]
		q.EndEpoch, q.EndOffset, q.Err = -1, -1, err
		if err != nil {
			return
		}
		if q.Err = p.servingAt(q.LeaderEpoch); q.Err == nil {
			q.EndEpoch, q.EndOffset = p.log.EpochEnd(q.Epoch)
		}
	}, done)
}
