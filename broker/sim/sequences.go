package sim

import (
	"maps"
	"slices"

	"millrace/protocol/record"
)

// sequences is what a replica remembers of idempotent producers: every batch that each ever wrote, so that it can be taken back
// with a truncation. (Brokers keep five, and what they need to go back.)
type sequences struct {
	byPID map[int64][]span // by offset
}

// span is one batch.
type span struct {
	epoch       int16
	first, last int32
	offset      int64
}

func (s *sequences) note(b record.Batch, offset int64) {
	if !b.HasProducerID() {
		return
	}
	if s.byPID == nil {
		s.byPID = map[int64][]span{}
	}
	s.byPID[b.ProducerID()] = append(s.byPID[b.ProducerID()],
		span{b.ProducerEpoch(), b.BaseSequence(), b.LastSequence(), offset})
}

// last tells whether a batch is the last one of its producer.
func (s *sequences) last(b record.Batch) bool {
	spans := s.byPID[b.ProducerID()]
	return len(spans) > 0 && spans[len(spans)-1].offset == b.BaseOffset()
}

// truncate forgets the batches at and above offset.
func (s *sequences) truncate(offset int64) {
	for pid, spans := range s.byPID {
		n := len(spans)
		for n > 0 && spans[n-1].offset >= offset {
			n--
		}
		s.byPID[pid] = spans[:n]
	}
}

func (s *sequences) clone() sequences {
	c := sequences{byPID: maps.Clone(s.byPID)}
	for pid, spans := range c.byPID {
		c.byPID[pid] = slices.Clone(spans)
	}
	return c
}

type verdict uint8

const (
	accepted verdict = iota
	repeated
	outOfOrder
)

// check decides about a batch, as broker's producers do. offset is that of the batch that it repeats.
func (s *sequences) check(b record.Batch) (v verdict, offset int64) {
	spans := s.byPID[b.ProducerID()]
	if !b.HasProducerID() || len(spans) == 0 {
		return accepted, 0
	}
	last := spans[len(spans)-1]
	switch {
	case b.ProducerEpoch() < last.epoch:
		return outOfOrder, 0
	case b.ProducerEpoch() > last.epoch:
		if b.BaseSequence() != 0 {
			return outOfOrder, 0
		}
		return accepted, 0
	}
	for _, x := range spans[max(0, len(spans)-5):] {
		if x.epoch == last.epoch && x.first == b.BaseSequence() && x.last == b.LastSequence() {
			return repeated, x.offset
		}
	}
	if b.BaseSequence() != last.last+1 {
		return outOfOrder, 0
	}
	return accepted, 0
}
