package broker

import (
	"slices"
	"sort"

	"millrace/protocol/record"
)

// openTransaction is what a partition remembers of a producer's transaction from its first batch on until its marker is
// committed: consumers that read committed records only stop before it.
type openTransaction struct {
	producerID  int64
	epoch       int16
	first, last int64 // offsets of the first batch and of the marker; last is -1 while there is none
}

// AbortedTransaction is a transaction whose records, from First on, don't count for who reads committed records only.
type AbortedTransaction struct {
	ProducerID  int64
	First, last int64 // last is the marker's
	stable      int64 // the last stable offset behind the marker: later ones of this list begin there or above
}

// transactions is the part of a partition's producer state that is about transactions. A follower keeps it from the
// batches that it copies, as its leader does from those that it appends.
type transactions struct {
	open     []openTransaction    // by their first offsets; also those whose marker isn't committed yet
	aborted  []AbortedTransaction // by their last offsets
	verified map[int64]verification
}

// verification says that a producer may begin a transaction here: its coordinator knows of it (KIP-890). It is taken away
// by a marker, so that a batch that comes late can't open a transaction that nobody will end.
type verification struct {
	epoch int16
	adds  bool // the client's transactions have an epoch each (version 2)
	atMs  int64
}

// endedBy tells whether a marker ends the transaction that was verified. One of version 2 has the epoch of the next
// transaction, and may come when that is being verified already.
func (v verification) endedBy(epoch int16) bool {
	return epoch > v.epoch || epoch == v.epoch && !v.adds
}

// stable is the last stable offset, given the high watermark.
func (t *transactions) stable(high int64) int64 {
	for len(t.open) > 0 && t.open[0].decidedBelow(high) {
		t.open = t.open[1:]
	}
	if len(t.open) == 0 {
		return high
	}
	return min(high, t.open[0].first)
}

func (o *openTransaction) decidedBelow(high int64) bool { return o.last >= 0 && o.last < high }

// verify notes that a producer may begin a transaction.
func (t *transactions) verify(producerID int64, v verification) {
	if t.verified == nil {
		t.verified = map[int64]verification{}
	}
	t.verified[producerID] = v
}

// begin notes the first batch of a transaction.
func (t *transactions) begin(producerID int64, epoch int16, first int64) {
	t.open = append(t.open, openTransaction{producerID, epoch, first, -1})
	delete(t.verified, producerID)
}

// end notes a marker. A transaction that isn't open here has nothing to end.
func (t *transactions) end(producerID int64, epoch int16, commit bool, at int64) {
	if v, ok := t.verified[producerID]; ok && v.endedBy(epoch) {
		delete(t.verified, producerID)
	}
	i := slices.IndexFunc(t.open, func(o openTransaction) bool { return o.producerID == producerID && o.last < 0 })
	if i < 0 {
		return
	}
	t.open[i].last = at
	if commit {
		return
	}
	stable := at + 1
	for j := range t.open {
		if t.open[j].last < 0 {
			stable = t.open[j].first
			break
		}
	}
	t.aborted = append(t.aborted, AbortedTransaction{producerID, t.open[i].first, at, stable})
}

// abortedIn lists the aborted transactions that concern who reads offsets in [from, upTo).
func (t *transactions) abortedIn(from, upTo int64) (found []AbortedTransaction) {
	i := sort.Search(len(t.aborted), func(i int) bool { return t.aborted[i].last >= from })
	for ; i < len(t.aborted); i++ {
		a := &t.aborted[i]
		if a.First < upTo {
			found = append(found, *a)
		}
		if a.stable >= upTo {
			break
		}
	}
	return found
}

// forget drops what nobody needs any more: transactions whose marker is committed, aborted ones that lie below the log's
// start or have been compacted away, and verifications that nothing came of.
func (t *transactions) forget(start, high, beforeMs int64) {
	t.open = slices.DeleteFunc(t.open, func(o openTransaction) bool { return o.decidedBelow(high) })
	if n := sort.Search(len(t.aborted), func(i int) bool { return t.aborted[i].last >= start }); n > 0 {
		t.aborted = slices.Delete(t.aborted, 0, n)
	}
	for id, v := range t.verified {
		if v.atMs < beforeMs {
			delete(t.verified, id)
		}
	}
}

// truncate takes the state back to what it was when the log ended at to, and returns the transactions that are open again
// although a marker had ended them.
func (t *transactions) truncate(to int64) (reopened []openTransaction) {
	t.open = slices.DeleteFunc(t.open, func(o openTransaction) bool { return o.first >= to })
	for i := range t.open {
		if t.open[i].last >= to {
			t.open[i].last = -1
			reopened = append(reopened, t.open[i])
		}
	}
	n := sort.Search(len(t.aborted), func(i int) bool { return t.aborted[i].last >= to })
	t.aborted = t.aborted[:n]
	return reopened
}

// openAt are the transactions that were open when the log ended at offset.
func (t *transactions) openAt(offset int64) (open []openTransaction) {
	for _, o := range t.open {
		if o.first < offset && (o.last < 0 || o.last >= offset) {
			o.last = -1
			open = append(open, o)
		}
	}
	return open
}

// checkTransactional decides whether a producer's batch fits the transaction that it has open, or has none.
func (ps *producers) checkTransactional(b record.Batch, s *producerState) error {
	open := s != nil && s.open && s.epoch == b.ProducerEpoch()
	if !b.IsTransactional() {
		if open {
			return ErrInvalidTxnState
		}
		return nil
	}
	if open {
		return nil
	}
	if v, ok := ps.txns.verified[b.ProducerID()]; !ok || v.epoch != b.ProducerEpoch() {
		return ErrUnverified
	}
	return nil
}

// checkMarker decides whether a coordinator may end a producer's transaction.
func (ps *producers) checkMarker(b record.Batch) error {
	s := ps.byID[b.ProducerID()]
	m, ok := b.Marker()
	switch {
	case !ok:
		panic("broker: a control batch that is no marker")
	case s == nil:
		return nil
	case b.ProducerEpoch() < s.epoch:
		return ErrInvalidProducerEpoch
	case m.CoordinatorEpoch < s.coordinatorEpoch:
		return ErrCoordinatorFenced
	}
	return nil
}

// noteMarker remembers a marker. A producer with a later epoch begins its sequences anew.
func (ps *producers) noteMarker(b record.Batch, offset, nowMs int64) {
	m, ok := b.Marker()
	if !ok {
		return
	}
	s := ps.state(b)
	if s.epoch != b.ProducerEpoch() {
		s.epoch, s.count = b.ProducerEpoch(), 0
	}
	s.open, s.coordinatorEpoch, s.seenAtMs = false, m.CoordinatorEpoch, nowMs
	ps.txns.end(b.ProducerID(), b.ProducerEpoch(), m.Commit, offset)
}

// noteTransactional remembers a batch of a transaction.
func (ps *producers) noteTransactional(b record.Batch, s *producerState, offset int64) {
	if b.IsTransactional() && !s.open {
		s.open, s.first = true, offset
		ps.txns.begin(b.ProducerID(), b.ProducerEpoch(), offset)
	}
}

// lastStable is the end of what consumers may read that read committed records only.
func (p *Partition) lastStable() int64 {
	high := p.highWatermark()
	if len(p.producers.txns.open) == 0 {
		return high
	}
	return max(p.producers.txns.stable(high), p.log.StartOffset())
}
