package replica_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"millrace/broker/replica"
)

// action is one thing that happens to a world. Actions name what they are about in a way that survives the removal of
// earlier ones, so that a list of them can be shrunk: one that makes no sense any more does nothing.
type action struct {
	kind  actionKind
	node  int32
	n     int
	route route
}

type actionKind uint8

const (
	doLearn actionKind = iota // n: 0 the next image, 1 the latest, 2 an old one again
	doProduceAll
	doProduceOne
	doFetch
	doDeliver
	doRepeat // deliver and keep
	doLose
	doTick // n ms later
	doTrim
	doCrash
	doRestart
	doRegister
	doFence
	doUnfence
	doSettle
	doElect
	doMove
	doDeclareLoss
	doAddReplica
	doRemoveReplica
	actionKinds
)

var actionNames = [...]string{"learn", "produce acks=all", "produce acks=1", "fetch", "deliver", "repeat", "lose", "tick", "trim",
	"crash", "restart", "register", "fence", "unfence", "settle", "elect", "move leader", "declare loss", "add replica", "remove replica"}

func (a action) String() string {
	switch a.kind {
	case doDeliver, doRepeat, doLose:
		return fmt.Sprintf("%s %s %d→%d", actionNames[a.kind], messageNames[a.route.kind], a.route.from, a.route.to)
	case doSettle, doElect, doMove, doDeclareLoss:
		return actionNames[a.kind]
	case doTick:
		return fmt.Sprintf("+%d ms, tick %d", a.n, a.node)
	}
	return fmt.Sprintf("%s %d", actionNames[a.kind], a.node)
}

// apply does it, and says whether there was anything to do.
func (w *world) apply(a action) bool {
	if w.trace != nil {
		w.say("%v", a)
	}
	switch a.kind {
	case doDeliver, doRepeat, doLose:
		return w.passOn(a)
	case doTick:
		w.nowMs += int64(a.n)
	case doSettle:
		return w.controller.settle()
	case doElect:
		return w.controller.elect(a.n)
	case doMove:
		return w.controller.move(a.n)
	case doDeclareLoss:
		return w.controller.declareLoss(a.n)
	case doFence:
		return w.controller.fence(a.node)
	case doUnfence:
		return w.controller.unfence(a.node)
	case doAddReplica:
		return w.controller.addReplica(a.node)
	case doRemoveReplica:
		return w.controller.removeReplica(a.node)
	}
	n := w.nodes[a.node]
	if n.alive == (a.kind == doRestart) {
		return false
	}
	return n.apply(a)
}

func (w *world) passOn(a action) bool {
	i := w.find(a.route)
	if i < 0 {
		return false
	}
	switch a.kind {
	case doDeliver:
		w.deliver(w.take(i))
	case doRepeat:
		w.deliver(w.net[i])
	default:
		w.lose(w.take(i))
	}
	return true
}

func (n *node) apply(a action) bool {
	switch a.kind {
	case doLearn:
		latest := len(n.w.controller.images) - 1
		switch {
		case a.n == 2 && n.image > 0:
			n.learn(n.image - 1)
		case n.image == latest:
			return false
		case a.n == 1:
			n.learn(latest)
		default:
			n.learn(n.image + 1)
		}
	case doProduceAll:
		return n.produce(true, 1+a.n%2, int64(20+a.n%300))
	case doProduceOne:
		return n.produce(false, 1+a.n%2, 0)
	case doFetch:
		return n.sendFetch()
	case doTick:
		return n.tick()
	case doTrim:
		return n.trim(a.n)
	case doCrash:
		n.crash()
	case doRestart:
		n.start()
	case doRegister:
		if n.w.controller.now().incarnations[n.id] == n.incarnation {
			return false
		}
		n.w.controller.register(n.id, n.incarnation)
	}
	return true
}

// usually is how often each kind comes up in a run of average temper.
var usually = [actionKinds]int{doLearn: 60, doProduceAll: 20, doProduceOne: 15, doFetch: 80, doDeliver: 260, doRepeat: 20,
	doLose: 10, doTick: 60, doTrim: 4, doCrash: 4, doRestart: 30, doRegister: 30, doFence: 6, doUnfence: 20, doSettle: 40, doElect: 60, doMove: 4,
	doDeclareLoss: 10, doAddReplica: 3, doRemoveReplica: 3}

// temper is a run's own mixture of what happens: the same everywhere would leave most corners unvisited.
type temper struct {
	weights [actionKinds]int
	total   int
	tickMs  int
}

// rare are the kinds that a run may do without, or be full of.
var rare = []actionKind{doCrash, doFence, doMove, doTrim, doAddReplica, doRemoveReplica, doProduceOne, doRepeat}

func drawTemper(r *rand.Rand) (t temper) {
	for kind, weight := range usually {
		t.weights[kind] = weight
		switch r.IntN(8) {
		case 0:
			t.weights[kind] = weight / 4
		case 1:
			t.weights[kind] = weight * 4
		}
	}
	for _, kind := range rare {
		switch r.IntN(6) {
		case 0:
			t.weights[kind] = 0
		case 1:
			t.weights[kind] *= 10
		}
	}
	for _, weight := range t.weights {
		t.total += weight
	}
	t.tickMs = []int{5, 20, 60, 250}[r.IntN(4)]
	return t
}

func (t *temper) draw(w *world, r *rand.Rand) (a action) {
	at := r.IntN(t.total)
	for kind, weight := range t.weights {
		if at -= weight; at < 0 {
			a.kind = actionKind(kind)
			break
		}
	}
	a.node, a.n = int32(r.IntN(len(w.nodes))), r.IntN(1000)
	switch a.kind {
	case doDeliver, doRepeat, doLose:
		if len(w.net) == 0 {
			return action{kind: doLearn, node: a.node}
		}
		a.route = w.routeOf(t.message(w, r, a.kind))
	case doLearn:
		a.n = []int{0, 1, 1, 2}[r.IntN(4)]
	case doTick:
		a.n = r.IntN(t.tickMs)
	}
	return a
}

// message chooses one on the way.
func (t *temper) message(w *world, r *rand.Rand, kind actionKind) int {
	i := r.IntN(len(w.net))
	switch r.IntN(4) {
	case 0, 1:
		if kind != doRepeat {
			return 0 // the oldest, or nothing would ever get anywhere
		}
		// Proposals do the most harm when they come twice.
		if alter := slices.IndexFunc(w.net[i:], func(m *message) bool { return m.kind == alterRequest }); alter >= 0 {
			return i + alter
		}
	}
	return i
}

// heal lets everything work again and wants the partition to serve: acks=all succeeds, all replicas join and are alike.
func (w *world) heal() {
	w.say("heal")
	for _, n := range w.nodes {
		if !n.alive {
			n.start()
		}
		if w.controller.now().incarnations[n.id] != n.incarnation {
			w.controller.register(n.id, n.incarnation)
		}
		w.controller.unfence(n.id)
	}
	var produced *node
	for range 200 {
		w.round()
		leader := w.whole()
		switch {
		case w.oracle.violation != "":
			return
		case leader == nil:
		case produced == nil:
			if leader.produce(true, 1, 1000) {
				produced = leader
			}
		case leader != produced || len(leader.waiting) > 0:
		default:
			return
		}
	}
	w.oracle.violate(stuck, "%v", w.controller.now())
}

// round is some milliseconds of a cluster in which everything works.
func (w *world) round() {
	w.nowMs += 10
	w.controller.settle()
	w.controller.elect(0)
	w.controller.declareLoss(0)
	for _, n := range w.nodes {
		if latest := len(w.controller.images) - 1; n.image != latest {
			n.learn(latest)
		}
		n.tick()
		n.sendFetch()
	}
	for n, most := 0, roundMessages+4*len(w.net); len(w.net) > 0; n++ {
		if n == most {
			w.oracle.violate(stuck, "%d messages in a round", n)
			return
		}
		w.deliver(w.take(0))
	}
	w.oracle.check()
}

// roundMessages is more than any cluster needs that comes to rest, beside what is on its way already.
const roundMessages = 200

// whole is the leader if all replicas are in the ISR and have the same.
func (w *world) whole() *node {
	p := w.controller.now()
	if p.leader.Broker == replica.NoBroker || len(p.isr) != len(p.replicas) {
		return nil
	}
	leader := w.nodes[p.leader.Broker]
	for _, id := range p.replicas {
		n := w.nodes[id]
		if n.machine == nil || leader.log == nil || n.log.end() != leader.log.end() || n.high != leader.log.end() {
			return nil
		}
	}
	return leader
}
