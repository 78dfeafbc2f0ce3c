package e2e

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// cluster is three processes that form one, each with a broker.
type cluster struct {
	testing.TB
	args  map[string][]string // of each process, by its name
	nodes map[string]*Server  // those that run
}

// free returns addresses of the loopback that nobody listens at.
func free(t testing.TB, n int) (addrs []string) {
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

// startCluster starts three processes; metadata are the arguments that say where the metadata is, the same for all, and so are
// args.
func startCluster(t testing.TB, metadata func() []string, args ...string) *cluster {
	t.Helper()
	if External() {
		t.Skip("needs processes of its own")
	}
	c := &cluster{TB: t, args: map[string][]string{}, nodes: map[string]*Server{}}
	shared, names := append(metadata(), args...), []string{"a", "b", "c"}
	for i, addr := range free(t, len(names)) {
		c.args[names[i]] = append([]string{"--name", names[i], "--listeners", "PLAINTEXT://" + addr}, shared...)
	}
	t.Cleanup(func() {
		for name := range c.nodes {
			if t.Failed() {
				t.Logf("the log of %s:\n%s", name, c.nodes[name].Log())
			}
			c.kill(name)
		}
	})
	c.start(names...)
	return c
}

// embedded has an etcd in each process.
func embedded(t testing.TB) func() []string {
	return func() []string {
		peers := free(t, 3)
		return []string{"--cluster", fmt.Sprintf("a=%s,b=%s,c=%s", peers[0], peers[1], peers[2])}
	}
}

// etcdProgram is etcd itself, built of the module that the server has it from.
var etcdProgram = sync.OnceValues(func() (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "etcd")
	build := exec.Command("go", "build", "-o", path, "go.etcd.io/etcd/server/v3")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build etcd: %w\n%s", err, out)
	}
	return path, nil
})

// external has an etcd that is a process of its own.
func external(t testing.TB) func() []string { return externalAs(t, new([]int)) }

// externalAs is external, and tells etcd's process id.
func externalAs(t testing.TB, pids *[]int) func() []string {
	return func() []string {
		t.Helper()
		path, err := etcdProgram()
		if err != nil {
			t.Fatal(err)
		}
		addrs := free(t, 2)
		client, peer := "http://"+addrs[0], "http://"+addrs[1]
		etcd := Launch(t, Program{Args: []string{path, "--data-dir", t.TempDir(), "--unsafe-no-fsync", "--log-level", "error",
			"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
			"--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer}})
		*pids = append(*pids, etcd.cmd.Process.Pid)
		t.Cleanup(func() {
			etcd.Signal(syscall.SIGKILL)
			etcd.Wait(t, 10*time.Second)
		})
		return []string{"--etcd-endpoints", client} // the processes wait for it
	}
}

// start starts processes at once, and returns when they are ready.
func (c *cluster) start(names ...string) {
	c.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Go(func() {
			s, err := start(Options{Args: c.args[name]})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				c.Errorf("%s: %v", name, err)
				return
			}
			c.nodes[name] = s
		})
	}
	wg.Wait()
	if c.Failed() {
		c.FailNow()
	}
}

// kill ends a process as a crash does.
func (c *cluster) kill(name string) {
	s := c.nodes[name]
	delete(c.nodes, name)
	s.cmd.Process.Kill()
	<-s.log.ended
}

// stop asks a process to end, and waits until it has drained.
func (c *cluster) stop(name string) {
	c.Helper()
	s := c.nodes[name]
	delete(c.nodes, name)
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.log.ended:
		if err != nil || !strings.Contains(s.Log(), `"msg":"drained","brokers":1,`) {
			c.Errorf("%s ended with %v\n%s", name, err, s.Log())
		}
	case <-time.After(60 * time.Second):
		c.Fatalf("%s didn't stop\n%s", name, s.Log())
	}
}

func (c *cluster) seeds() (seeds []string) {
	for _, s := range c.nodes {
		seeds = append(seeds, s.Bootstrap...)
	}
	return seeds
}

func (c *cluster) client(opts ...kgo.Opt) *kgo.Client {
	c.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.seeds()...), kgo.MetadataMinAge(50 * time.Millisecond)}, opts...)...)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(client.Close)
	return client
}

// createTopic makes a topic of three partitions with three replicas, two of which must have a record.
func (c *cluster) createTopic(topic string) {
	c.Helper()
	two := "2"
	admin := kadm.NewClient(c.client())
	if _, err := admin.CreateTopic(Context(c, 20*time.Second), 3, 3, map[string]*string{"min.insync.replicas": &two}, topic); err != nil {
		c.Fatal(err)
	}
}

// load is a producer that waits for each of its records.
type load struct {
	*cluster
	client *kgo.Client
	topic  string
	acked  atomic.Int64
	stop   context.CancelFunc
	ended  chan struct{}
}

func (c *cluster) load(topic string, opts ...kgo.Opt) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cluster: c, topic: topic, stop: cancel, ended: make(chan struct{}),
		client: c.client(append(opts, kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }))...)}
	go func() {
		defer close(l.ended)
		for ctx.Err() == nil {
			n := l.acked.Load()
			r := &kgo.Record{Topic: topic, Key: fmt.Append(nil, n), Value: fmt.Append(nil, n)}
			if err := l.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
				c.Errorf("record %d: %v", n, err)
				return
			}
			l.acked.Add(1)
		}
	}()
	c.Cleanup(func() {
		cancel()
		<-l.ended
	})
	return l
}

// more waits until n further records were acknowledged, and tells how long that took.
func (l *load) more(n int64) time.Duration {
	l.Helper()
	began := time.Now()
	for until := l.acked.Load() + n; l.acked.Load() < until; time.Sleep(time.Millisecond) {
		if time.Since(began) > 60*time.Second || l.Failed() {
			l.Fatal("nothing is acknowledged any more")
		}
	}
	return time.Since(began)
}

// check reads all: what was acknowledged is there, once.
func (l *load) check() {
	l.Helper()
	l.stop()
	<-l.ended
	want := l.acked.Load()
	reader := l.cluster.client(kgo.ConsumeTopics(l.topic), kgo.FetchMaxWait(100*time.Millisecond))
	seen := map[string]int{}
	for ctx := Context(l, 60*time.Second); int64(len(seen)) < want; {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			l.Fatalf("%d of %d records: %v", len(seen), want, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if seen[string(r.Value)]++; seen[string(r.Value)] > 1 {
				l.Errorf("record %s is there twice", r.Value)
			}
		})
	}
}

var metadataKinds = map[string]func(testing.TB) func() []string{"embedded": embedded, "external": external}

// Three processes, each restarted in turn under load with acks=all: no error, nothing lost, nothing twice.
func TestClusterRollingRestart(t *testing.T) {
	for kind, metadata := range metadataKinds {
		t.Run(kind, func(t *testing.T) {
			c := startCluster(t, metadata(t))
			c.createTopic("t")
			l := c.load("t")
			l.more(100)
			for _, name := range []string{"a", "b", "c"} {
				began := time.Now()
				c.stop(name)
				stopped := time.Since(began)
				l.more(20)
				c.start(name)
				t.Logf("%s stopped in %v, was in sync again after %v", name, stopped, time.Since(began))
				l.more(20)
			}
			l.check()
		})
	}
}

// Processes are killed, whichever it hits, and come back with nothing. What two had is never lost.
func TestClusterKill(t *testing.T) {
	for kind, metadata := range metadataKinds {
		t.Run(kind, func(t *testing.T) {
			c := startCluster(t, metadata(t))
			c.createTopic("t")
			l := c.load("t")
			var took []time.Duration
			for i := range 6 {
				l.more(50)
				name := []string{"a", "b", "c"}[i%3]
				c.kill(name)
				took = append(took, l.more(3)) // one for each partition, about
				c.start(name)
			}
			l.check()
			slices.Sort(took)
			t.Logf("from the kill to the third acknowledged record: median %v, all %v", took[len(took)/2], took)
		})
	}
}

// A cluster that stops as a whole doesn't hang: a second signal ends the wait for somebody who takes over.
func TestClusterStopsTogether(t *testing.T) {
	c := startCluster(t, embedded(t))
	c.createTopic("t")
	for _, s := range c.nodes {
		s.cmd.Process.Signal(syscall.SIGTERM)
	}
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	for name, s := range c.nodes {
		delete(c.nodes, name)
		s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-s.log.ended:
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, s.Log())
			}
		case <-time.After(30 * time.Second):
			s.cmd.Process.Kill()
			t.Errorf("%s hangs\n%s", name, s.Log())
		}
	}
	t.Logf("stopped %v after the second signal", time.Since(began))
}
