//go:build !noembed

package millrace_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace"
	"millrace/config"
	"millrace/metadata/etcd"
)

// cluster is servers of this test process that form one cluster.
type cluster struct {
	testing.TB
	set     map[string][]string // settings of each server, by its name
	servers map[string]*millrace.Server
}

// freePorts returns addresses of the loopback that nobody listens at.
func freePorts(t testing.TB, n int) (addrs []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

// shared is three servers on one etcd.
func shared(t testing.TB, set ...string) *cluster {
	t.Helper()
	e, err := etcd.StartEmbedded(soon(t), etcd.EmbeddedOptions{Name: "x", Cluster: map[string]string{"x": "127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	c := &cluster{TB: t, set: map[string][]string{}, servers: map[string]*millrace.Server{}}
	for _, name := range []string{"a", "b", "c"} {
		c.set[name] = append([]string{"millrace.node.name=" + name, "millrace.etcd.endpoints=" + strings.Join(e.Endpoints(), ",")}, set...)
	}
	c.start("a", "b", "c")
	return c
}

// embedded is three servers with an etcd in each.
func embedded(t testing.TB, set ...string) *cluster {
	t.Helper()
	ports := freePorts(t, 6)
	members := fmt.Sprintf("millrace.cluster=a=%s,b=%s,c=%s", ports[0], ports[1], ports[2])
	c := &cluster{TB: t, set: map[string][]string{}, servers: map[string]*millrace.Server{}}
	for i, name := range []string{"a", "b", "c"} { // at the same address after a restart
		c.set[name] = append([]string{"millrace.node.name=" + name, members, "listeners=PLAINTEXT://" + ports[3+i]}, set...)
	}
	c.start("a", "b", "c")
	return c
}

// start starts servers at once, with a broker each.
func (c *cluster) start(names ...string) {
	c.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, name := range names {
		cfg, _, err := config.Load(config.Input{Overrides: append([]string{"millrace.memory.max=64m",
			"listeners=PLAINTEXT://127.0.0.1:0", "control.listener="}, c.set[name]...)})
		if err != nil {
			c.Fatal(err)
		}
		ctx := soon(c)
		wg.Go(func() {
			s, err := millrace.OpenContext(ctx, millrace.Options{Config: cfg})
			if err == nil {
				c.Cleanup(func() { s.Close() })
				_, err = s.CreateBroker(cfg.Listeners[0].Host, int(cfg.Listeners[0].Port))
			}
			if err != nil {
				c.Errorf("server %s: %v", name, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			c.servers[name] = s
		})
	}
	wg.Wait()
	if c.Failed() {
		c.FailNow()
	}
}

func (c *cluster) broker(name string) int32 { return c.servers[name].Brokers()[0].ID }

// crash ends a server without a word.
func (c *cluster) crash(name string) {
	c.Helper()
	s := c.servers[name]
	delete(c.servers, name)
	if err := s.Crash(); err != nil {
		c.Error(err)
	}
}

// eventually waits until all servers agree that something is so.
func (c *cluster) eventually(what string, is func(s *millrace.Server) bool) time.Duration {
	c.Helper()
	began := time.Now()
	for ctx := soon(c); ; {
		if all := slices.Collect(func(yield func(bool) bool) {
			for _, s := range c.servers {
				if !yield(is(s)) {
					return
				}
			}
		}); !slices.Contains(all, false) {
			return time.Since(began)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			c.Fatalf("not so: %s", what)
		}
	}
}

// office is the name of the server that is the controller.
func (c *cluster) office() (name string) {
	c.Helper()
	c.eventually("one server is the controller", func(*millrace.Server) bool {
		var in []string
		for name, s := range c.servers {
			if s.InOffice() {
				in = append(in, name)
			}
		}
		if len(in) == 1 {
			name = in[0]
		}
		return len(in) == 1
	})
	return name
}

func (c *cluster) others(name string) (names []string) {
	for other := range c.servers {
		if other != name {
			names = append(names, other)
		}
	}
	slices.Sort(names)
	return names
}

func (c *cluster) seeds() (seeds []string) {
	for _, s := range c.servers {
		seeds = append(seeds, s.Bootstrap())
	}
	return seeds
}

// client knows all brokers of the cluster.
func (c *cluster) client(opts ...kgo.Opt) *kgo.Client {
	c.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.seeds()...), kgo.MetadataMinAge(50 * time.Millisecond)}, opts...)...)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(client.Close)
	return client
}

// createTopic makes a topic of three partitions, led by one broker each, by way of one server.
func (c *cluster) createTopic(via, topic string, replicas int16) {
	c.Helper()
	admin := kadm.NewClient(c.client(kgo.SeedBrokers(c.servers[via].Bootstrap())))
	if _, err := admin.CreateTopic(soon(c), 3, replicas, map[string]*string{"min.insync.replicas": kadm.StringPtr("2")}, topic); err != nil {
		c.Fatal(err)
	}
	c.eventually("the topic is known", func(s *millrace.Server) bool { return s.Image().Topic(topic) != nil })
}

func fenced(id int32) func(*millrace.Server) bool {
	return func(s *millrace.Server) bool { b := s.Image().Broker(id); return b != nil && b.Fenced }
}

func unfenced(id int32) func(*millrace.Server) bool {
	return func(s *millrace.Server) bool { b := s.Image().Broker(id); return b != nil && !b.Fenced }
}

// TestThreeServers: a topic that is made through one server is led by all, and clients find their way.
func TestThreeServers(t *testing.T) {
	for name, make := range map[string]func(testing.TB, ...string) *cluster{"shared": shared, "embedded": embedded} {
		t.Run(name, func(t *testing.T) {
			c := make(t)
			c.createTopic("a", "t", 1)
			var leaders []int32
			for _, p := range c.servers["b"].Image().Topic("t").Partitions {
				leaders = append(leaders, p.Leader)
			}
			slices.Sort(leaders)
			if !slices.Equal(leaders, []int32{1, 2, 3}) {
				t.Errorf("the leaders are %v", leaders)
			}
			c.roundTrip("t", 300)
			office := c.office()
			t.Logf("the controller is %s", office)
		})
	}
}

// roundTrip produces n records and reads them.
func (c *cluster) roundTrip(topic string, n int) {
	c.Helper()
	client := c.client(kgo.ConsumeTopics(topic), kgo.DefaultProduceTopic(topic), kgo.FetchMaxWait(100*time.Millisecond))
	for i := range n {
		client.Produce(soon(c), &kgo.Record{Key: fmt.Appendf(nil, "%d", i), Value: fmt.Appendf(nil, "%d", i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				c.Error(err)
			}
		})
	}
	if err := client.Flush(soon(c)); err != nil {
		c.Fatal(err)
	}
	seen := map[string]bool{}
	for ctx := soon(c); len(seen) < n; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			c.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { seen[string(r.Value)] = true })
	}
}

// TestCrash: the death of a process is noticed by its connections, and not after a session's time; also that of the controller.
// What was acknowledged by two is still there.
func TestCrash(t *testing.T) {
	c := shared(t, "broker.session.timeout.ms=60000")
	c.createTopic("a", "t", 3)
	load := startStream(t, manual(t, c.seeds()), "t")
	load.more(30)
	office := c.office()
	dead := c.broker(office)
	c.crash(office)
	took := c.eventually("the dead broker is fenced", fenced(dead))
	if took > 20*time.Second {
		t.Errorf("broker %d, of the controller, was fenced after %v", dead, took)
	}
	load.more(30)
	t.Logf("fenced after %v, the controller is %s", took, c.office())
	load.check()
}

// TestRollingRestart: one after the other stops and comes back, and nobody notices.
func TestRollingRestart(t *testing.T) {
	c := embedded(t)
	c.createTopic("a", "t", 3)
	c.createTopic("a", "single", 1)
	c.roundTrip("single", 30)
	load := startStream(t, manual(t, c.seeds()), "t")
	load.more(30)
	for _, name := range []string{"a", "b", "c"} {
		s := c.servers[name]
		id := c.broker(name)
		delete(c.servers, name)
		if err := s.Shutdown(soon(t)); err != nil {
			t.Fatal(err)
		}
		c.eventually("it has left", fenced(id))
		load.more(30)
		c.start(name)
		if err := c.servers[name].AwaitReady(soon(t)); err != nil {
			t.Fatal(err)
		}
		if got := c.broker(name); got != id {
			t.Errorf("%s was broker %d and is %d", name, id, got)
		}
		load.more(30)
	}
	load.check()
	c.roundTrip("single", 30)
	for _, name := range []string{"t", "single"} {
		for i, p := range c.servers["a"].Image().Topic(name).Partitions {
			if p.LossGeneration > 0 {
				t.Errorf("the records of %s-%d were lost", name, i)
			}
		}
	}
}

// TestSilence: a broker whose lease ends is fenced, and comes back with all it has when its process has another session.
func TestSilence(t *testing.T) {
	c := shared(t, "broker.session.timeout.ms=1000")
	c.createTopic("a", "t", 1)
	c.roundTrip("t", 30)
	office := c.office()
	name := c.others(office)[0]
	id, s := c.broker(name), c.servers[name]
	life := s.Image().Broker(id).Incarnation
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // until somebody has seen it fenced: a new session comes quickly
		defer close(ended)
		for ctx.Err() == nil {
			s.LoseSession()
		}
	}()
	c.eventually("the broker is fenced", fenced(id))
	cancel()
	<-ended
	c.eventually("the broker is back", unfenced(id))
	if b := s.Image().Broker(id); b.Incarnation != life {
		t.Error("it is another life")
	}
	c.createTopic(name, "u", 1)
	c.roundTrip("u", 30)
}

// TestKillInCluster: a broker whose process goes on dies and comes back, and is out of the cluster in between.
func TestKillInCluster(t *testing.T) {
	c := shared(t)
	c.createTopic("a", "t", 3)
	load := startStream(t, manual(t, c.seeds()), "t")
	load.more(30)
	s := c.servers[c.office()]
	id := s.Brokers()[0].ID
	if err := s.KillBroker(id); err != nil {
		t.Fatal(err)
	}
	c.eventually("the dead broker is fenced", fenced(id))
	if !s.Ready() { // it has no broker to wait for
		t.Error("not ready without a broker")
	}
	load.more(30)
	if restart(t, s, id); s.Broker(id) == nil {
		t.Error("the broker isn't back")
	}
	c.eventually("it is back in every ISR", func(other *millrace.Server) bool {
		for _, p := range other.Image().Topic("t").Partitions {
			if p.InISR(id) == 0 {
				return false
			}
		}
		return true
	})
	load.more(30)
	load.check()
}

// TestRemove: any process takes out a broker of any other, after a drain; one that isn't reached only if nothing is lost with
// it, or by force.
func TestRemove(t *testing.T) {
	c := shared(t, "broker.session.timeout.ms=60000")
	c.createTopic("a", "t", 1)
	c.roundTrip("t", 30)
	b, other := c.broker("b"), c.broker("c")
	if err := c.servers["a"].RemoveBroker(b); err != nil {
		t.Fatal(err)
	}
	c.eventually("it is gone, and its process knows", func(s *millrace.Server) bool { return s.Image().Broker(b) == nil && s.Broker(b) == nil })
	for i, p := range c.servers["a"].Image().Topic("t").Partitions {
		if p.LossGeneration > 0 || p.HasReplica(b) {
			t.Errorf("partition %d is %+v", i, p)
		}
	}
	c.crash("c")
	c.eventually("the dead one is fenced", fenced(other))
	lost := c.servers["a"].OnlyCopies(other)
	if err := c.servers["a"].RemoveBroker(other); err == nil || len(lost) == 0 {
		t.Errorf("RemoveBroker of one with the only copies of %v = %v", lost, err)
	}
	done := make(chan error, 1)
	c.servers["a"].StopBrokerNow(other, func(err error) { done <- err })
	if err := <-done; err != nil || c.servers["a"].Image().Broker(other) != nil {
		t.Errorf("StopBrokerNow = %v", err)
	}
}

// TestRestart: a process that dies and is back before anybody has noticed has its place and its id, and another life.
func TestRestart(t *testing.T) {
	c := embedded(t)
	c.createTopic("a", "t", 1)
	c.roundTrip("t", 30)
	s := c.servers["b"]
	before := s.Image().Broker(c.broker("b"))
	c.crash("b")
	c.start("b")
	after := c.servers["b"].Image().Broker(before.ID)
	if got := c.broker("b"); got != before.ID || after.Incarnation == before.Incarnation {
		t.Errorf("it is %d, %+v, and was %+v", got, after, before)
	}
	c.eventually("it leads again", func(s *millrace.Server) bool {
		img := s.Image()
		for i := range img.Topic("t").Partitions {
			if img.LeaderOf(&img.Topic("t").Partitions[i]) < 0 {
				return false
			}
		}
		return true
	})
	c.roundTrip("t", 60)
}
