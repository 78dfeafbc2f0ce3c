package main

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Ports of a node, in its namespace.
const (
	kafkaPort = 9092
	peerPort  = 2380
)

// How long the cluster may take. A healthy one needs a second or two.
const (
	readyLimit  = 30 * time.Second
	drainLimit  = 30 * time.Second
	settleLimit = 45 * time.Second
)

// cluster is the processes of a phase, and what is done to them.
type cluster struct {
	net     *network
	nodes   map[string]*node // etcd among them
	brokers []string         // the nodes that are ours
	seeds   []string         // by broker
	watch   *watch
	proxies []*proxy

	mu       sync.Mutex
	h        *history        // guarded by mu, while the phase runs
	declared map[string]bool // guarded by mu: losses, which every node tells
	crashes  []violation     // guarded by mu
}

// lost notes what a node declares.
func (c *cluster) lost(l loss) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := fmt.Sprint(l.topic, l.partition, l.generation); !c.declared[id] {
		c.declared[id] = true
		c.h.losses = append(c.h.losses, l)
	}
}

func (c *cluster) crashed(what error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crashes = append(c.crashes, violation{crash, what.Error()})
}

// fault carries a step out: all its faults, the time they last, and their end. It returns when the processes are there again.
func (c *cluster) fault(step []fault) error {
	hold := time.Duration(0)
	for _, f := range step {
		if err := c.begin(f); err != nil {
			return fmt.Errorf("%s: %w", f.kind, err)
		}
		hold = max(hold, f.hold)
	}
	time.Sleep(hold)
	for _, p := range c.proxies { // while the way back of their connections is still translated
		p.close()
	}
	c.proxies = nil
	if err := c.net.heal(); err != nil {
		return err
	}
	for _, f := range step {
		if f.kind == pauseShort || f.kind == pauseLong || f.kind == etcdPaused {
			c.nodes[f.nodes[0]].signal(syscall.SIGCONT)
		}
	}
	return c.revive()
}

// revive starts what is dead, and waits until it serves.
func (c *cluster) revive() error {
	var dead []*node
	for _, n := range c.nodes {
		if !n.alive() {
			if err := n.start(); err != nil {
				return err
			}
			dead = append(dead, n)
		}
	}
	for _, n := range dead {
		if err := n.awaitReady(readyLimit); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) begin(f fault) error {
	n := c.nodes[f.nodes[0]]
	switch f.kind {
	case killShort, killLong, twoKilled, allKilled:
		for _, name := range f.nodes {
			c.kill(c.nodes[name])
		}
	case etcdKilled:
		n.kill()
	case pauseShort, pauseLong, etcdPaused:
		n.signal(syscall.SIGSTOP)
	case drained:
		if err := n.stop(drainLimit); err != nil {
			return err
		}
	case isolate, isolateAll:
		return c.isolate(n.name, f.kind == isolateAll)
	case pair:
		return c.cut(f.nodes[0], f.nodes[1])
	case oneWay:
		return c.net.cut(f.nodes[0], f.nodes[1])
	case packetLoss:
		return c.net.lose(n.name, f.part)
	case delayed:
		return c.delay(n.name, f.delay)
	case etcdCut:
		return c.cut(n.name, etcdName)
	case etcdOneWay:
		return c.net.cut(etcdName, n.name)
	}
	return nil
}

// kill ends a node, whose RAM is away from now on.
func (c *cluster) kill(n *node) {
	c.mu.Lock()
	c.h.outages = append(c.h.outages, outage{node: n.name, from: time.Now()})
	c.mu.Unlock()
	n.kill()
}

// settle waits until all replicas are in sync everywhere. Outages end with that.
func (c *cluster) settle() error {
	if problem := c.watch.awaitSettled(settleLimit); problem != "" {
		return fmt.Errorf("not in sync %v after healing: %s", settleLimit, problem)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.h.outages {
		if o := &c.h.outages[i]; o.to.IsZero() {
			o.to = time.Now()
		}
	}
	return nil
}

// checkpoint reads what is there now, beside the clients. What is acknowledged meanwhile may be in it.
func (c *cluster) checkpoint() error {
	p := checkpoint{at: time.Now()}
	c.mu.Lock()
	h := c.h
	p.losses = len(h.losses)
	c.mu.Unlock()
	var err error
	if p.there, err = readAll(c.seeds, h, settleLimit); err == nil {
		h.before = append(h.before, p)
	}
	return err
}

// cut stops both directions between two hosts.
func (c *cluster) cut(a, b string) error {
	if err := c.net.cut(a, b); err != nil {
		return err
	}
	return c.net.cut(b, a)
}

func (c *cluster) isolate(name string, clients bool) error {
	for _, other := range c.brokers {
		if other != name {
			if err := c.cut(name, other); err != nil {
				return err
			}
		}
	}
	if !clients {
		return nil
	}
	return c.net.cut(name, "") // what clients send arrives, and no answer leaves
}

// delay slows what a node and the others say to each other, whoever began.
func (c *cluster) delay(name string, by time.Duration) error {
	for _, other := range c.brokers {
		for _, way := range [][2]string{{name, other}, {other, name}} {
			for _, port := range []int{kafkaPort, peerPort} {
				if other == name {
					continue
				}
				p, err := openProxy(c.net.address(""), net.JoinHostPort(c.net.address(way[1]), strconv.Itoa(port)), by)
				if err != nil {
					return err
				}
				c.proxies = append(c.proxies, p)
				if err := c.net.turn(way[0], way[1], port, p.port()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
