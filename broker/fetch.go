package broker

import (
	"sync/atomic"
	"time"

	"millrace/broker/replica"
	"millrace/jobs"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/record"
)

// FetchPart is one partition's part of a Fetch: where to read, and what was found.
type FetchPart struct {
	Partition   *Partition // nil: Err says why there is none, and the part is passed over
	LeaderEpoch int32      // the client's; -1: not told
	LastEpoch   int32      // of a follower: the epoch of its record before Offset; -1: it has none
	Offset      int64
	BytesMax    int

	Err              error
	HighWatermark    int64 // -1 beside an error
	DivergingEpoch   int32 // for a follower: cut the log where this epoch ends, at DivergingEnd; -1: it need not
	DivergingEnd     int64
	LastStableOffset int64
	LogStartOffset   int64
	Aborted          []AbortedTransaction // of a Committed fetch: those among the records
	ViewFrom, ViewTo int                  // this part's records are Fetch.Views[ViewFrom:ViewTo]
	Bytes            int

	readable int64 // the end of what could be read: the high watermark, for a follower the end of the log
	urgent   bool  // told at once, whatever it brings
	waiter   waiter
}

// Fetch reads from partitions in order, and waits at their ends if they hold less than asked for. The caller fills
// the exported fields, calls Start, and reads the outcome in Done; Views then hold one reference on each slab, which
// are the caller's. The struct can be used again afterwards.
type Fetch struct {
	jobs.Link
	Parts     []FetchPart     // not to be reallocated before Done: waiting partitions point into it
	Set       *FetchSet       // if not nil, its parts are read instead of Parts
	All       bool            // of a Set: read every part that has news, even if there is no room left for records
	From      metadata.Member // the follower that fetches; zero: a consumer
	Committed bool            // isolation.level read_committed: up to the last stable offset
	MaxWait   time.Duration
	BytesMin  int
	BytesMax  int
	Done      func(*Fetch) // called once; must not block
	Owner     any          // the caller's

	Views []protocol.View
	Bytes int // in all views

	broker   *Broker
	at, end  int
	on       *worker
	phase    fetchPhase
	urgent   bool // a part has an error, or something else that is told at once
	timer    jobs.Timer
	timed    bool // the timer was initialised
	deadline time.Time
	missing  atomic.Int64 // bytes that appends must bring before reading again is worth it
	state    atomic.Int32
	left     atomic.Bool // whoever asked has gone away, or the time is over
}

type fetchPhase uint8

const (
	fetchReading fetchPhase = iota
	fetchParking
)

// What a fetch is doing. Appends, the timer and Cancel only ever set fetchWoken; the one that finds fetchParked there
// sets it going again. So a wake-up that comes while the fetch still walks is not lost, and one that comes late is
// harmless.
const (
	fetchWalking int32 = iota
	fetchParked
	fetchWoken
)

// Start begins the operation on the broker.
func (f *Fetch) Start(b *Broker) {
	f.broker = b
	f.left.Store(false)
	if f.Set != nil {
		f.Set.fetch.Store(f)
	}
	if f.MaxWait > 0 {
		f.deadline = b.deps.Now().Add(f.MaxWait)
	}
	f.walk(fetchReading)
}

// Cancel makes a waiting fetch finish now. It may be called from anywhere until Done, and does nothing after it.
func (f *Fetch) Cancel() {
	f.left.Store(true)
	f.wake()
}

func (f *Fetch) walk(phase fetchPhase) {
	if phase == fetchReading {
		f.release()
		f.Bytes, f.urgent = 0, false
		f.state.Store(fetchWalking)
	}
	f.phase, f.at, f.end, f.on = phase, 0, len(f.Parts), nil
	if f.Set == nil {
		f.Run()
		return
	}
	f.missing.Store(missingUnknown)
	f.at, f.end = f.Set.begin()
	f.Run()
}

// missingUnknown stands for the bytes that a fetch from a set will miss, while it is still reading: parts are linked as
// soon as they are read, so appends are counted before it is known how many matter.
const missingUnknown = 1 << 62

// release drops the views of a reading that did not suffice.
func (f *Fetch) release() {
	for i := range f.Views {
		if s := f.Views[i].Slab; s != nil {
			s.Release()
		}
		f.Views[i] = protocol.View{}
	}
	f.Views = f.Views[:0]
}

// Run carries on where the executor changed. It is called by the executors alone. Behind a Post nothing of f is
// touched: it may be over.
func (f *Fetch) Run() {
	for ; f.at < f.end && !f.full(); f.at++ {
		part, member := f.part()
		if part.Partition == nil {
			f.urgent = f.urgent || part.Err != nil
			continue
		}
		if owner := part.Partition.worker; owner != f.on {
			f.on = owner
			if owner.Post(f) {
				return
			}
			f.on = nil
			part.Err, f.urgent = ErrNotLeader, true
			continue
		}
		switch {
		case member != nil:
			part.Partition.readPart(f, member)
		case f.phase == fetchReading:
			part.Partition.read(f, part)
		default:
			part.Partition.park(f, part)
		}
	}
	f.on = nil
	f.walked()
}

// full says that the rest of a set can wait for the next fetch: there is no more room for records.
func (f *Fetch) full() bool { return f.Set != nil && !f.All && f.Bytes > 0 && f.Bytes >= f.BytesMax }

// part is where the walk has come to; member is nil without a set.
func (f *Fetch) part() (part *FetchPart, member *SetPart) {
	if f.Set == nil {
		return &f.Parts[f.at], nil
	}
	member = f.Set.queue[f.at]
	if member.gone {
		member.Partition, member.Err = nil, nil
	} else if member.Err != nil || member.Partition == nil {
		f.broker.find(member)
	}
	return &member.FetchPart, member
}

// walked decides what follows a walk over all parts.
func (f *Fetch) walked() {
	if f.phase == fetchReading {
		empty := f.Set == nil && len(f.Parts) == 0
		if f.urgent || f.Bytes >= f.BytesMin || empty || f.MaxWait <= 0 || f.left.Load() {
			f.finish()
			return
		}
		wait := f.deadline.Sub(f.broker.deps.Now())
		if wait <= 0 {
			f.finish()
			return
		}
		if !f.timed {
			f.timer.Init(f.expire)
			f.timed = true
		}
		f.broker.deps.Wheel.Schedule(&f.timer, wait)
		missing := int64(f.BytesMin - f.Bytes)
		if f.Set == nil {
			f.missing.Store(missing)
			f.walk(fetchParking)
			return
		}
		if f.missing.Add(missing-missingUnknown) <= 0 {
			f.walk(fetchReading)
			return
		}
	}
	if !f.state.CompareAndSwap(fetchWalking, fetchParked) {
		f.walk(fetchReading)
	}
}

func (f *Fetch) finish() {
	f.broker.deps.Wheel.Cancel(&f.timer)
	if f.Set != nil {
		f.Set.read = f.at
		f.Set.fetch.Store(nil)
	}
	f.Done(f)
}

// expire runs on the wheel's goroutine. A timer that could not be cancelled in time may fire into the next use of the
// struct; it then only makes that one read once more.
func (f *Fetch) expire() { f.wake() }

// wake sets a parked fetch going, or makes one that still walks read again before it parks.
func (f *Fetch) wake() {
	if f.state.Swap(fetchWoken) == fetchParked {
		f.walk(fetchReading)
	}
}

// read carries out one part on the partition's worker.
func (p *Partition) read(f *Fetch, part *FetchPart) {
	part.waiter.unlink()
	part.ViewFrom, part.ViewTo, part.Bytes, part.urgent = len(f.Views), len(f.Views), 0, false
	part.HighWatermark, part.LastStableOffset, part.LogStartOffset = -1, -1, -1
	part.DivergingEpoch, part.DivergingEnd, part.Aborted = -1, -1, nil
	if f.From != (metadata.Member{}) {
		p.answer(f, part)
	} else if part.Err = p.servingAt(part.LeaderEpoch); part.Err == nil {
		part.readable = p.readable(f)
		p.readLog(f, part)
	}
	f.urgent = f.urgent || part.Err != nil || part.urgent
}

// readLog appends views of the log to the fetch.
func (p *Partition) readLog(f *Fetch, part *FetchPart) {
	bytesMax := min(part.BytesMax, f.BytesMax-f.Bytes)
	views, n, err := p.log.Read(part.Offset, max(bytesMax, 0), part.readable, f.Bytes == 0, f.Views)
	f.Views = views
	part.LogStartOffset = p.log.StartOffset()
	if err != nil {
		part.Err = err
		return
	}
	part.HighWatermark, part.LastStableOffset = p.highWatermark(), p.lastStable()
	part.ViewTo, part.Bytes = len(views), n
	f.Bytes += n
	if f.Committed && n > 0 && len(p.producers.txns.aborted) > 0 {
		part.Aborted = p.producers.txns.abortedIn(part.Offset, endOf(views[part.ViewFrom:]))
	}
}

// endOf is the offset behind the last of some batches. It looks at each of the last view's.
func endOf(views []protocol.View) (end int64) {
	for rest := views[len(views)-1].Bytes; len(rest) > 0; {
		b, next, err := record.Next(rest)
		if err != nil {
			panic("broker: the log holds what is no batch: " + err.Error())
		}
		end, rest = b.LastOffset()+1, next
	}
	return end
}

// answer reads for a follower: up to the end of the log, if its own is a beginning of it.
func (p *Partition) answer(f *Fetch, part *FetchPart) {
	if p.machine == nil {
		part.Err = ErrNotLeader
		return
	}
	e := &p.worker.fetch
	*e = replica.Fetch{Head: p.head(), From: replica.Member(f.From), LeaderEpoch: part.LeaderEpoch, Offset: part.Offset,
		LastEpoch: part.LastEpoch}
	a := p.stepFetch(e)
	part.Err, part.urgent = a.err, a.atOnce
	part.HighWatermark, part.LastStableOffset, part.LogStartOffset = a.HighWatermark, a.HighWatermark, a.LogStart
	part.DivergingEpoch, part.DivergingEnd = a.DivergingEpoch, a.DivergingEnd
	part.readable = p.log.EndOffset()
	if a.err == nil && !a.Diverges() {
		p.readLog(f, part)
	}
}

// readable is what a fetch could read up to now.
func (p *Partition) readable(f *Fetch) int64 {
	if f.From != (metadata.Member{}) {
		return p.log.EndOffset()
	}
	if f.Committed {
		return p.lastStable()
	}
	return p.highWatermark()
}

// waitersFor is the list on which a fetch waits.
func (p *Partition) waitersFor(f *Fetch) *waiters {
	if f.From != (metadata.Member{}) {
		return &p.followers
	}
	return &p.waiters
}

// park links one part to wait at the partition's end, unless what it waits for came since it was read.
func (p *Partition) park(f *Fetch, part *FetchPart) {
	if p.servingAt(part.LeaderEpoch) != nil || p.readable(f) != part.readable || p.log.StartOffset() > part.Offset {
		f.state.Store(fetchWoken)
		return
	}
	p.waitersFor(f).link(&part.waiter, f)
}

// waiter is a fetch's place in the list of a partition, or that of a part of a set.
type waiter struct {
	fetch      *Fetch
	part       *SetPart // nil: the fetch has no set
	list       *waiters
	prev, next *waiter
}

// waiters are the fetches that wait at a partition's end. The list belongs to the partition's worker. It is bounded
// by the connections, each of which has at most one fetch waiting, and by the fetch sessions.
type waiters struct{ first *waiter }

func (l *waiters) link(w *waiter, f *Fetch) {
	*w = waiter{fetch: f, list: l, next: l.first}
	if l.first != nil {
		l.first.prev = w
	}
	l.first = w
}

func (w *waiter) unlink() {
	if w.list == nil {
		return
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		w.list.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	*w = waiter{}
}

// wake tells the fetches of bytes that have become readable. Those that now have enough are set going; they unlink
// themselves when they read.
func (l *waiters) wake(bytes int) {
	for w := l.first; w != nil; {
		next := w.next
		if f := w.told(); f != nil && f.missing.Add(-int64(bytes)) <= 0 {
			f.wake()
		}
		w = next
	}
}

// wakeAll sets every waiting fetch going: the partition changes hands, or its start moved.
func (l *waiters) wakeAll() {
	for w := l.first; w != nil; {
		next := w.next
		if f := w.told(); f != nil {
			f.wake()
		}
		w = next
	}
}

// list notes that there is news, without waking those who wait.
func (l *waiters) list() {
	for w := l.first; w != nil; {
		next := w.next
		w.told()
		w = next
	}
}

// unlinkParts takes the parts of sets off the list.
func (l *waiters) unlinkParts() {
	for w := l.first; w != nil; {
		next := w.next
		if w.part != nil {
			w.unlink()
		}
		w = next
	}
}

// told lists the part of a set as one with news. It returns the fetch that waits; if there is none, the waiter is
// unlinked: the part is listed already, and will be linked again when it is read.
func (w *waiter) told() *Fetch {
	if w.part == nil {
		return w.fetch
	}
	f := w.part.list()
	if f == nil {
		w.unlink()
	}
	return f
}
