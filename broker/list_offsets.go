package broker

// Times that stand for a place in the log and not for a moment (ListOffsets, KIP-79 and its successors).
const (
	LatestTimestamp                = -1 // the high watermark
	EarliestTimestamp              = -2 // the log start offset
	MaxTimestamp                   = -3 // the record with the largest timestamp (KIP-734)
	EarliestLocalTimestamp         = -4 // the log start offset: all of the log is local (KIP-405)
	LatestTieredTimestamp          = -5 // none: nothing is tiered (KIP-1005)
	EarliestPendingUploadTimestamp = -6 // none: nothing waits to be tiered (KIP-1023)
)

// OffsetQuery asks one partition for the offset at a time, and takes the answer.
type OffsetQuery struct {
	Partition   *Partition
	TimestampMs int64 // a moment, or one of the special times
	LeaderEpoch int32 // the client's; -1: not told
	Committed   bool  // isolation.level read_committed: the last stable offset stands for the high watermark

	Err              error
	Offset           int64 // -1: no record is late enough
	FoundTimestampMs int64 // of the record at Offset; -1 for a place in the log
	FoundEpoch       int32 // of the record at Offset; -1 if there is none
}

// ListOffsets answers the queries in place and then calls done.
func (b *Broker) ListOffsets(queries []OffsetQuery, done func()) {
	partitions := make([]*Partition, len(queries))
	for i := range queries {
		partitions[i] = queries[i].Partition
	}
	Visit(partitions, func(i int, p *Partition, err error) {
		q := &queries[i]
		q.Offset, q.FoundTimestampMs, q.FoundEpoch, q.Err = -1, -1, -1, err
		if err != nil {
			return
		}
		if q.Err = p.servingAt(q.LeaderEpoch); q.Err == nil {
			p.offsetAt(q)
		}
	}, done)
}

func (p *Partition) offsetAt(q *OffsetQuery) {
	if q.TimestampMs == LatestTimestamp || q.TimestampMs == MaxTimestamp || q.TimestampMs >= 0 {
		if q.Err = p.machine.CheckOffsets(); q.Err != nil {
			return
		}
	}
	end := p.highWatermark()
	if q.Committed {
		end = p.lastStable()
	}
	switch q.TimestampMs {
	case LatestTimestamp:
		q.Offset, q.FoundEpoch = end, p.LeaderEpoch()
	case EarliestTimestamp, EarliestLocalTimestamp:
		q.Offset, q.FoundEpoch = p.log.StartOffset(), p.log.EpochAt(p.log.StartOffset())
	case LatestTieredTimestamp, EarliestPendingUploadTimestamp:
	case MaxTimestamp:
		q.setFound(p.log.OffsetOfMaxTimestamp(end))
	default:
		q.setFound(p.log.OffsetForTime(q.TimestampMs, end))
	}
}

func (q *OffsetQuery) setFound(offset, recordMs int64, epoch int32, found bool) {
	if found {
		q.Offset, q.FoundTimestampMs, q.FoundEpoch = offset, recordMs, epoch
	}
}
