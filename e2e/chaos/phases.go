package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// phase is a cluster that is started, tortured and checked.
type phase struct {
	name  string
	about string
	share float64 // of the whole time
	kinds []kind
	etcd  bool // an external one
	data  bool // the embedded ones keep theirs
	again bool // all die at the end, and a new cluster must come of it
}

var phases = []phase{
	{name: "embedded", about: "an etcd in each node, with a data folder", share: 0.4, data: true, kinds: append(slices.Clone(ofNodes), twoKilled)},
	{name: "temporary", about: "an etcd in each node, without a data folder; in the end all die", share: 0.2, again: true,
		kinds: []kind{killShort, killLong, isolate, drained, pauseLong}},
	{name: "external", about: "an external etcd", share: 0.4, etcd: true,
		kinds: append(slices.Clone(ofNodes), twoKilled, allKilled, etcdCut, etcdOneWay, etcdPaused, etcdKilled)},
}

// chaos is a whole run.
type chaos struct {
	seed     uint64
	total    time.Duration
	ttl      time.Duration
	rate     float64
	millrace string
	dir      string // logs and data
	faults   string // only the kinds that contain this
	report   *report
}

var brokerNames = []string{"a", "b", "c"}

const partitions = 6

// run runs a phase. An error ends the run: the cluster didn't come back, or the tool itself failed.
func (ch *chaos) run(p phase) error {
	hosts := slices.Clone(brokerNames)
	if p.etcd {
		hosts = append(hosts, etcdName)
	}
	n, why := openNetwork(hosts)
	defer n.close()
	if why != nil {
		ch.report.say("no network of its own: %v", why)
		ch.report.say("the nodes share the loopback, and the faults of the network are left out")
		p.kinds = slices.DeleteFunc(slices.Clone(p.kinds), kind.needsNetwork)
	}
	p.kinds = slices.DeleteFunc(slices.Clone(p.kinds), func(k kind) bool { return !strings.Contains(string(k), ch.faults) })
	if len(p.kinds) == 0 {
		return fmt.Errorf("no kind of fault is left")
	}
	c := &cluster{net: n, nodes: map[string]*node{}, brokers: brokerNames}
	ch.members(p, c)
	defer func() {
		for _, n := range c.nodes {
			if n.alive() {
				n.kill()
			}
		}
	}()
	ch.report.say("phase %s: %s", p.name, p.about)
	if err := c.revive(); err != nil {
		return err
	}
	var err error
	if c.watch, err = openWatch(c.seeds); err != nil {
		return err
	}
	defer c.watch.close()
	began := time.Now()
	until := began.Add(time.Duration(float64(ch.total)*p.share) - ch.closing())
	d := newDealer(ch.seed, p.name, brokerNames, ch.ttl, p.kinds)
	if err := ch.live(p.name, c, func() error { return ch.torture(c, d, until) }); err != nil || !p.again {
		return err
	}
	return ch.rebirth(p, c)
}

// closing is what a phase needs for its start and its last read.
func (ch *chaos) closing() time.Duration { return min(8*time.Second, ch.total/12) }

// members makes the processes of a phase.
func (ch *chaos) members(p phase, c *cluster) {
	dir := filepath.Join(ch.dir, p.name)
	_ = os.MkdirAll(dir, 0o755)
	var cluster []string
	for _, name := range brokerNames {
		cluster = append(cluster, fmt.Sprintf("%s=%s:%d", name, c.net.address(name), peerPort))
	}
	for i, name := range brokerNames {
		listener := fmt.Sprintf("%s:%d", c.net.address(name), kafkaPort)
		args := []string{ch.millrace, "server", "--listeners", "PLAINTEXT://" + listener}
		switch {
		case p.etcd:
			args = append(args, "--etcd-endpoints", "http://"+c.net.address(etcdName)+":2379")
		default:
			args = append(args, "--name", name, "--cluster", strings.Join(cluster, ","))
		}
		if p.data {
			args = append(args, "--data-dir", filepath.Join(dir, "data-"+name))
		}
		for _, s := range []string{fmt.Sprintf("node.id=%d", i+1), "control.listener=", "millrace.log.format=json",
			fmt.Sprintf("broker.session.timeout.ms=%d", ch.ttl.Milliseconds()), "offsets.topic.num.partitions=4",
			"millrace.memory.max=1GiB", "group.initial.rebalance.delay.ms=0"} {
			args = append(args, "--set", s)
		}
		c.seeds = append(c.seeds, listener)
		c.nodes[name] = &node{name: name, net: c.net, args: args, dir: dir, lost: c.lost, ended: c.crashed}
	}
	if p.etcd {
		c.nodes[etcdName] = &node{name: etcdName, net: c.net, dir: dir, lost: c.lost, ended: c.crashed,
			args: []string{self(), etcdName, c.net.address(etcdName), filepath.Join(dir, "data-etcd")}}
	}
}

// self is this program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err) // there is no system here on which that fails
	}
	return path
}

// live is one history: a topic, clients on it, what is done meanwhile, and the judgement.
func (ch *chaos) live(name string, c *cluster, do func() error) error {
	h := &history{topic: "chaos", partitions: partitions}
	c.mu.Lock()
	c.h, c.declared = h, map[string]bool{}
	c.mu.Unlock()
	c.watch.h = nil
	if err := c.watch.createTopic(h, 3, readyLimit); err != nil {
		return err
	}
	if err := c.settle(); err != nil {
		return err
	}
	w, err := startWorkload(h, c.seeds, ch.rate)
	defer w.close()
	if err == nil {
		err = do()
	}
	if err != nil {
		ch.report.broken(name, c, w, err)
		return err
	}
	return ch.judge(name, c, w)
}

// torture deals faults until the time is up.
func (ch *chaos) torture(c *cluster, d *dealer, until time.Time) error {
	for number := 1; number == 1 || time.Now().Before(until); number++ {
		step := d.next()
		if step[0].kind == allKilled {
			if err := c.checkpoint(); err != nil {
				return err
			}
		}
		s := ch.report.begin(number, step)
		if err := c.fault(step); err != nil {
			return err
		}
		healed := time.Now()
		if err := c.settle(); err != nil {
			return err
		}
		ch.report.end(s, time.Since(healed))
		time.Sleep(500 * time.Millisecond) // of health
	}
	return nil
}

// judge ends the clients, reads everything and checks it.
func (ch *chaos) judge(name string, c *cluster, w *workload) error {
	if err := w.stopWriting(settleLimit); err != nil {
		ch.report.broken(name, c, w, err)
		return err
	}
	var err error
	if w.h.final, err = readAll(c.seeds, w.h, settleLimit); err != nil {
		ch.report.broken(name, c, w, fmt.Errorf("the final read: %w", err))
		return err
	}
	w.awaitReaders(20 * time.Second)
	w.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	ch.report.judged(name, w, append(w.h.check(), c.crashes...))
	c.crashes = nil
	return nil
}

// rebirth kills every node of a cluster whose metadata is in their memory only. What starts then is another cluster, with nothing of
// the old one in it.
func (ch *chaos) rebirth(p phase, c *cluster) error {
	before := c.watch.clusterID()
	f := fault{kind: allKilled, nodes: brokerNames, hold: 500 * time.Millisecond}
	s := ch.report.begin(0, []fault{f})
	if err := c.fault([]fault{f}); err != nil {
		return err
	}
	c.watch.h = nil
	if problem := c.watch.awaitSettled(settleLimit); problem != "" {
		return fmt.Errorf("the new cluster: %s", problem)
	}
	ch.report.end(s, 0)
	if now := c.watch.clusterID(); now == before || now == "" {
		ch.report.violate(violation{inconsistentOffset, fmt.Sprintf("all nodes have lost their metadata, and the cluster id is %q still", now)})
	}
	return ch.live(p.name+", a new cluster", c, func() error {
		time.Sleep(2 * time.Second)
		return nil
	})
}
