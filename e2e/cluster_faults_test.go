package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A process that hangs isn't seen dead by its connections; its session's time ends. When it goes on it is a follower that
// has all it had.
func TestClusterFrozenLeader(t *testing.T) {
	c := startCluster(t, external(t), "--set", "broker.session.timeout.ms=2000")
	c.createTopic("t")
	l := c.load("t", kgo.ProduceRequestTimeout(time.Second), kgo.RequestTimeoutOverhead(time.Second))
	l.more(100)
	for _, name := range []string{"a", "b", "c"} {
		frozen := c.nodes[name]
		frozen.cmd.Process.Signal(syscall.SIGSTOP)
		delete(c.nodes, name)
		began := time.Now()
		c.led("t", frozen.Bootstrap[0])
		took := time.Since(began)
		l.more(20)
		frozen.cmd.Process.Signal(syscall.SIGCONT)
		c.nodes[name] = frozen
		t.Logf("%s was frozen: the others led after %v, the client got on after %v", name, took, time.Since(began))
		l.more(20)
		c.inSync("t")
	}
	l.check()
}

// While etcd is away the brokers go on with the ISR they have, and nobody is fenced for a silence that is etcd's.
func TestClusterStoreAway(t *testing.T) {
	var pids []int
	c := startCluster(t, externalAs(t, &pids), "--set", "broker.session.timeout.ms=2000")
	c.createTopic("t")
	c.inSync("t")
	l := c.load("t")
	l.more(100)
	syscall.Kill(pids[0], syscall.SIGSTOP)
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		if took := l.more(1); took > 2*time.Second {
			t.Errorf("a record took %v while etcd was away", took)
		}
	}
	syscall.Kill(pids[0], syscall.SIGCONT)
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		l.more(1)
	}
	c.inSync("t")
	for name, s := range c.nodes {
		if strings.Contains(s.Log(), `"broker fenced"`) {
			t.Errorf("%s has seen a broker fenced\n%s", name, s.Log())
		}
	}
	l.check()
}

// All processes are killed at once. With data folders the cluster is the same one afterwards, and declares what it lost: new
// records stand above the old offsets. Without them it is a new cluster without topics.
func TestClusterRestartsAsAWhole(t *testing.T) {
	for _, durable := range []bool{true, false} {
		t.Run(fmt.Sprintf("data folders=%v", durable), func(t *testing.T) {
			c := startCluster(t, embedded(t))
			names := []string{"a", "b", "c"}
			if durable { // from their second start on: the first had none
				for _, name := range names {
					c.kill(name)
					c.args[name] = append(c.args[name], "--data-dir", t.TempDir())
				}
				c.start(names...)
			}
			c.createTopic("t")
			l := c.load("t")
			l.more(100)
			l.stop()
			<-l.ended
			admin := kadm.NewClient(c.client())
			before, err := admin.ListEndOffsets(Context(t, 20*time.Second), "t")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				c.kill(name)
			}
			c.start(names...)
			admin = kadm.NewClient(c.client())
			topics, err := admin.ListTopics(Context(t, 20*time.Second))
			if err != nil || topics.Has("t") != durable {
				t.Fatalf("topics %v, error %v", topics.Names(), err)
			}
			if !durable {
				return
			}
			c.inSync("t")
			for partition := range int32(3) {
				r := &kgo.Record{Topic: "t", Partition: partition, Value: []byte("after")}
				producer := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
				if err := producer.ProduceSync(Context(t, 20*time.Second), r).FirstErr(); err != nil {
					t.Fatal(err)
				}
				if old, _ := before.Lookup("t", partition); r.Offset < old.Offset {
					t.Errorf("partition %d: offset %d was given again, the end was %d", partition, r.Offset, old.Offset)
				}
			}
			if !strings.Contains(c.nodes["a"].Log()+c.nodes["b"].Log()+c.nodes["c"].Log(), "the records of a partition are lost") {
				t.Error("the loss wasn't declared")
			}
		})
	}
}

// led waits until every partition of a topic is led, and not by the broker at addr.
func (c *cluster) led(topic, addr string) {
	c.Helper()
	client := c.client(kgo.RequestTimeoutOverhead(time.Second))
	defer client.Close()
	admin := kadm.NewClient(client)
	for ctx := Context(c, 30*time.Second); ; time.Sleep(10 * time.Millisecond) {
		m, err := admin.Metadata(ctx, topic)
		if ctx.Err() != nil {
			c.Fatal(err)
		}
		if err != nil {
			continue
		}
		leaders := map[int32]bool{}
		for _, b := range m.Brokers {
			leaders[b.NodeID] = fmt.Sprintf("%s:%d", b.Host, b.Port) != addr
		}
		all := len(m.Topics[topic].Partitions) > 0
		for _, p := range m.Topics[topic].Partitions {
			all = all && leaders[p.Leader]
		}
		if all {
			return
		}
	}
}

// inSync waits until all replicas of a topic are.
func (c *cluster) inSync(topic string) {
	c.Helper()
	admin := kadm.NewClient(c.client())
	for ctx := Context(c, 30*time.Second); ; time.Sleep(10 * time.Millisecond) {
		topics, err := admin.ListTopics(ctx, topic)
		if err != nil {
			c.Fatal(err)
		}
		all := len(topics[topic].Partitions) > 0
		for _, p := range topics[topic].Partitions {
			all = all && p.Leader >= 0 && len(p.ISR) == len(p.Replicas)
		}
		if all {
			return
		}
	}
}
