package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Consumers of the consumer protocol that come, go, die, lose answers and come back, topics that come, grow and go, a log that is
// slow and at times refuses, coordinators that fail over. Whatever happens:
//
//   - each request is answered exactly once;
//   - no partition is with two members at once, if those whose session ended meanwhile are left out;
//   - when the storm is over the group is stable, each partition is with one member that reads it, and members that read the same
//     have the same number of them, give or take one;
//   - what the log holds makes the same group again.
func TestRandomConsumers(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		w := newConsumerWorld(t, uint64(seed))
		for range 600 {
			w.stormStep()
		}
		w.calm()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

type consumerWorld struct {
	t       *testing.T
	rand    *rand.Rand
	m       *Machine
	view    testTopics
	made    int
	nowMs   int64
	clients []*testConsumer
	writes  []Effect
	log     []Record
	calmed  bool
}

// testConsumer is a client: it has what it was told it may have, until it has said that it gave it up.
type testConsumer struct {
	name     string
	instance *string
	names    []string
	regex    *string
	assignor string
	lives    int // member ids it has drawn
	alive    bool
	joined   bool
	id       string
	epoch    int32
	has      partitions
	full     bool // says everything in its next heartbeat
	news     bool // says what it has in its next heartbeat
	waiting  *consumerAsk
	askedMs  int64
}

// consumerAsk is the token of a heartbeat.
type consumerAsk struct {
	c        *testConsumer
	e        *ConsumerHeartbeat
	answered int
}

func newConsumerWorld(t *testing.T, seed uint64) *consumerWorld {
	c := DefaultConfig()
	w := &consumerWorld{t: t, rand: rand.New(rand.NewPCG(seed, 2)), m: New(c)}
	w.step(&Loaded{})
	w.topic("a")
	for i := range 2 + w.rand.IntN(5) {
		c := &testConsumer{name: fmt.Sprint("c", i), names: []string{"a", "b"}}
		if seed%2 == 0 && w.rand.IntN(2) == 0 {
			c.names, c.regex = []string{"a"}, new("[bc]x*")
		}
		if w.rand.IntN(3) == 0 {
			c.instance = new("i-" + c.name)
		}
		if seed%5 == 0 {
			c.assignor = AssignorRange
		}
		w.clients = append(w.clients, c)
	}
	return w
}

// topic makes a topic, lets it grow or deletes it.
func (w *consumerWorld) topic(name string) {
	now, there := w.view[name]
	n := int(now.Partitions) + 1 + w.rand.IntN(4)
	if there && w.rand.IntN(3) == 0 {
		n = 0
	}
	w.view = w.view.with(name, n)
	if t, there := w.view[name]; there {
		if t.ID = now.ID; t.ID == (TopicID{}) {
			w.made++
			t.ID = testTopicID(fmt.Sprint(name, w.made))
		}
		w.view[name] = t
	}
	w.step(&TopicsChanged{Head{NowMs: w.nowMs}, w.view, []string{name}})
}

func (w *consumerWorld) stormStep() {
	w.pass(int64(w.rand.IntN(4000)))
	c := w.clients[w.rand.IntN(len(w.clients))]
	switch w.rand.IntN(14) {
	case 0:
		c.die()
	case 1, 2, 3:
		c.alive = true
	case 4:
		w.leave(c)
	case 5: // the answer is lost
		if c.waiting != nil {
			c.waiting, c.full = nil, true
		}
	case 6:
		w.topic([]string{"a", "b", "bx", "d"}[w.rand.IntN(4)])
	case 7:
		if w.rand.IntN(4) == 0 {
			w.failover()
		}
	}
	for _, c := range w.clients {
		w.act(c)
	}
}

// die forgets everything, and the client's partitions with it.
func (c *testConsumer) die() {
	*c = testConsumer{name: c.name, instance: c.instance, names: c.names, regex: c.regex, assignor: c.assignor, lives: c.lives}
}

func (w *consumerWorld) leave(c *testConsumer) {
	if !c.joined || c.waiting != nil {
		return
	}
	e := &ConsumerHeartbeat{GroupID: "g", MemberID: c.id, MemberEpoch: epochLeave, InstanceID: c.instance, RebalanceTimeoutMs: -1}
	if c.instance != nil && w.rand.IntN(2) == 0 {
		e.MemberEpoch = epochLeaveStatic
	}
	c.die()
	w.ask(&testConsumer{}, e)
}

// act sends the client's next heartbeat.
func (w *consumerWorld) act(c *testConsumer) {
	if !c.alive || c.waiting != nil || w.nowMs < c.askedMs+1000 && !c.news {
		return
	}
	e := &ConsumerHeartbeat{
		GroupID: "g", InstanceID: c.instance, RebalanceTimeoutMs: -1, RequireMemberID: true, ClientID: c.name, MemberEpoch: c.epoch,
	}
	if !c.joined {
		e.MemberEpoch, c.full, c.has = epochJoin, true, nil
		if c.id == "" {
			c.lives++
			c.id = fmt.Sprint(c.name, "-", c.lives)
		}
	}
	if e.MemberID = c.id; c.full {
		e.RebalanceTimeoutMs, e.NamesGiven, e.Names, e.Regex = 20_000, true, c.names, c.regex
		e.Assignor = orNil(c.assignor)
	}
	if c.full || c.news {
		e.OwnedGiven, e.Owned = true, c.has.byTopic()
	}
	c.full, c.news, c.askedMs = false, false, w.nowMs
	c.waiting = w.ask(c, e)
}

func (w *consumerWorld) ask(c *testConsumer, e *ConsumerHeartbeat) *consumerAsk {
	a := &consumerAsk{c: c, e: e}
	c.waiting = a
	e.Head = Head{w.nowMs, a}
	w.step(e)
	return c.waiting
}

func (w *consumerWorld) answered(c *testConsumer, f Effect) {
	c.waiting = nil
	if f.Err != nil {
		switch {
		case isErr(f.Err, ErrUnknownMemberID), isErr(f.Err, ErrFencedInstanceID):
			c.joined, c.id, c.has = false, "", nil
		case isErr(f.Err, ErrFencedMemberEpoch):
			c.joined, c.has = false, nil
		case isErr(f.Err, ErrUnreleasedInstanceID), isErr(f.Err, ErrCoordinatorNotAvailable), isErr(f.Err, ErrNotCoordinator):
			c.full = true
		default:
			w.t.Errorf("%s: %v", c.name, f.Err)
		}
		return
	}
	r := f.Result.(*ConsumerHeartbeatResult)
	c.joined, c.epoch = true, r.MemberEpoch
	if r.AssignmentGiven {
		has := flatten(r.Assignment)
		c.news = !has.equal(c.has)
		c.has = has
		w.exclusive()
	}
}

func isErr(err, target error) bool { return errorName(err) == errorName(target) }

// exclusive: of those whom the coordinator still knows, no two have the same partition.
func (w *consumerWorld) exclusive() {
	g := w.m.groups["g"]
	has := map[TopicPartition]*testConsumer{}
	for _, c := range w.clients {
		if !c.joined || g == nil || g.consumer.byID[c.id] == nil {
			continue
		}
		for _, p := range c.has {
			if o := has[p]; o != nil {
				w.t.Errorf("%v is with %s and %s", p, o.name, c.name)
			}
			has[p] = c
		}
	}
}

func (w *consumerWorld) failover() {
	w.step(&Unload{Head{NowMs: w.nowMs}})
	w.writes = nil
	w.m = w.replayed()
	w.step(&TopicsChanged{Head: Head{NowMs: w.nowMs}, View: w.view})
	w.step(&Loaded{Head{NowMs: w.nowMs}})
}

func (w *consumerWorld) replayed() *Machine {
	m := New(w.m.config)
	for _, r := range w.log {
		if err := m.Load(r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	return m
}

func (w *consumerWorld) pass(ms int64) {
	for end := w.nowMs + ms; w.nowMs < end; {
		w.nowMs = min(end, max(w.nowMs+1, w.m.NextDeadline()))
		w.step(&Tick{Head{NowMs: w.nowMs}})
	}
	for len(w.writes) > 0 && (w.calmed || w.rand.IntN(4) > 0) {
		f := w.writes[0]
		w.writes = w.writes[1:]
		var err error
		if !w.calmed && w.rand.IntN(10) == 0 {
			err = ErrCoordinatorNotAvailable
		} else {
			w.log = append(w.log, f.Records...)
		}
		w.step(&Persisted{Head: Head{NowMs: w.nowMs}, ID: f.ID, Err: err})
	}
}

func (w *consumerWorld) step(e Event) {
	for _, f := range slices.Clone(w.m.Step(e)) {
		switch f.Kind {
		case EffectPersist:
			w.writes = append(w.writes, f)
		case EffectReply:
			a := f.Token.(*consumerAsk)
			if a.answered++; a.answered > 1 {
				w.t.Errorf("%d answers to %+v", a.answered, a.e)
			}
			if a.c.waiting == a {
				w.answered(a.c, f)
			}
		}
	}
}

func (w *consumerWorld) calm() {
	w.calmed = true
	for range 400 {
		w.pass(500)
		for _, c := range w.clients {
			w.act(c)
		}
	}
	g := w.m.groups["g"]
	if g == nil {
		return
	}
	owner := map[TopicPartition]*testConsumer{}
	sizes := map[string][]int{}
	living := 0
	for _, c := range w.clients {
		if !c.alive {
			continue
		}
		living++
		for _, p := range c.has {
			owner[p] = c
		}
		kind := fmt.Sprint(c.names, show(c.regex))
		sizes[kind] = append(sizes[kind], len(c.has))
	}
	w.checkCalm(g, living, owner)
	for kind, n := range sizes {
		if w.m.config.Assignors[0] == AssignorUniform && w.clients[0].assignor == "" && slices.Max(n)-slices.Min(n) > 1 {
			w.t.Errorf("members that read %s have %v partitions", kind, n)
		}
	}
	other := w.replayed()
	want, got := one(w.m.Step(&DescribeConsumer{GroupID: "g"})), one(other.Step(&DescribeConsumer{GroupID: "g"}))
	got.Result.(*DescribeConsumerResult).State = g.state // of a machine that is not loaded yet
	if diff := cmp.Diff(want.Result, got.Result); diff != "" {
		w.t.Errorf("after a replay (-before +after):\n%s", diff)
	}
}

func (w *consumerWorld) checkCalm(g *Group, living int, owner map[TopicPartition]*testConsumer) {
	if living == 0 {
		if g.state != Empty {
			w.t.Errorf("nobody lives and the group is %v", g.state)
		}
		return
	}
	if g.state != Stable || len(g.consumer.members) != living {
		w.t.Errorf("%d live; the group is %v with %d members", living, g.state, len(g.consumer.members))
	}
	n := 0
	for name, t := range w.view {
		if !g.consumer.subscribes(name) {
			continue
		}
		for p := range t.Partitions {
			n++
			if owner[TopicPartition{t.ID, p}] == nil {
				w.t.Errorf("%s-%d is with nobody", name, p)
			}
		}
	}
	if len(owner) != n {
		w.t.Errorf("%d partitions are with somebody, want %d", len(owner), n)
	}
}
