package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// kind is a kind of fault.
type kind string

// The faults. A long one outlasts the lease, a short one doesn't.
const (
	killShort  kind = "kill -9, restart inside the TTL"
	killLong   kind = "kill -9, restart after the TTL"
	pauseShort kind = "SIGSTOP inside the TTL"
	pauseLong  kind = "SIGSTOP longer than the TTL"
	isolate    kind = "one node cut off from the others"
	isolateAll kind = "one node cut off from the others and the clients"
	pair       kind = "two nodes cut off from each other"
	oneWay     kind = "one-way cut"
	packetLoss kind = "packet loss"
	delayed    kind = "delay"
	drained    kind = "drain and restart"
	twoKilled  kind = "two nodes killed at once"
	allKilled  kind = "all nodes killed at once"
	etcdCut    kind = "one node cut off from etcd"
	etcdOneWay kind = "one node cut off from etcd, one way"
	etcdPaused kind = "etcd stopped for a while"
	etcdKilled kind = "etcd killed and restarted"
)

// needsNetwork tells whether a fault is one of the network.
func (k kind) needsNetwork() bool {
	return slices.Contains([]kind{isolate, isolateAll, pair, oneWay, packetLoss, delayed, etcdCut, etcdOneWay}, k)
}

// ofNodes are the faults of nodes that don't cost more than one node's RAM.
var ofNodes = []kind{killShort, killLong, pauseShort, pauseLong, isolate, isolateAll, pair, oneWay, packetLoss, delayed, drained}

// fault is one fault, with all that was drawn for it.
type fault struct {
	kind  kind
	nodes []string // whom it is about, in order; the last of a cut is the other side
	hold  time.Duration
	part  float64       // of packets
	delay time.Duration // of each direction
}

func (f fault) String() string {
	s := fmt.Sprintf("%s: %s for %v", f.kind, strings.Join(f.nodes, ", "), f.hold.Round(10*time.Millisecond))
	switch f.kind {
	case packetLoss:
		s += fmt.Sprintf(", %.0f %%", f.part*100)
	case delayed:
		s += fmt.Sprintf(", %v", f.delay.Round(time.Millisecond))
	}
	return s
}

// dealer deals faults from a deck of kinds, which is shuffled again when it is empty.
type dealer struct {
	rng   *rand.Rand
	nodes []string
	ttl   time.Duration
	kinds []kind
	deck  []kind
}

// newDealer makes the dealer of a phase. The phases of one seed differ.
func newDealer(seed uint64, phase string, nodes []string, ttl time.Duration, kinds []kind) *dealer {
	mix := uint64(0)
	for _, b := range []byte(phase) {
		mix = mix*131 + uint64(b)
	}
	return &dealer{rng: rand.New(rand.NewPCG(seed, mix)), nodes: nodes, ttl: ttl, kinds: kinds}
}

// next deals what happens at once: one fault, and now and then one of the network beside it.
func (d *dealer) next() []fault {
	step := []fault{d.fault(d.draw())}
	if d.rng.IntN(4) == 0 && !slices.Contains([]kind{twoKilled, allKilled}, step[0].kind) {
		beside := []kind{packetLoss, delayed, pair}
		if k := beside[d.rng.IntN(len(beside))]; !step[0].kind.needsNetwork() && slices.Contains(d.kinds, k) {
			f := d.fault(k)
			f.hold = step[0].hold
			step = append(step, f)
		}
	}
	return step
}

func (d *dealer) draw() kind {
	if len(d.deck) == 0 {
		d.deck = slices.Clone(d.kinds)
		d.rng.Shuffle(len(d.deck), func(i, j int) { d.deck[i], d.deck[j] = d.deck[j], d.deck[i] })
	}
	k := d.deck[len(d.deck)-1]
	d.deck = d.deck[:len(d.deck)-1]
	return k
}

func (d *dealer) fault(k kind) fault {
	nodes := slices.Clone(d.nodes)
	d.rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(d.rng.Int64N(int64(most-least)))
	}
	short, long := between(100*time.Millisecond, d.ttl*6/10), d.ttl+between(500*time.Millisecond, 2500*time.Millisecond)
	f := fault{kind: k, nodes: nodes[:1], hold: long, part: 0.05 + 0.25*d.rng.Float64(), delay: between(20*time.Millisecond, 200*time.Millisecond)}
	either := short
	if d.rng.IntN(2) == 0 {
		either = long
	}
	switch k {
	case killShort, pauseShort:
		f.hold = short
	case pair, oneWay:
		f.nodes, f.hold = nodes[:2], either
	case isolate, isolateAll, drained, etcdCut, etcdOneWay, etcdPaused, etcdKilled, allKilled:
		f.hold = either
	case twoKilled:
		f.nodes, f.hold = nodes[:2], either
	}
	switch k {
	case allKilled:
		f.nodes = nodes
	case etcdPaused, etcdKilled:
		f.nodes = []string{etcdName}
	}
	return f
}
