package link_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"millrace/broker"
	"millrace/broker/api"
	"millrace/broker/brokertest"
	"millrace/broker/link"
	"millrace/metadata"
	"millrace/protocol/record"
	"millrace/reactor"
)

// cluster has brokers that are reached over sockets.
type cluster struct {
	*brokertest.Cluster
	reactor *reactor.Reactor

	mu        sync.Mutex
	listening map[metadata.Member]*listening // guarded by mu
}

type listening struct {
	listener *reactor.Listener
	desk     *api.Desk
}

// newCluster starts brokers 1 … n. What they follow they read over links, if linked; otherwise they follow nobody, and
// the test does it for them.
func newCluster(t testing.TB, brokers int, linked bool, set ...string) *cluster {
	t.Helper()
	c := &cluster{Cluster: brokertest.New(t, 0, set...), listening: map[metadata.Member]*listening{}}
	c.Deps.Source = func(follower, leader metadata.Member) broker.Source {
		if !linked {
			return nil
		}
		return c.link(follower, leader)
	}
	var err error
	if c.reactor, err = reactor.Start(reactor.Options{Loops: 1, Slabs: c.Deps.Slabs, Log: zap.NewNop()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.closeReactor)
	for i := range brokers {
		c.start(int32(i + 1))
	}
	return c
}

func (c *cluster) closeReactor() {
	c.mu.Lock()
	for _, l := range c.listening {
		l.listener.Close()
	}
	c.mu.Unlock()
	c.reactor.Close()
}

// link is a way from a follower to a leader.
func (c *cluster) link(follower, leader metadata.Member) *link.Link {
	return link.Open(link.Options{Self: follower, Address: func() (string, bool) { return c.address(leader) }})
}

func (c *cluster) address(of metadata.Member) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.listening[of]
	if l == nil {
		return "", false
	}
	return l.listener.Addr().String(), true
}

// start adds a broker and has it listen.
func (c *cluster) start(id int32) {
	c.Helper()
	c.AddBroker(id)
	b := c.Broker(id)
	desk := api.NewDesk(api.Deps{Broker: b, Cluster: c.Central, Config: c.Deps.Config, Log: zap.NewNop()})
	c.listen(b.Self, &listening{desk: desk})
}

func (c *cluster) listen(self metadata.Member, l *listening) {
	c.Helper()
	var err error
	if l.listener, err = c.reactor.Listen("127.0.0.1:0", reactor.ListenerOptions{Framing: reactor.Frames, Handler: l,
		FrameBytesMax: 1 << 20}); err != nil {
		c.Fatal(err)
	}
	c.mu.Lock()
	c.listening[self] = l
	c.mu.Unlock()
}

// hangUp closes a broker's listener, and with it all connections.
func (c *cluster) hangUp(self metadata.Member) *listening {
	c.mu.Lock()
	l := c.listening[self]
	delete(c.listening, self)
	c.mu.Unlock()
	l.listener.Close()
	return l
}

// kill has a broker die with its RAM, and the cluster see it.
func (c *cluster) kill(id int32) {
	c.Helper()
	c.hangUp(c.Broker(id).Self)
	c.KillBroker(id)
}

// produce appends records with acks=all, and returns the first one's offset.
func (c *cluster) produce(topic string, index int32, acks int16, values ...string) (int64, error) {
	c.Helper()
	leader, p := c.Leader(topic, index)
	var b record.Builder
	b.Reset(record.Options{})
	for _, v := range values {
		b.Append(record.Record{Timestamp: time.Now().UnixMilli(), Value: []byte(v)})
	}
	done := make(chan broker.AppendPart, 1)
	op := &broker.Produce{Acks: acks, TimeoutMs: 10_000, Parts: []broker.AppendPart{{Partition: p, Batch: slices.Clone(b.Bytes())}},
		Done: func(op *broker.Produce) { done <- op.Parts[0] }}
	op.Start(leader)
	part := <-done
	return part.BaseOffset, part.Err
}

// await waits for a condition.
func (c *cluster) await(what string, ok func() bool) {
	c.Helper()
	for until := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			c.Fatalf("it never came that %s", what)
		}
	}
}

func (c *cluster) inSync(topic string, n int) func() bool {
	return func() bool {
		return !slices.ContainsFunc(c.Central.Image().Topic(topic).Partitions, func(p metadata.Partition) bool { return len(p.ISR) != n })
	}
}

// The listener's handler, as package millrace has it.

func (l *listening) Open(c *reactor.Conn) any { return l.desk.Open(c.LocalAddr(), c.RemoteAddr()) }

func (l *listening) Overlaps(s any, frame []byte) bool {
	return l.desk.Overlaps(s.(*api.Session), frame)
}

func (l *listening) Serve(r *reactor.Request) { l.desk.Serve(r.Session().(*api.Session), r.Frame(), r) }

func (l *listening) Close(s any) { l.desk.Close(s.(*api.Session)) }
