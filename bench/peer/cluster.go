package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"millrace/bench/proc"
	"millrace/bench/wire"
)

// Cluster is several processes of Millrace that replicate among each other, each with an etcd of its own in it.
type Cluster struct {
	Nodes []*Node
	dir   string // of their metadata
}

// Node is one process of a Cluster, in one life after the other. Its broker's id is its number, from 1.
type Node struct {
	Name string
	ID   int32
	Addr string
	args []string
	now  *Target // nil: dead
}

// nodeNames are the processes of a cluster.
var nodeNames = []string{"a", "b", "c"}

// StartCluster starts three nodes on loopback addresses and waits until each serves. Settings are name=value.
func StartCluster(ctx context.Context, c *Config, settings ...string) (*Cluster, error) {
	dir, err := os.MkdirTemp(memoryDir(), "millrace-bench-cluster-")
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2 * len(nodeNames))
	if err != nil {
		return nil, err
	}
	k := &Cluster{dir: dir}
	var members []string
	for i, name := range nodeNames {
		members = append(members, name+"="+loopback(ports[2*i]))
	}
	settings = append([]string{"millrace.log.format=json", "control.listener=",
		"group.initial.rebalance.delay.ms=0"}, append(settings, c.MillraceSettings...)...)
	for i, name := range nodeNames {
		n := &Node{Name: name, ID: int32(i + 1), Addr: loopback(ports[2*i+1])}
		n.args = []string{c.Millrace, "server", "--name", name, "--cluster", strings.Join(members, ","), "--listeners",
			"PLAINTEXT://" + n.Addr, "--data-dir", filepath.Join(dir, name), "--set", fmt.Sprintf("node.id=%d", n.ID)}
		for _, s := range settings {
			n.args = append(n.args, "--set", s)
		}
		k.Nodes = append(k.Nodes, n)
	}
	if err := k.StartAll(ctx); err != nil {
		k.Stop()
		return nil, err
	}
	return k, nil
}

// StartAll starts the nodes that are dead and waits until each of them serves.
func (k *Cluster) StartAll(ctx context.Context) error {
	var dead []*Node
	for _, n := range k.Nodes {
		if n.now == nil {
			if err := n.Launch(); err != nil {
				return err
			}
			dead = append(dead, n)
		}
	}
	for _, n := range dead {
		if err := n.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Launch starts a node. It doesn't wait.
func (n *Node) Launch() (err error) {
	n.now, err = launch("node-"+n.Name, func(string) ([]string, error) { return n.args, nil })
	if err == nil {
		n.now.Name, n.now.Speaks, n.now.Bootstrap = n.Name, Kafka, n.Addr
	}
	return err
}

// AwaitReady waits until a node says that it is ready, which is when its partitions are in sync.
func (n *Node) AwaitReady(ctx context.Context) error {
	for end := time.Now().Add(readyMax); ; {
		if bytes.Contains(n.log(), []byte(`"msg":"ready"`)) {
			return nil
		}
		if !n.now.Alive() {
			return fmt.Errorf("node %s ended while starting: %s", n.Name, n.now.LogTail())
		}
		if time.Now().After(end) {
			return fmt.Errorf("node %s is not ready after %v: %s", n.Name, readyMax, n.now.LogTail())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (n *Node) log() []byte {
	b, err := os.ReadFile(n.now.logPath)
	if err != nil {
		return nil
	}
	return b
}

// Alive says that the node's process is there, frozen or not.
func (n *Node) Alive() bool { return n.now != nil && n.now.Alive() }

// Kill ends a node's process as a crash does.
func (n *Node) Kill() {
	_ = n.now.cmd.Process.Kill()
	n.end()
}

// Drain asks a node to leave in order, and waits until it has.
func (n *Node) Drain(limit time.Duration) error {
	_ = n.now.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.now.done:
		n.end()
		return nil
	case <-time.After(limit):
		tail := n.now.LogTail()
		n.Kill()
		return fmt.Errorf("node %s did not stop within %v: %s", n.Name, limit, tail)
	}
}

func (n *Node) end() {
	<-n.now.done
	_ = os.RemoveAll(n.now.dir)
	n.now = nil
}

// Freeze stops a node's process without a word to anyone, until Thaw. It gives the kernel the moment that this takes.
func (n *Node) Freeze() {
	_ = n.now.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(20 * time.Millisecond)
}

// Thaw lets a frozen process go on.
func (n *Node) Thaw() { _ = n.now.cmd.Process.Signal(syscall.SIGCONT) }

// Usage adds up the accounts of the nodes that live.
func (k *Cluster) Usage() proc.Usage {
	var sum Target
	for _, n := range k.Nodes {
		if n.now != nil {
			sum.Pids = append(sum.Pids, n.now.Pids...)
		}
	}
	return sum.Usage()
}

// Bootstrap is the addresses of all nodes.
func (k *Cluster) Bootstrap() (all []string) {
	for _, n := range k.Nodes {
		all = append(all, n.Addr)
	}
	return all
}

// InOffice is the node that the nodes' logs last called the controller; nil if they didn't.
func (k *Cluster) InOffice() *Node {
	latest, name := "", ""
	for _, n := range k.Nodes {
		if n.now == nil {
			continue
		}
		for _, line := range bytes.Split(n.log(), []byte("\n")) {
			var said struct {
				Time    string `json:"ts"`
				Message string `json:"msg"`
				Server  string `json:"server"`
			}
			if bytes.Contains(line, []byte(`"controller elected"`)) && json.Unmarshal(line, &said) == nil && said.Time >= latest {
				latest, name = said.Time, said.Server
			}
		}
	}
	for _, n := range k.Nodes {
		if n.Name == name && n.now != nil {
			return n
		}
	}
	return nil
}

// Node finds the node of a broker's id.
func (k *Cluster) Node(id int32) *Node { return k.Nodes[id-1] }

// AwaitWhole waits until every node says that so many partitions have leaders and all replicas in sync.
func (k *Cluster) AwaitWhole(ctx context.Context, partitions int, limit time.Duration) error {
	for _, n := range k.Nodes {
		if err := awaitHealth(ctx, n.Addr, limit, func(h *wire.Health) bool { return h.Whole(partitions) }); err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	return nil
}

// AwaitHealth waits until what a node says of the cluster is as wanted.
func (n *Node) AwaitHealth(ctx context.Context, limit time.Duration, wanted func(*wire.Health) bool) error {
	return awaitHealth(ctx, n.Addr, limit, wanted)
}

func awaitHealth(ctx context.Context, addr string, limit time.Duration, wanted func(*wire.Health) bool) error {
	last := fmt.Errorf("never asked")
	for end := time.Now().Add(limit); time.Now().Before(end) && ctx.Err() == nil; {
		began := time.Now()
		h, err := health(addr)
		if err == nil && wanted(h) {
			return nil
		}
		if last = err; err == nil {
			last = fmt.Errorf("%d partitions, %d without a leader, %d not in sync, led %v", h.Partitions, h.NoLeader, h.NotInSync, h.Led)
		}
		time.Sleep(max(10*time.Millisecond, 5*time.Since(began))) // the asking shall not be what takes the time
	}
	return fmt.Errorf("not so after %v: %w", limit, last)
}

func health(addr string) (*wire.Health, error) {
	c, err := wire.Dial(addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	return c.Health()
}

// Stop ends all processes, the frozen ones too, and removes their data.
func (k *Cluster) Stop() {
	for _, n := range k.Nodes {
		if n.now != nil {
			n.Kill()
		}
	}
	_ = os.RemoveAll(k.dir)
}

// OneProcess is several brokers in one process of Millrace, with its control port.
type OneProcess struct {
	*Target
	Control string // host:port
}

// StartBrokers starts a process with so many brokers. Their ids are from 1.
func StartBrokers(ctx context.Context, c *Config, brokers int) (*OneProcess, error) {
	t, err := launch("millrace", func(string) ([]string, error) {
		args := []string{c.Millrace, "server", "--brokers", fmt.Sprint(brokers)}
		for _, s := range append([]string{"listeners=PLAINTEXT://127.0.0.1:0", "control.listener=127.0.0.1:0", "millrace.log.format=json",
			"log.retention.check.interval.ms=100"}, c.MillraceSettings...) {
			args = append(args, "--set", s)
		}
		return args, nil
	})
	if err != nil {
		return nil, err
	}
	n := &Node{Name: "millrace", now: t}
	if err := n.AwaitReady(ctx); err != nil {
		t.Stop()
		return nil, err
	}
	var said struct {
		Bootstrap string `json:"bootstrap.servers"`
		Control   string `json:"control"`
	}
	for _, line := range bytes.Split(n.log(), []byte("\n")) {
		if bytes.Contains(line, []byte(`"msg":"ready"`)) {
			err = json.Unmarshal(line, &said)
		}
	}
	t.Bootstrap, t.Speaks = said.Bootstrap, Kafka
	return &OneProcess{t, said.Control}, err
}
