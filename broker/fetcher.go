package broker

import (
	"errors"
	"sync"
	"time"

	"millrace/broker/replica"
	"millrace/jobs"
	"millrace/metadata"
)

// errNoSource: nobody knows how to reach the leader, or it was given up.
var errNoSource = errors.New("the leader can't be reached")

// fetchers are what a broker follows with: one fetcher for each broker that leads something it has a replica of.
type fetchers struct {
	broker *Broker

	mu       sync.Mutex
	closed   bool                         // guarded by mu
	byLeader map[metadata.Member]*fetcher // guarded by mu; bounded by the brokers there are
}

// fetcher reads from one leader, again and again: it asks for news of all partitions that it follows (Source), brings
// each to its partition, takes their new positions, and asks again. So there is one question at a time, and it costs
// what has changed.
//
// It is a task of an executor of its own, which cuts the recursion short: with a leader in the same process question,
// answer and append may all happen within one call.
type fetcher struct {
	jobs.Link
	fetchers *fetchers
	source   Source
	turn     *jobs.Executor
	request  ReplicaFetch
	take     takeTask

	mu      sync.Mutex
	wanted  map[PartitionKey]*following // guarded by mu, as the rest
	changed []*following                // with a position that the source doesn't know
	dropped []PartitionKey
	state   fetcherState
	hurry   bool // something has changed while it asks
}

type fetcherState uint8

const (
	fetcherIdle   fetcherState = iota
	fetcherAsking              // the source has the request
	fetcherTaking              // the partitions get the answer
	fetcherClosed
)

// following is one partition of a fetcher.
type following struct {
	key       PartitionKey
	partition *Partition
	position  replica.Position
	asked     replica.Position // what the source knows
	changed   bool             // on the list
	gone      bool
}

func (fs *fetchers) init(b *Broker) {
	fs.broker, fs.byLeader = b, map[metadata.Member]*fetcher{}
}

// follow makes the partition's position the one to fetch from. On the partition's worker.
func (fs *fetchers) follow(p *Partition, at replica.Position) {
	f := fs.of(at.Leader)
	if old := p.replication.fetcher; old != nil && old != f {
		old.drop(p.key())
	}
	p.replication.fetcher = f
	if f != nil {
		f.follow(p, at)
	}
}

// stop ends the fetching for a partition. On its worker.
func (fs *fetchers) stop(p *Partition) {
	if f := p.replication.fetcher; f != nil {
		p.replication.fetcher = nil
		f.drop(p.key())
	}
}

// of finds or makes the fetcher of a leader; nil: the broker is being closed.
func (fs *fetchers) of(leader replica.Member) *fetcher {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed {
		return nil
	}
	m := metadata.Member(leader)
	f := fs.byLeader[m]
	if f == nil {
		f = &fetcher{fetchers: fs, wanted: map[PartitionKey]*following{},
			turn: jobs.NewExecutor(jobs.ExecutorOptions{Name: "fetcher"})}
		d := &fs.broker.deps
		if f.source = d.Source(fs.broker.Self, m); f.source == nil {
			f.source = noSource{}
		}
		c := d.Config
		f.request = ReplicaFetch{Done: f.answered, MaxWait: time.Duration(c.ReplicaFetchWaitMaxMs) * time.Millisecond,
			BytesMax: int(c.ReplicaFetchResponseMaxBytes), PartitionBytesMax: int(c.ReplicaFetchMaxBytes)}
		f.take.fetcher = f
		fs.byLeader[m] = f
	}
	return f
}

// snapshot asks a leader for a partition's snapshot.
func (fs *fetchers) snapshot(leader replica.Member, key PartitionKey, epoch int32, done func([]byte, error)) {
	f := fs.of(leader)
	if f == nil {
		done(nil, errNoSource)
		return
	}
	f.source.Snapshot(key, epoch, done)
}

// forget closes the fetchers of members that are of the past. What they followed will follow somebody else.
func (fs *fetchers) forget(void func(metadata.Member) bool) {
	var gone []*fetcher
	fs.mu.Lock()
	for m, f := range fs.byLeader {
		if void(m) {
			gone = append(gone, f)
			delete(fs.byLeader, m)
		}
	}
	fs.mu.Unlock()
	for _, f := range gone {
		f.close()
	}
}

// close ends all fetching, when the partitions have been removed.
func (fs *fetchers) close() {
	fs.mu.Lock()
	fs.closed = true
	all := fs.byLeader
	fs.byLeader = nil
	fs.mu.Unlock()
	for _, f := range all {
		f.close()
		f.turn.Stop()
	}
}

func (f *fetcher) follow(p *Partition, at replica.Position) {
	key := p.key()
	f.mu.Lock()
	w := f.wanted[key]
	if w == nil {
		w = &following{key: key, partition: p}
		f.wanted[key] = w
	}
	w.partition, w.position = p, at
	f.note(w)
	f.unlockAndGo()
}

// note puts what has changed on the list. f.mu is held.
func (f *fetcher) note(w *following) {
	if !w.changed {
		w.changed = true
		f.changed = append(f.changed, w)
	}
}

func (f *fetcher) drop(key PartitionKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.wanted[key]; w != nil {
		w.gone = true
		delete(f.wanted, key)
		f.dropped = append(f.dropped, key)
	}
}

// unlockAndGo sees to it that what has changed is asked for: now, or by the question under way ending early.
func (f *fetcher) unlockAndGo() {
	state := f.state
	switch state {
	case fetcherIdle:
		f.state = fetcherAsking
	case fetcherAsking:
		f.hurry = true
	}
	f.mu.Unlock()
	switch state {
	case fetcherIdle:
		if !f.turn.Post(f) {
			f.close()
		}
	case fetcherAsking:
		f.source.Hurry()
	}
}

// Run asks the next question. It is called by the fetcher's executor.
func (f *fetcher) Run() {
	r := &f.request
	r.Changed, r.Dropped = r.Changed[:0], r.Dropped[:0]
	f.mu.Lock()
	if f.state == fetcherClosed || len(f.wanted) == 0 {
		if f.state != fetcherClosed {
			f.state = fetcherIdle // the source is told what was dropped when there is something to ask
		}
		f.mu.Unlock()
		return
	}
	f.state, f.hurry = fetcherAsking, false
	for i, w := range f.changed {
		f.changed[i] = nil
		w.changed = false
		if !w.gone {
			w.asked = w.position
			r.Changed = append(r.Changed, ReplicaPosition{w.key, w.asked.LeaderEpoch, w.asked.Offset, w.asked.LastEpoch})
		}
	}
	f.changed = f.changed[:0]
	for _, key := range f.dropped {
		if f.wanted[key] == nil { // else it was wanted again since
			r.Dropped = append(r.Dropped, key)
		}
	}
	f.dropped = f.dropped[:0]
	f.mu.Unlock()
	f.source.Fetch(r)
	// A change that came before the source had begun to wait may have hurried nobody.
	f.mu.Lock()
	again := f.hurry && f.state == fetcherAsking
	f.mu.Unlock()
	if again {
		f.source.Hurry()
	}
}

// answered is called when the source is through, on whichever goroutine.
func (f *fetcher) answered(r *ReplicaFetch) {
	t := &f.take
	t.at, t.on, t.items = 0, nil, t.items[:0]
	f.mu.Lock()
	if f.state != fetcherClosed {
		f.state = fetcherTaking
	}
	if r.Err != nil {
		for _, w := range f.wanted {
			if w.asked != (replica.Position{}) {
				t.items = append(t.items, taken{w.partition, w.asked, &ReplicaFound{PartitionKey: w.key, Err: r.Err}})
			}
			f.note(w) // the source has forgotten it
		}
		f.dropped = f.dropped[:0]
	} else {
		for i := range r.Found {
			if w := f.wanted[r.Found[i].PartitionKey]; w != nil {
				t.items = append(t.items, taken{w.partition, w.asked, &r.Found[i]})
			}
		}
	}
	f.mu.Unlock()
	t.Run()
}

// took goes on with the next question, when the last partition has its answer.
func (f *fetcher) took() {
	f.request.Release()
	f.mu.Lock()
	closed := f.state == fetcherClosed
	f.mu.Unlock()
	if !closed && !f.turn.Post(f) {
		f.close()
	}
}

func (f *fetcher) close() {
	f.mu.Lock()
	f.state = fetcherClosed
	f.mu.Unlock()
	f.source.Close()
}

// takeTask walks the partitions of an answer, like Visit.
type takeTask struct {
	jobs.Link
	fetcher *fetcher
	items   []taken
	at      int
	on      *worker
	events  foundEvents
}

type taken struct {
	partition *Partition
	asked     replica.Position
	found     *ReplicaFound
}

// Run carries on where the executor changed. Behind a Post nothing of t is touched: it may be over.
func (t *takeTask) Run() {
	for ; t.at < len(t.items); t.at++ {
		x := &t.items[t.at]
		if owner := x.partition.worker; owner != t.on {
			t.on = owner
			if owner.Post(t) {
				return
			}
			t.on = nil
			continue
		}
		x.partition.found(x.asked, x.found, &t.events)
	}
	clear(t.items)
	t.fetcher.took()
}

// noSource stands for a leader that can't be reached.
type noSource struct{}

func (noSource) Fetch(r *ReplicaFetch) {
	r.Err = errNoSource
	r.Done(r)
}
func (noSource) Hurry() {}
func (noSource) Snapshot(_ PartitionKey, _ int32, done func([]byte, error)) {
	done(nil, errNoSource)
}
func (noSource) Close() {}
