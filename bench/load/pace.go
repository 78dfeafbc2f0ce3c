package load

import "time"

// pace tells when requests of an open loop are due: the i-th at start + i/rate.
type pace struct {
	start time.Time
	gap   float64 // nanoseconds
	sent  int64
}

func newPace(start time.Time, rate float64) *pace {
	return &pace{start: start, gap: float64(time.Second) / rate}
}

// due is when the next request shall be sent.
func (p *pace) due() time.Time { return p.start.Add(time.Duration(float64(p.sent) * p.gap)) }

// queue is a first-in-first-out of times in a ring that grows.
type queue struct {
	ring        []time.Time
	first, last int // counts, never reduced
}

func (q *queue) len() int { return q.last - q.first }

func (q *queue) push(t time.Time) {
	if q.len() == len(q.ring) {
		grown := make([]time.Time, max(2*len(q.ring), 64))
		for i := q.first; i < q.last; i++ {
			grown[i%len(grown)] = q.ring[i%len(q.ring)]
		}
		q.ring = grown
	}
	q.ring[q.last%len(q.ring)] = t
	q.last++
}

func (q *queue) pop() time.Time {
	t := q.ring[q.first%len(q.ring)]
	q.first++
	return t
}

// timeline keeps the due time of every request to one partition, by its number, for readers to look up.
type timeline struct {
	times   []time.Time
	start   int64 // the offset of the first record
	records int   // of a request
}

// at is when the request was due that brought the record at an offset; false if it wasn't one of ours.
func (t *timeline) at(offset int64) (time.Time, bool) {
	i := (offset - t.start) / int64(t.records)
	if offset < t.start || i >= int64(len(t.times)) {
		return time.Time{}, false
	}
	return t.times[i], true
}

// end is the offset behind the last record that was due.
func (t *timeline) end() int64 { return t.start + int64(len(t.times)*t.records) }
