package link

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol/kafka"
)

// Options are what a link is opened with.
type Options struct {
	Self metadata.Member // the follower's broker; it says so in each request
	// Address is where the leader's broker is found, host:port. It is asked before each dial; false: it isn't known.
	Address func() (string, bool)
	Dial    Dial        // nil: plain TCP
	Log     *zap.Logger // nil: none
}

// Link is a broker.Source over one connection to another broker. The connection is dialled when there is something to
// ask; one that breaks answers what is under way with an error, and the next question dials again. A pause in between is
// the asker's business.
//
// Requests are pipelined: an answer to a fetch may be long in coming, but the broker gives it as soon as it sees another
// request behind it, and that is what Hurry sends.
type Link struct {
	o    Options
	ctx  context.Context
	stop context.CancelFunc
	work chan struct{} // the writer has something to do

	mu        sync.Mutex
	closed    bool                 // guarded by mu
	conn      *conn                // guarded by mu; nil: none
	fetch     *broker.ReplicaFetch // guarded by mu; under way
	taken     bool                 // guarded by mu: the writer has the fetch, or had
	hurried   bool                 // guarded by mu: the fetch is to finish
	hurryTold bool                 // guarded by mu: and the broker has been told
	snapshots []*snapshotAsk       // guarded by mu; to be sent
	spare     []*answer            // guarded by mu

	session session // whoever has the fetch

	// The writer's.
	out    []byte
	expect []expected
	lastID int32
}

var _ broker.Source = (*Link)(nil)

// snapshotAsk is a question for a snapshot.
type snapshotAsk struct {
	key         broker.PartitionKey
	leaderEpoch int32
	done        func(content []byte, err error)
}

// spareMax is how many answers a link keeps for later: one that is read, and one that is still in use.
const spareMax = 2

// Open makes a link. It dials when it is asked something.
func Open(o Options) *Link {
	if o.Dial == nil {
		o.Dial = dialTCP
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	l := &Link{o: o, work: make(chan struct{}, 1)}
	l.session.positions = map[broker.PartitionKey]broker.ReplicaPosition{}
	l.ctx, l.stop = context.WithCancel(context.Background())
	go l.write()
	return l
}

// Fetch is broker.Source's.
func (l *Link) Fetch(r *broker.ReplicaFetch) {
	l.mu.Lock()
	if l.fetch != nil {
		panic("link: a fetch while another is under way")
	}
	closed := l.closed
	if !closed {
		l.fetch, l.taken, l.hurried, l.hurryTold = r, false, false, false
	}
	l.mu.Unlock()
	if closed {
		r.Err = ErrClosed
		r.Done(r)
		return
	}
	l.wake()
}

// Hurry is broker.Source's. It costs a look while nothing is waiting.
func (l *Link) Hurry() {
	l.mu.Lock()
	news := l.fetch != nil && !l.hurried
	l.hurried = l.hurried || news
	l.mu.Unlock()
	if news {
		l.wake()
	}
}

// Snapshot is broker.Source's.
func (l *Link) Snapshot(key broker.PartitionKey, leaderEpoch int32, done func(content []byte, err error)) {
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.snapshots = append(l.snapshots, &snapshotAsk{key, leaderEpoch, done})
	}
	l.mu.Unlock()
	if closed {
		done(nil, ErrClosed)
		return
	}
	l.wake()
}

// Close is broker.Source's. It doesn't wait: what is under way is completed with an error soon after, on the link's
// goroutines, which then end.
func (l *Link) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
}

func (l *Link) wake() {
	select {
	case l.work <- struct{}{}:
	default:
	}
}

// write is the goroutine that dials and sends.
func (l *Link) write() {
	for {
		select {
		case <-l.work:
			l.send()
		case <-l.ctx.Done():
			l.end()
			return
		}
	}
}

// end completes what is left when the link is closed.
func (l *Link) end() {
	l.take()
	l.failed(l.expect, ErrClosed)
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	if c != nil {
		c.fail(ErrClosed)
	}
}

// send sends what there is to send.
func (l *Link) send() {
	c, hurry := l.take()
	if len(l.expect) == 0 && (!hurry || c == nil) {
		return
	}
	if c == nil {
		var err error
		if c, err = l.connect(); err != nil {
			l.failed(l.expect, err)
			return
		}
	}
	patience := time.Duration(0)
	l.out = l.out[:0]
	for i := range l.expect {
		e := &l.expect[i]
		if e.kind == kindFetch {
			patience = l.fetch.MaxWait + requestTimeout
		}
		l.append(c, e)
	}
	if hurry {
		l.expect = append(l.expect, expected{kind: kindHurry, sizeMax: hurryBytesMax})
		l.append(c, &l.expect[len(l.expect)-1])
	}
	c.send(l.out, l.expect, patience)
}

// take lists in expect what is to be sent. From then on it is completed by whoever has it.
func (l *Link) take() (c *conn, hurry bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.expect)
	l.expect = l.expect[:0]
	if l.fetch != nil && !l.taken {
		l.taken = true
		l.expect = append(l.expect, expected{kind: kindFetch, sizeMax: max(0, l.fetch.BytesMax) + answerBytesMore})
	}
	for _, s := range l.snapshots {
		l.expect = append(l.expect, expected{kind: kindSnapshot, sizeMax: snapshotBytesMax, snapshot: s})
	}
	clear(l.snapshots)
	l.snapshots = l.snapshots[:0]
	hurry = l.fetch != nil && l.hurried && !l.hurryTold
	l.hurryTold = l.hurryTold || hurry
	return l.conn, hurry
}

// connect dials.
func (l *Link) connect() (*conn, error) {
	address, ok := l.o.Address()
	if !ok {
		return nil, errNoAddress
	}
	ctx, cancel := context.WithTimeout(l.ctx, dialTimeout)
	nc, err := l.o.Dial(ctx, address)
	cancel()
	if err != nil {
		return nil, err
	}
	c := &conn{link: l, nc: nc, unwatch: context.AfterFunc(l.ctx, func() { nc.Close() })}
	l.mu.Lock()
	l.conn = c
	l.mu.Unlock()
	go c.read()
	return c, nil
}

// append appends the frame of a request to out.
func (l *Link) append(c *conn, e *expected) {
	l.lastID++
	e.id = l.lastID
	switch e.kind {
	case kindFetch:
		l.out = kafka.AppendFetch(l.out, l.session.ask(c, l.o.Self, l.fetch), e.id, clientID)
	case kindSnapshot:
		l.out = appendSnapshot(l.out, l.o.Self, e.snapshot, e.id)
	case kindHurry:
		at := len(l.out)
		l.out = append(l.out, greeting...)
		binary.BigEndian.PutUint32(l.out[at+greetingIDAt:], uint32(e.id))
	}
}

// appendSnapshot appends a FetchSnapshot; broker/api says what its fields mean.
func appendSnapshot(out []byte, self metadata.Member, s *snapshotAsk, id int32) []byte {
	req, topic, part := kmsg.NewFetchSnapshotRequest(), kmsg.NewFetchSnapshotRequestTopic(), kmsg.NewFetchSnapshotRequestTopicPartition()
	part.Partition, part.CurrentLeaderEpoch = s.key.Index, s.leaderEpoch
	binary.BigEndian.PutUint64(part.ReplicaDirectoryID[:], self.Incarnation)
	topic.Topic, topic.Partitions = s.key.Topic.String(), append(topic.Partitions, part)
	req.Version, req.ReplicaID, req.Topics = 1, self.Broker, append(req.Topics, topic)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(out, &req, id)
}

// failed completes what was or would have been sent with an error.
func (l *Link) failed(expect []expected, err error) {
	if l.ctx.Err() != nil {
		err = ErrClosed
	}
	for _, e := range expect {
		switch e.kind {
		case kindFetch:
			l.session.failed()
			r := l.takeFetch()
			r.Err = err
			r.Done(r)
		case kindSnapshot:
			e.snapshot.done(nil, err)
		}
	}
}

// takeFetch ends the fetch that is under way, just before it is done: Done may begin the next.
func (l *Link) takeFetch() *broker.ReplicaFetch {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.fetch
	l.fetch = nil
	return r
}

// answer is memory for an answer.
func (l *Link) answer() *answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.spare) - 1; n >= 0 {
		a := l.spare[n]
		l.spare = l.spare[:n]
		return a
	}
	a := &answer{}
	a.free = func() { l.release(a) }
	return a
}

// release takes the memory of an answer back.
func (l *Link) release(a *answer) {
	a.rest()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spare) < spareMax {
		l.spare = append(l.spare, a)
	}
}
