package txn

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// values are what a record says of a transactional id. They are replaced as a whole, when the record is durable; the list of
// partitions is never changed in place.
type values struct {
	producerID     int64
	prevProducerID int64 // before the last epoch was used up; None: there was no other
	nextProducerID int64 // once the transaction is complete, the epoch being used up; None: the same
	epoch          int16
	lastEpoch      int16 // the producer's before, to know a repetition (KIP-360); None after a failover: it isn't in the record
	timeoutMs      int32
	state          State
	partitions     []Partition // sorted
	startMs        int64       // -1: nothing was begun
	updateMs       int64
	version        int8 // 2: EndTxn has raised the epoch
}

// transaction is one transactional id.
type transaction struct {
	id string
	values
	pending *persist // a transition that is on its way into the log

	// While preparing: the partitions whose marker isn't there yet. Those with true are to be asked for again.
	unmarked map[Partition]bool
	fenced   bool // a later coordinator has written: nothing more is done here

	// The one thing that this transaction waits for: its timeout, or the next try of its markers or last record.
	deadlineMs int64
	slot       int // 1 + index in the heap; 0: it waits for nothing
}

// epochMax is the last epoch; a producer gets a new id instead of it, so that fencing it is still possible.
const epochMax = math.MaxInt16

func (v *values) exhausted() bool { return v.epoch >= epochMax-1 }

// busy: between two states. Kafka calls it a pending transition; it lasts until the transaction is complete.
func (t *transaction) busy() bool { return t.pending != nil || t.state.preparing() }

// to are the values after a change of state; the caller sets what else changes.
func (t *transaction) to(s State, nowMs int64) values {
	if !slices.Contains(before[s], t.state) {
		panic(fmt.Sprintf("txn: %s → %s of %q", t.state, s, t.id))
	}
	next := t.values
	next.state, next.updateMs, next.nextProducerID = s, nowMs, None
	return next
}

// completed are the values when all the markers are there.
func (v *values) completed(nowMs int64) values {
	next := *v
	next.state, next.updateMs, next.partitions, next.nextProducerID = CompleteCommit, nowMs, nil, None
	if v.state == PrepareAbort {
		next.state = CompleteAbort
	}
	if v.nextProducerID != None {
		// The epoch is epochMax only in between; what the producer has seen is the one before, and then 0 of the next id.
		next.prevProducerID, next.producerID, next.epoch = v.producerID, v.nextProducerID, 0
	}
	return next
}

func (p Partition) compare(q Partition) int {
	return cmp.Or(cmp.Compare(p.Topic, q.Topic), cmp.Compare(p.Index, q.Index))
}

// has looks for a partition in a sorted list.
func has(sorted []Partition, p Partition) bool {
	_, found := slices.BinarySearchFunc(sorted, p, Partition.compare)
	return found
}

// with is a sorted list and what is new of more, in a new list. Without anything new it is the same list.
func with(sorted, more []Partition) []Partition {
	all := sorted[:len(sorted):len(sorted)]
	for _, p := range more {
		if !has(sorted, p) {
			all = append(all, p)
		}
	}
	if len(all) == len(sorted) {
		return sorted
	}
	slices.SortFunc(all, Partition.compare)
	return slices.Compact(all)
}
