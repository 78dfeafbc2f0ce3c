package broker

import (
	"sync/atomic"

	"millrace/metadata"
)

// FetchSet is what an incremental fetch session reads (KIP-227): partitions that are asked for once and from then on
// read whenever they have news, so that a fetch costs what changed and not what it watches. The zero FetchSet is empty.
//
// Each of its parts stays linked to its partition. An append, or whatever else changes the partition, puts the part on
// the list of those with news: a swap and a push, no lock. The next fetch reads the listed parts and no others. A part
// that has nothing more to read leaves the list; one with records left, or with an error, stays on it.
//
// Measured, one record produced to and fetched from one partition of the set: 1.6 µs with 10 partitions, 1.9 with
// 10,000; naming and reading all 10,000 each time takes 30,000.
//
// The set belongs to one fetch at a time, and between two of them to whoever owns it; the partitions' workers only list
// parts, and link and unlink them. An append to a partition whose set nobody is fetching from takes the part's link
// away, until it is read again: a session that its client has left costs one append of each partition.
type FetchSet struct {
	ByID bool // parts are found by topic id, not by name

	fetch  atomic.Pointer[Fetch]   // under way; nil: nobody waits for news
	listed atomic.Pointer[SetPart] // with news, latest first

	// What the next walk reads is queue[head:]; queue[head:read] is what the last one has read. Parts that still have
	// something to say after that go to the back, so that a busy partition doesn't keep the others from their turn.
	queue      []*SetPart
	head, read int
}

// SetPart is one partition of a FetchSet. What FetchPart asks for may be changed between two fetches, and is followed by
// Ask.
type SetPart struct {
	FetchPart
	Topic   string
	TopicID metadata.TopicID // of a set ByID
	Index   int32

	set    *FetchSet
	below  *SetPart    // in the set's list
	news   atomic.Bool // on the list, or in the queue: whoever sets it puts the part there
	queued bool
	idle   bool // nothing was left to read
	gone   bool
	fresh  bool // never told
	told   toldFigures
}

// toldFigures are those that the client knows.
type toldFigures struct{ high, stable, start int64 }

// Ask puts a part that is new to the set, or asks for something else now, among those that the next fetch reads.
func (s *FetchSet) Ask(part *SetPart) {
	if part.set == nil {
		part.set, part.fresh = s, true
	}
	if !part.news.Swap(true) {
		s.enqueue(part)
	}
}

func (s *FetchSet) enqueue(part *SetPart) {
	if part.queued || part.gone {
		return
	}
	part.queued = true
	s.queue = append(s.queue, part)
}

// Drop takes parts out of the set. Nobody may be fetching from it.
func (s *FetchSet) Drop(parts []*SetPart) {
	partitions := make([]*Partition, len(parts))
	for i, part := range parts {
		part.gone = true
		partitions[i] = part.Partition
	}
	Visit(partitions, func(i int, p *Partition, _ error) {
		if p != nil {
			parts[i].waiter.unlink()
		}
	}, func() {})
}

// begin prepares a walk over what is queued and what has been listed since, and returns its end.
func (s *FetchSet) begin() (from, to int) {
	if s.head > len(s.queue)/2 {
		n := copy(s.queue, s.queue[s.head:])
		clear(s.queue[n:])
		s.queue, s.head = s.queue[:n], 0
	}
	var next *SetPart
	for part := s.listed.Swap(nil); part != nil; part = next {
		next, part.below = part.below, nil
		s.enqueue(part)
	}
	s.read = s.head
	return s.head, len(s.queue)
}

// Read are the parts that the fetch has read, until Settle.
func (s *FetchSet) Read() []*SetPart { return s.queue[s.head:s.read] }

// News reports whether the client doesn't know yet what was found in the part. From then on it does.
func (part *SetPart) News() bool {
	if part.gone {
		return false
	}
	found := toldFigures{part.HighWatermark, part.LastStableOffset, part.LogStartOffset}
	news := part.fresh || part.Err != nil || part.urgent || part.Bytes > 0 || found != part.told
	part.told, part.fresh = found, part.Err != nil // so that the end of an error is news, too
	return news
}

// Settle ends a fetch, when its outcome has been taken from Read.
func (s *FetchSet) Settle() {
	for i := s.head; i < s.read; i++ {
		part := s.queue[i]
		s.queue[i] = nil
		part.queued = false
		if !part.idle || part.Err != nil {
			s.enqueue(part)
		}
	}
	s.head = s.read
}

// readPart carries out one part of a set on the partition's worker, and links it. A part with an error isn't linked:
// its partition is looked up again before the next reading.
func (p *Partition) readPart(f *Fetch, part *SetPart) {
	p.read(f, &part.FetchPart)
	part.idle = part.Err == nil && part.Offset >= part.readable
	if part.idle {
		part.news.Store(false)
	}
	if part.Err == nil {
		p.waitersFor(f).link(&part.waiter, f)
		part.waiter.part = part
	}
}

// list notes on the partition's worker that there is something to read. It returns the fetch that may be waiting for
// it.
func (part *SetPart) list() *Fetch {
	s := part.set
	if !part.news.Swap(true) {
		for {
			below := s.listed.Load()
			part.below = below
			if s.listed.CompareAndSwap(below, part) {
				break
			}
		}
	}
	return s.fetch.Load() // behind the push: a fetch that begins now stores itself first and then looks at the list
}

// find looks up a part's partition, at first and after an error.
func (b *Broker) find(part *SetPart) {
	if part.set.ByID {
		part.Partition, part.Err = b.PartitionByID(part.TopicID, part.Index)
	} else {
		part.Partition, part.Err = b.Partition(part.Topic, part.Index)
	}
}
