package broker

import (
	"math"

	"millrace/broker/plog"
	"millrace/protocol/record"
)

// sequencesKept is how many batches of each producer are remembered, so that one of them sent again is answered with
// its first offset. It is Kafka's number: clients keep at most five requests in flight (KIP-98, KAFKA-5494).
const sequencesKept = 5

// sequenceSpan is one appended batch of a producer.
type sequenceSpan struct {
	first, last int32
	baseOffset  int64
}

// producerState is what a partition remembers of one producer id.
type producerState struct {
	epoch    int16
	count    int8 // of spans in use
	spans    [sequencesKept]sequenceSpan
	seenAtMs int64

	open             bool  // a transaction
	first            int64 // its first offset
	coordinatorEpoch int32 // of the last marker; -1: there was none
}

// producers holds the sequence state of a partition's idempotent producers. It belongs to the partition's worker.
//
// A producer id without state is accepted at any sequence: its state may have expired with
// producer.id.expiration.ms, and refusing it would be fatal in clients for a harmless cause.
type producers struct {
	byID map[int64]*producerState
	txns transactions
}

// check decides whether a batch may be appended. A batch that is one of the last five is a duplicate, and first is
// the offset that it was given then.
func (ps *producers) check(b record.Batch) (first int64, duplicate bool, err error) {
	id := b.ProducerID()
	if id < 0 {
		return -1, false, nil
	}
	s := ps.byID[id]
	if s == nil {
		return -1, false, ps.checkTransactional(b, s)
	}
	sequence, epoch := b.BaseSequence(), b.ProducerEpoch()
	switch {
	case epoch < s.epoch:
		return -1, false, ErrInvalidProducerEpoch
	case epoch > s.epoch || s.count == 0: // there was only a marker
		if sequence != 0 {
			return -1, false, ErrOutOfOrderSequence
		}
		return -1, false, ps.checkTransactional(b, s)
	}
	last := lastSequence(b)
	for _, span := range s.spans[:s.count] {
		if span.first == sequence && span.last == last {
			return span.baseOffset, true, nil
		}
	}
	if sequence != nextSequence(s.spans[s.count-1].last) {
		return -1, false, ErrOutOfOrderSequence
	}
	return -1, false, ps.checkTransactional(b, s)
}

// note remembers an appended batch.
func (ps *producers) note(b record.Batch, baseOffset, nowMs int64) {
	switch {
	case b.ProducerID() < 0:
	case b.IsControl():
		ps.noteMarker(b, baseOffset, nowMs)
	default:
		s := ps.state(b)
		s.noteSequence(b, baseOffset, nowMs)
		ps.noteTransactional(b, s, baseOffset)
	}
}

// state finds or makes the state of a batch's producer.
func (ps *producers) state(b record.Batch) *producerState {
	s := ps.byID[b.ProducerID()]
	if s == nil {
		if ps.byID == nil {
			ps.byID = make(map[int64]*producerState)
		}
		s = &producerState{epoch: b.ProducerEpoch(), coordinatorEpoch: -1}
		ps.byID[b.ProducerID()] = s
	}
	return s
}

// noteSequence remembers a batch's sequence numbers. A coordinator's own batches have none.
func (s *producerState) noteSequence(b record.Batch, baseOffset, nowMs int64) {
	s.seenAtMs = nowMs
	if s.epoch != b.ProducerEpoch() {
		s.epoch, s.count = b.ProducerEpoch(), 0
	}
	if b.BaseSequence() < 0 {
		return
	}
	if s.count == sequencesKept {
		copy(s.spans[:], s.spans[1:])
		s.count--
	}
	s.spans[s.count] = sequenceSpan{b.BaseSequence(), lastSequence(b), baseOffset}
	s.count++
}

// truncate takes the state back to what it was when the log ended at to: of producers that have sent something later, what
// they sent is read again from the log.
func (ps *producers) truncate(to int64, log *plog.Log) {
	cut := map[int64]*producerState{}
	for id, s := range ps.byID {
		if s.count > 0 && s.spans[s.count-1].baseOffset >= to {
			cut[id] = s
			s.keepBelow(log.StartOffset())
		}
		if s.open && s.first >= to {
			s.open = false
		}
	}
	for _, o := range ps.txns.truncate(to) {
		s := ps.byID[o.producerID]
		if s == nil {
			s = &producerState{epoch: o.epoch, coordinatorEpoch: -1}
			ps.byID[o.producerID] = s
		}
		s.open, s.first = true, o.first
		cut[o.producerID] = s
		s.keepBelow(log.StartOffset())
	}
	if len(cut) == 0 {
		return
	}
	for b := range log.Batches(log.StartOffset(), to) {
		if s := cut[b.ProducerID()]; s != nil && !b.IsControl() {
			s.noteSequence(b, b.BaseOffset(), s.seenAtMs)
		}
	}
	for id, s := range cut {
		if s.count == 0 && !s.open {
			delete(ps.byID, id)
		}
	}
}

// keepBelow forgets what was appended at offset or above.
func (s *producerState) keepBelow(offset int64) {
	n := int8(0)
	for n < s.count && s.spans[n].baseOffset < offset {
		n++
	}
	s.count = n
}

// expire forgets the producers that have not written since beforeMs, unless they have a transaction open.
func (ps *producers) expire(beforeMs int64) {
	for id, s := range ps.byID {
		if s.seenAtMs < beforeMs && !s.open {
			delete(ps.byID, id)
		}
	}
}

func lastSequence(b record.Batch) int32 {
	return addSequence(b.BaseSequence(), b.LastOffsetDelta())
}

func nextSequence(last int32) int32 { return addSequence(last, 1) }

// addSequence adds as Kafka does: after 2³¹−1 comes 0.
func addSequence(s, n int32) int32 {
	return int32((int64(s) + int64(n)) & math.MaxInt32)
}
