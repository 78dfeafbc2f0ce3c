package main

import (
	"fmt"
	"strconv"
	"sync"
	"time"
)

// writer is a sequence of records to one partition: its number is the record's key, the place in the sequence the value.
type writer struct {
	name      string
	partition int32
	all       bool // acks=all and idempotent; else acks=1 and neither

	mu   sync.Mutex
	acks []ack // by place; guarded by mu
}

// ack is what became of a record.
type ack struct {
	offset int64 // −1: never acknowledged, so it may be there or not
	at     time.Time
}

// begin gives the next place.
func (w *writer) begin() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acks = append(w.acks, ack{offset: -1})
	return len(w.acks) - 1
}

func (w *writer) acked(place int, offset int64, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acks[place] = ack{offset, at}
}

// seen is a record as somebody read it.
type seen struct {
	offset int64
	writer int32
	place  int64
}

// reader is what one consumer saw, in its order, by partition.
type reader struct {
	name  string
	inAll bool // of a group: several readers share the partitions, and may see a record again

	mu    sync.Mutex
	polls [][]seen // guarded by mu
}

func (r *reader) saw(partition int32, s seen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.polls[partition] = append(r.polls[partition], s)
}

// count is how many records were seen.
func (r *reader) count() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.polls {
		n += len(p)
	}
	return n
}

// loss is what the servers declared.
type loss struct {
	topic      string
	partition  int32
	generation int32
	below      int64 // offsets below this are gone
	at         time.Time
}

func (l loss) String() string {
	return fmt.Sprintf("%s-%d, generation %d, offsets below %d", l.topic, l.partition, l.generation, l.below)
}

// outage is the time in which a node's RAM was not there, or not yet filled again.
type outage struct {
	node     string
	from, to time.Time // to zero: it lasts
}

// checkpoint is what was there at a moment, read before all of it was destroyed: else what was lost by then would be excused by that.
type checkpoint struct {
	at     time.Time // what was acknowledged before this must be there
	there  [][]seen  // as final
	losses int       // how many were declared by then
}

// history is everything that is known of one cluster's life, from its creation to its end.
type history struct {
	topic      string
	partitions int
	writers    []*writer
	readers    []*reader
	final      [][]seen // by partition: what is there at the end, in the order of offsets
	before     []checkpoint
	losses     []loss
	outages    []outage
}

// record is a record's key and value.
func record(writer, place int) (key, value []byte) {
	return strconv.AppendInt(nil, int64(writer), 10), strconv.AppendInt(nil, int64(place), 10)
}

// parse is the opposite. What can't be parsed has the writer −1.
func parse(offset int64, key, value []byte) seen {
	w, err1 := strconv.ParseInt(string(key), 10, 32)
	p, err2 := strconv.ParseInt(string(value), 10, 64)
	if err1 != nil || err2 != nil {
		return seen{offset, -1, -1}
	}
	return seen{offset, int32(w), p}
}

// gap is a time in which nothing was acknowledged to a partition.
type gap struct {
	partition int32
	from, to  time.Time
}

func (g gap) length() time.Duration { return g.to.Sub(g.from) }

// gaps finds the times longer than least without an acknowledgement by all, of each partition.
func (h *history) gaps(least time.Duration) (found []gap) {
	for p := range h.partitions {
		var last time.Time
		for _, at := range h.ackTimes(int32(p)) {
			if !last.IsZero() && at.Sub(last) > least {
				found = append(found, gap{int32(p), last, at})
			}
			last = at
		}
	}
	return found
}
