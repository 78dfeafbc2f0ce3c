package link_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/link"
	"millrace/broker/replica"
	"millrace/metadata"
	"millrace/protocol/record"
)

// follower is the test in the place of broker 2, which follows broker 1.
type follower struct {
	*cluster
	*link.Link
	request broker.ReplicaFetch
	done    chan struct{}
	topic   *metadata.Topic
	led     []int32 // partitions that broker 1 leads
	wire    *wire
}

// wire is the connection of a follower's link, watched.
type wire struct {
	mu       sync.Mutex
	dialled  int // guarded by mu, as the rest
	closed   int
	sent     int          // bytes
	received bytes.Buffer // the beginning of each connection
}

type watched struct {
	net.Conn
	wire *wire
}

func (w *wire) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialled++
	w.received.Reset()
	return &watched{conn, w}, nil
}

func (c *watched) Write(b []byte) (int, error) {
	c.wire.mu.Lock()
	c.wire.sent += len(b)
	c.wire.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *watched) Close() error {
	c.wire.mu.Lock()
	c.wire.closed++
	c.wire.mu.Unlock()
	return c.Conn.Close()
}

func (c *watched) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	if c.wire.received.Len() < 1000 {
		c.wire.received.Write(b[:n])
	}
	return n, err
}

// take returns what was sent since it was last asked.
func (w *wire) take() (bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	bytes, w.sent = w.sent, 0
	return bytes
}

func newFollower(t testing.TB, partitions int32, set ...string) *follower {
	t.Helper()
	f := &follower{cluster: newCluster(t, 2, false, set...), done: make(chan struct{}, 1), wire: &wire{}}
	leader := f.Broker(1).Self
	f.Link = link.Open(link.Options{Self: f.Broker(2).Self, Dial: f.wire.dial,
		Address: func() (string, bool) { return f.address(leader) }})
	t.Cleanup(f.Close)
	f.CreateReplicated("t", partitions, 2, nil)
	f.topic = f.Central.Image().Topic("t")
	for i := range f.topic.Partitions {
		if f.topic.Partitions[i].Leader == 1 {
			f.led = append(f.led, int32(i))
		}
	}
	f.request = broker.ReplicaFetch{BytesMax: 10 << 20, PartitionBytesMax: 1 << 20,
		Done: func(*broker.ReplicaFetch) { f.done <- struct{}{} }}
	return f
}

func (f *follower) key(index int32) broker.PartitionKey {
	return broker.PartitionKey{Topic: f.topic.ID, Index: index}
}

// at is a position: of a follower whose last record is of the current leader epoch.
func (f *follower) at(index int32, offset int64) broker.ReplicaPosition {
	p := broker.ReplicaPosition{PartitionKey: f.key(index), LeaderEpoch: f.topic.Partitions[index].LeaderEpoch, Offset: offset}
	if p.LastEpoch = p.LeaderEpoch; offset == 0 {
		p.LastEpoch = -1
	}
	return p
}

// ask starts a fetch that waits for long.
func (f *follower) ask(changed ...broker.ReplicaPosition) {
	f.begin(10*time.Second, changed)
}

func (f *follower) begin(wait time.Duration, changed []broker.ReplicaPosition) {
	f.request.Release()
	f.request.Changed, f.request.MaxWait = changed, wait
	f.Link.Fetch(&f.request)
}

// answered waits for the answer, in the order of partitions.
func (f *follower) answered() []broker.ReplicaFound {
	f.Helper()
	select {
	case <-f.done:
	case <-time.After(20 * time.Second):
		f.Fatal("no answer")
	}
	slices.SortFunc(f.request.Found, func(a, b broker.ReplicaFound) int { return int(a.Index - b.Index) })
	return f.request.Found
}

// fetch takes what there is now.
func (f *follower) fetch(changed ...broker.ReplicaPosition) []broker.ReplicaFound {
	f.Helper()
	f.begin(10*time.Millisecond, changed)
	found := f.answered()
	if f.request.Err != nil {
		f.Fatal(f.request.Err)
	}
	return found
}

// parked gives the leader the time to let the fetch wait.
func (f *follower) parked() {
	f.Helper()
	select {
	case <-f.done:
		f.Fatalf("it doesn't wait: %v, %+v", f.request.Err, f.request.Found)
	case <-time.After(50 * time.Millisecond):
	}
}

func (f *follower) append(index int32, values ...string) {
	f.Helper()
	if _, err := f.produce("t", index, 1, values...); err != nil {
		f.Fatal(err)
	}
}

// valuesOf are those of the records that were found in a partition; "" if it isn't among what was found.
func (f *follower) valuesOf(index int32) string {
	f.Helper()
	var values []string
	var scratch record.Scratch
	for i := range f.request.Found {
		for _, v := range f.request.Found[i].Records {
			for rest := v.Bytes; f.request.Found[i].Index == index && len(rest) > 0; {
				var b record.Batch
				var err error
				if b, rest, err = record.Next(rest); err == nil {
					err = b.Each(&scratch, func(r record.Record) error {
						values = append(values, string(r.Value))
						return nil
					})
				}
				if err != nil {
					f.Fatal(err)
				}
			}
		}
	}
	return strings.Join(values, " ")
}

func TestFetch(t *testing.T) {
	f := newFollower(t, 6)
	a, b, c := f.led[0], f.led[1], f.led[2]
	f.append(a, "1", "2")
	f.append(a, "3")
	f.append(b, "4")
	found := f.fetch(f.at(a, 0), f.at(b, 0), f.at(c, 0))
	if len(found) != 3 || f.valuesOf(a) != "1 2 3" || f.valuesOf(b) != "4" || found[2].Records != nil {
		t.Fatalf("%+v", found)
	}
	if x := found[0].Answer; found[0].Err != nil || x != (replica.Answer{DivergingEpoch: -1, DivergingEnd: -1}) {
		t.Errorf("%v, %+v", found[0].Err, x)
	}
	// All is replicated then, so the high watermark has moved, which is told with what comes next.
	f.ask(f.at(a, 3), f.at(b, 1))
	f.parked()
	f.append(c, "5")
	if found = f.answered(); f.valuesOf(c) != "5" || found[0].Index != a || found[0].Records != nil ||
		found[0].Answer.HighWatermark != 3 {
		t.Fatalf("%+v", found)
	}
	f.ask(f.at(c, 1))
	f.parked()
	f.Hurry()
	f.answered()
	f.request.Dropped = []broker.PartitionKey{f.key(a)}
	f.ask()
	f.parked()
	f.append(a, "6")
	f.parked()
	f.append(b, "7")
	if f.answered(); f.valuesOf(b) != "7" || f.valuesOf(a) != "" {
		t.Fatalf("%+v", f.request.Found)
	}
	if f.wire.dialled != 1 {
		t.Errorf("dialled %d times", f.wire.dialled)
	}
}

// What the leader says instead of records.
func TestFetchAnswers(t *testing.T) {
	f := newFollower(t, 6)
	a, b, c := f.led[0], f.led[1], f.led[2]
	f.append(a, "1", "2")
	f.append(b, "3", "4")
	f.fetch(f.at(a, 2), f.at(b, 2))
	_, p := f.Leader("t", b)
	f.await("it is committed", func() bool { return p.Figures().HighWatermark == 2 })
	f.deleteRecords(p, 1)
	old := f.at(c, 0)
	old.LeaderEpoch--
	found := f.fetch(f.at(a, 7), f.at(b, 0), old)
	if len(found) != 3 {
		t.Fatalf("%+v", found)
	}
	epoch := f.topic.Partitions[a].LeaderEpoch
	if x := found[0]; x.Err != nil || x.Answer.DivergingEpoch != epoch || x.Answer.DivergingEnd != 2 {
		t.Errorf("beyond the end: %v, %+v", x.Err, x.Answer)
	}
	if x := found[1]; !errors.Is(x.Err, replica.ErrOffsetOutOfRange) || x.Answer.LogStart != 1 || x.Answer.HighWatermark != 2 {
		t.Errorf("below the start: %v, %+v", x.Err, x.Answer)
	}
	if x := found[2]; x.Err == nil || x.Err.Error() != "FENCED_LEADER_EPOCH" {
		t.Errorf("an old epoch: %v, %+v", x.Err, x.Answer)
	}
	leader := f.Broker(1).Self
	stranger := link.Open(link.Options{Self: metadata.Member{Broker: 2, Incarnation: 1},
		Address: func() (string, bool) { return f.address(leader) }})
	defer stranger.Close()
	f.Link = stranger
	if found = f.fetch(f.at(a, 0)); found[0].Err == nil || found[0].Err.Error() != "STALE_BROKER_EPOCH" {
		t.Errorf("another life: %+v", found)
	}
}

func (f *follower) deleteRecords(p *broker.Partition, before int64) {
	f.Helper()
	done := make(chan struct{})
	f.Broker(1).DeleteRecords([]broker.DeleteRecords{{Partition: p, Before: before}}, func() { close(done) })
	<-done
}

// Something to ask ends the wait of a fetch: so does a snapshot, which shares the connection.
func TestHurry(t *testing.T) {
	f := newFollower(t, 2)
	a := f.led[0]
	f.Hurry() // nothing waits
	f.fetch(f.at(a, 0))
	for range 3 {
		f.ask()
		f.parked()
		began := time.Now()
		f.Hurry()
		f.Hurry()
		if found := f.answered(); len(found) != 0 || time.Since(began) > 5*time.Second {
			t.Fatalf("after %v: %+v", time.Since(began), found)
		}
	}
	f.ask()
	f.Hurry() // before it is sent, or behind it
	f.answered()

	f.ask()
	f.parked()
	content, err := f.snapshot(a)
	if err != nil || len(content) == 0 {
		t.Errorf("snapshot: %x, %v", content, err)
	}
	f.answered()
	if f.request.Err != nil {
		t.Error(f.request.Err)
	}
	f.topic = &metadata.Topic{ID: metadata.TopicID{1}, Partitions: f.topic.Partitions}
	if _, err = f.snapshot(a); err == nil || err.Error() != "UNKNOWN_TOPIC_ID" {
		t.Errorf("a topic that isn't there: %v", err)
	}
	if f.wire.dialled != 1 {
		t.Errorf("dialled %d times", f.wire.dialled)
	}
}

func (f *follower) snapshot(index int32) (content []byte, err error) {
	f.Helper()
	done := make(chan struct{})
	f.Snapshot(f.key(index), f.topic.Partitions[index].LeaderEpoch, func(b []byte, e error) {
		content, err = b, e
		close(done)
	})
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		f.Fatal("no snapshot")
	}
	return content, err
}

// With a session a request says what is new, without one everything each time; the answers are the same.
func TestSession(t *testing.T) {
	const partitions = 400
	for name, x := range map[string]struct {
		set     string
		sentMax int // by a fetch that has nothing new to say
		sentMin int
	}{
		"a session":  {"max.incremental.fetch.session.cache.slots=10", 150, 1},
		"no session": {"max.incremental.fetch.session.cache.slots=0", 30_000, 33 * partitions / 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFollower(t, partitions, x.set)
			var all []broker.ReplicaPosition
			for _, index := range f.led {
				all = append(all, f.at(index, 0))
			}
			f.fetch(all...)
			f.wire.take()
			f.fetch()
			if sent := f.wire.take(); sent < x.sentMin || sent > x.sentMax {
				t.Errorf("%d bytes asked for nothing new", sent)
			}
			last := f.led[len(f.led)-1]
			f.append(last, "1")
			news := func(found []broker.ReplicaFound) (indexes []int32) {
				for i := range found {
					if found[i].Records != nil {
						indexes = append(indexes, found[i].Index)
					}
				}
				return indexes
			}
			if got := news(f.fetch()); !slices.Equal(got, []int32{last}) {
				t.Errorf("news of %v", got)
			}
			if got := news(f.fetch(f.at(last, 1))); got != nil {
				t.Errorf("news of %v", got)
			}
			f.request.Dropped = []broker.PartitionKey{f.key(f.led[0])}
			f.fetch()
			f.request.Dropped = nil
			f.append(f.led[0], "1")
			f.append(f.led[1], "1")
			if got := news(f.fetch()); !slices.Equal(got, f.led[1:2]) {
				t.Errorf("news of %v", got)
			}
		})
	}
}

// A session that the leader has ended is an error, after which everything is named again.
func TestSessionLost(t *testing.T) {
	f := newFollower(t, 4)
	a, b := f.led[0], f.led[1]
	f.append(a, "1")
	f.append(b, "2")
	f.fetch(f.at(a, 0), f.at(b, 0))
	const head = 4 + 4 + 1 + 4 + 2 // size, correlation id, tags, throttle time, code
	f.wire.mu.Lock()
	session := int32(binary.BigEndian.Uint32(f.wire.received.Bytes()[head:]))
	f.wire.mu.Unlock()
	f.endSession(session)
	f.ask()
	f.answered()
	if f.request.Err == nil || f.request.Err.Error() != "FETCH_SESSION_ID_NOT_FOUND" {
		t.Fatalf("%v, %+v", f.request.Err, f.request.Found)
	}
	if found := f.fetch(f.at(b, 0)); len(found) != 1 || f.valuesOf(b) != "2" {
		t.Fatalf("%+v", found)
	}
	if f.wire.dialled != 1 {
		t.Errorf("dialled %d times", f.wire.dialled)
	}
}

// A connection that breaks fails what is under way, and the next question dials again.
func TestConnectionBreaks(t *testing.T) {
	f := newFollower(t, 2)
	a, leader := f.led[0], f.Broker(1).Self
	f.append(a, "1")
	f.fetch(f.at(a, 0))
	f.ask(f.at(a, 1))
	f.parked()
	l := f.hangUp(leader)
	f.answered()
	if f.request.Err == nil {
		t.Fatal("it is answered")
	}
	f.ask(f.at(a, 0))
	f.answered()
	if f.request.Err == nil { // no address
		t.Fatal("it is answered")
	}
	if _, err := f.snapshot(a); err == nil {
		t.Error("a snapshot of nobody")
	}
	f.listen(leader, l)
	if found := f.fetch(f.at(a, 0)); len(found) != 1 || f.valuesOf(a) != "1" {
		t.Fatalf("%+v", found)
	}
	if content, err := f.snapshot(a); err != nil || len(content) == 0 {
		t.Errorf("snapshot: %x, %v", content, err)
	}
}

// An idle connection that the leader has closed is no error: it is dialled again, and what was asked for before is still
// asked for.
func TestConnectionIdle(t *testing.T) {
	f := newFollower(t, 4)
	a, b, leader := f.led[0], f.led[1], f.Broker(1).Self
	f.append(a, "1")
	f.fetch(f.at(a, 0), f.at(b, 0))
	f.listen(leader, f.hangUp(leader))
	f.await("the link has noticed", func() bool {
		f.wire.mu.Lock()
		defer f.wire.mu.Unlock()
		return f.wire.closed == 1
	})
	if found := f.fetch(f.at(a, 1)); len(found) != 2 { // a new session tells of all
		t.Fatalf("%+v", found)
	}
}

// Close ends everything that is under way, and what comes after it.
func TestClose(t *testing.T) {
	f := newFollower(t, 2)
	a := f.led[0]
	f.fetch(f.at(a, 0))
	f.ask()
	f.parked()
	f.Close()
	f.answered()
	if !errors.Is(f.request.Err, link.ErrClosed) {
		t.Error(f.request.Err)
	}
	f.ask()
	f.answered()
	if !errors.Is(f.request.Err, link.ErrClosed) {
		t.Error(f.request.Err)
	}
	if _, err := f.snapshot(a); !errors.Is(err, link.ErrClosed) {
		t.Error(err)
	}
	f.Hurry()
	f.Close()

	dialling := make(chan struct{})
	f.Link = link.Open(link.Options{Self: f.Broker(2).Self, Address: func() (string, bool) { return "somewhere", true },
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			close(dialling)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
	f.ask(f.at(a, 0))
	<-dialling
	f.Close()
	f.answered()
	if !errors.Is(f.request.Err, link.ErrClosed) {
		t.Error(f.request.Err)
	}
}

// endSession has somebody else end a session at the leader.
func (f *follower) endSession(id int32) {
	f.Helper()
	address, _ := f.address(f.Broker(1).Self)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		f.Fatal(err)
	}
	defer conn.Close()
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.SessionID, req.SessionEpoch = 17, id, -1
	if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
		f.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		f.Fatal(err)
	}
}
