package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"millrace/metadata"
)

// action is one thing that happens to a world. Actions name what they are about in a way that survives the removal of earlier
// ones, so that a list of them can be shrunk: one that makes no sense any more does nothing.
type action struct {
	kind  actionKind
	id    int32 // of a broker; of produce and consume: whom the client asks for the leader
	n     int
	route route
}

type actionKind uint8

const (
	doLearn actionKind = iota // n: 0 the next revision, 1 all, 2 list anew
	doKeep
	doFetch
	doTick // n ms later
	doProduce
	doConsume
	doCommit // an offset, if there are groups
	doDeliver
	doRepeat // deliver and keep
	doLose
	doTrim
	doClean
	// From here on it takes a fault, or somebody's wish.
	doCrash
	doRestart
	doPause
	doResume
	doExpire // the lease, though the broker lives
	doRefuse // another process takes the broker for dead
	doConnect
	doResign // the controller
	doOutage // of the store
	doReturn
	doCut // a link, in one direction: id → n
	doMend
	doFull // memory, after n batches
	doDrain
	doReassign
	doBalance
	doUnregister // a broker that is dead
	doConfigure  // min.insync.replicas
	actionKinds
)

var actionNames = [...]string{"learn", "keep", "fetch", "tick", "produce", "consume", "commit", "deliver", "repeat", "lose",
	"trim", "clean", "crash", "restart", "pause", "resume", "expire", "refuse", "connect", "resign", "outage", "return", "cut", "mend",
	"full", "drain", "reassign", "balance", "unregister", "configure"}

func (a action) String() string {
	name := actionNames[a.kind]
	switch a.kind {
	case doDeliver, doRepeat, doLose:
		return fmt.Sprintf("%s %v", name, a.route)
	case doTick:
		return fmt.Sprintf("+%d ms, tick %d", a.n, a.id)
	case doResign, doOutage, doReturn, doBalance:
		return name
	case doCut, doMend:
		return fmt.Sprintf("%s %d→%d", name, a.id, a.n)
	case doProduce, doConsume:
		return fmt.Sprintf("client %d: %s, by broker %d", a.n/clientShift, name, a.id)
	}
	return fmt.Sprintf("%s %d", name, a.id)
}

// In n, clients stand before what else there is to say.
const clientShift = 1000

// apply does it, and says whether there was anything to do.
func (w *world) apply(a action) bool {
	if w.trace != nil {
		w.say("%v", a)
	}
	done := w.do(a)
	w.after()
	return done
}

// after ends whatever happened: who has drained stops, and everything is checked.
func (w *world) after() {
	for _, n := range w.gone {
		if n.alive {
			n.stop()
		}
	}
	w.gone = w.gone[:0]
	for _, o := range w.oracles {
		o.check()
	}
}

func (w *world) do(a action) bool {
	switch a.kind {
	case doDeliver, doRepeat, doLose:
		return w.passOn(a)
	case doTick:
		w.nowMs += int64(a.n)
		w.store.expire()
	case doProduce:
		return w.producers[a.n/clientShift%len(w.producers)].produce(a.id, a.n%clientShift)
	case doConsume:
		return w.consumers[a.n/clientShift%len(w.consumers)].consume(a.id)
	case doCommit:
		return w.cluster.groups && w.committer.commit(a.id)
	case doOutage, doReturn:
		was := w.store.down
		w.store.down = a.kind == doOutage
		return was != w.store.down
	case doCut:
		return w.setCut(a, true)
	case doMend:
		return w.setCut(a, false)
	}
	n := w.processes[a.id]
	switch a.kind {
	case doRestart:
		if n.alive {
			return false
		}
		n.start()
		return true
	case doResume:
		was := n.paused
		n.paused = false
		return was
	}
	return n.busy() && n.do(a)
}

// setCut cuts a link, or mends it.
func (w *world) setCut(a action, cut bool) bool {
	l := link{a.id, int32(a.n)}
	i := slices.Index(w.cut, l)
	switch {
	case l.from == l.to || cut == (i >= 0):
		return false
	case cut:
		w.cut = append(w.cut, l)
	default:
		w.cut = slices.Delete(w.cut, i, i+1)
	}
	return true
}

func (w *world) passOn(a action) bool {
	i := w.find(a.route)
	if i < 0 {
		return false
	}
	if a.kind == doLose {
		w.lose(w.take(i))
		return true
	}
	m := w.net[i]
	if !w.ready(m) {
		return false
	}
	if a.kind == doDeliver || m.once() {
		w.take(i)
	}
	w.deliver(m)
	return true
}

// do is what happens at a process that is awake.
func (n *process) do(a action) bool {
	w := n.w
	p := n.hosted(a.n % clientShift % len(w.oracles))
	switch a.kind {
	case doLearn:
		return n.learn(a.n)
	case doKeep:
		n.keep()
	case doFetch:
		return p != nil && p.sendFetch()
	case doTick:
		return n.tick()
	case doTrim:
		return p != nil && p.trim(a.n/7)
	case doClean:
		return p != nil && p.clean(1+a.n/7%8)
	case doCrash:
		n.crash()
	case doPause:
		n.paused = true
	case doExpire:
		if _, ok := w.store.leases[n.lease]; !ok || w.store.down {
			return false
		}
		w.store.revoke(n.lease)
	case doRefuse, doConnect:
		return n.suspect(a)
	case doResign:
		return n.resign()
	case doFull:
		n.fullAfter = a.n % 3
	case doDrain:
		if n.leaving {
			return false
		}
		n.leaving = true
	case doReassign:
		return n.reassign(a.n)
	case doBalance:
		return n.balance()
	case doUnregister:
		return n.unregister(int32(1 + a.n%w.cluster.brokers))
	case doConfigure:
		return n.configure(a.n % 4)
	}
	return true
}

func (n *process) learn(how int) bool {
	s := &n.w.store
	switch {
	case s.down || !n.w.reaches(storeID, n.id) || !n.w.reaches(n.id, storeID):
		return false
	case how == 2:
		return n.central.list()
	}
	return n.central.learn(how == 1)
}

func (n *process) tick() (did bool) {
	if n.central.img != nil {
		n.central.keepVigil()
	}
	for _, p := range n.parts {
		if p != nil && p.tick() {
			did = true
		}
	}
	return did
}

// suspect: another process believes that this one is gone, or not any more.
func (n *process) suspect(a action) bool {
	other := n.w.processes[1+a.n%n.w.cluster.brokers]
	if !other.busy() || other == n {
		return false
	}
	if a.kind == doRefuse {
		other.central.suspect(n.member())
		return true
	}
	other.central.detector.Connected(n.member())
	other.central.keepVigil()
	return true
}

func (n *process) resign() bool {
	if !n.central.elected() {
		return false
	}
	n.central.depose(n.incarnation)
	return true
}

// reassign asks for other replicas of a partition; what it asks for n says.
func (n *process) reassign(what int) bool {
	if n.central.img == nil || n.central.img.TopicByID(topicID) == nil {
		return false
	}
	ids := make([]int32, 0, len(n.w.processes))
	for id := 1; id < len(n.w.processes); id++ {
		ids = append(ids, int32(id))
	}
	part := int32(what % len(n.w.oracles))
	rand.New(rand.NewPCG(uint64(what), 1)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ref := metadata.PartitionRef{Topic: topicName, Partition: part}
	spec := metadata.ReassignmentSpec{PartitionRef: ref, Replicas: ids[:replicationFactor]}
	switch what % 12 {
	case 0, 1:
		spec.Replicas = nil
	case 2:
		spec.Replicas = ids[:1+what/12%len(ids)]
	}
	n.once(&command{name: "reassign", plan: func(img *metadata.Image) []metadata.Delta {
		deltas, _ := n.w.policy.AlterReassignments(img, []metadata.ReassignmentSpec{spec}, true)
		return deltas
	}})
	return true
}

// unregister gives up a broker that is dead: its places go to others.
func (n *process) unregister(id int32) bool {
	if n.central.img == nil || n.w.processes[id].alive {
		return false
	}
	n.once(&command{name: "unregister", plan: func(img *metadata.Image) []metadata.Delta {
		deltas, _ := n.w.policy.UnregisterBroker(img, id)
		return deltas
	}, done: n.central.follow})
	return true
}

// configure sets min.insync.replicas; 0: back to the cluster's.
func (n *process) configure(least int) bool {
	if n.central.img == nil || n.central.img.TopicByID(topicID) == nil {
		return false
	}
	spec := metadata.ConfigSpec{Name: topicName, Set: map[string]*string{"min.insync.replicas": nil}}
	if least > 0 {
		value := strconv.Itoa(least)
		spec.Set["min.insync.replicas"] = &value
	}
	n.once(&command{name: "configure", resumes: true, plan: func(img *metadata.Image) []metadata.Delta {
		deltas, _ := n.w.policy.AlterConfigs(img, []metadata.ConfigSpec{spec})
		return deltas
	}})
	return true
}

func (n *process) balance() bool {
	if !n.central.elected() {
		return false
	}
	n.once(&command{name: "balance", duty: true, plan: func(img *metadata.Image) []metadata.Delta {
		deltas, _ := n.w.policy.BalanceLeaders(img, 0)
		return deltas
	}})
	return true
}

// usually is how often each kind comes up in a run of average temper.
var usually = [actionKinds]int{
	doLearn: 120, doKeep: 40, doFetch: 120, doTick: 40, doProduce: 30, doConsume: 10, doCommit: 20, doDeliver: 500, doRepeat: 20,
	doLose: 10, doTrim: 10, doClean: 40, doCrash: 3, doRestart: 30, doPause: 2, doResume: 15, doExpire: 2, doRefuse: 8, doConnect: 20,
	doResign: 2, doOutage: 1, doReturn: 15, doCut: 2, doMend: 15, doFull: 2, doDrain: 1, doReassign: 3, doBalance: 10,
	doUnregister: 12, doConfigure: 1,
}

// rare are the kinds that a run may do without, or be full of.
var rare = []actionKind{doRepeat, doTrim, doCrash, doPause, doExpire, doRefuse, doResign, doOutage, doCut, doFull, doDrain,
	doReassign, doBalance, doUnregister, doConfigure}

// temper is a run's own mixture of what happens: the same everywhere would leave most corners unvisited.
type temper struct {
	weights [actionKinds]int
	total   int
	tickMs  int
}

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
		case 0, 1:
			t.weights[kind] = 0
		case 2:
			t.weights[kind] *= 8
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
	a.id, a.n = int32(1+r.IntN(w.cluster.brokers)), r.IntN(8*clientShift)
	switch a.kind {
	case doDeliver, doRepeat, doLose:
		if len(w.net) == 0 {
			return action{kind: doLearn, id: a.id}
		}
		a.route = w.routeOf(drawMessage(w, r, a.kind))
	case doLearn:
		if a.n = 1; r.IntN(4) == 0 {
			a.n = 0
		} else if r.IntN(50) == 0 {
			a.n = 2
		}
	case doTick:
		a.n = r.IntN(t.tickMs)
	case doCut:
		a.n = r.IntN(w.cluster.brokers + 1)
		if r.IntN(4) == 0 {
			a.id = storeID
		}
	case doMend:
		if len(w.cut) > 0 {
			l := w.cut[r.IntN(len(w.cut))]
			a.id, a.n = l.from, int(l.to)
		}
	}
	return a
}

// drawMessage chooses one on the way.
func drawMessage(w *world, r *rand.Rand, kind actionKind) int {
	i := r.IntN(len(w.net))
	switch {
	case kind == doRepeat && r.IntN(2) == 0:
		// Proposals do the most harm when they come twice.
		if alter := slices.IndexFunc(w.net[i:], func(m *message) bool { return m.kind == alterRequest }); alter >= 0 {
			return i + alter
		}
	case kind == doDeliver && r.IntN(2) == 0: // the oldest that can arrive, or nothing would ever get anywhere
		if oldest := slices.IndexFunc(w.net, w.ready); oldest >= 0 {
			return oldest
		}
	}
	return i
}
