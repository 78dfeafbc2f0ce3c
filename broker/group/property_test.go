package group

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A group of clients that come, go, die and come back, on a log that is slow and at times refuses. Whatever happens:
//
//   - each request is answered exactly once;
//   - in one generation there is one leader, and each member gets what that leader decided for it;
//   - when the storm is over, all who live are members of one stable generation, and nobody else is;
//   - what the log holds makes the same groups and offsets again;
//   - when all have died the group is empty.
func TestRandomLives(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		w := newWorld(t, uint64(seed))
		w.storm(400)
		w.calm()
		w.compareReplay()
		w.extinction()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// world is a machine with its log, its clock and its clients.
type world struct {
	t       *testing.T
	rand    *rand.Rand
	m       *Machine
	nowMs   int64
	clients []*client
	writes  []Effect // EffectPersists not yet reported
	log     []Record
	answers map[*request]int
	asked   []*request
	leaders map[int32]string
	given   map[int32]map[string]string // what the leader of a generation decided
	uuids   int
	calmed  bool
}

// client is one consumer.
type client struct {
	name       string
	instance   *string
	alive      bool
	memberID   string
	generation int32
	stable     bool
	waiting    *request // it has one request at a time
	dueMs      int64    // its next heartbeat
}

// request is the token of an event.
type request struct {
	event  Event
	client *client
}

func newWorld(t *testing.T, seed uint64) *world {
	c := DefaultConfig()
	c.InitialRebalanceDelayMs = []int64{0, 500, 3000}[seed%3]
	w := &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 1)), m: New(c),
		answers: map[*request]int{}, leaders: map[int32]string{}, given: map[int32]map[string]string{},
	}
	w.m.Step(&Loaded{})
	for i := range 2 + w.rand.IntN(5) {
		c := &client{name: "c" + strconv.Itoa(i)}
		if w.rand.IntN(3) == 0 {
			c.instance = new("i" + strconv.Itoa(i))
		}
		w.clients = append(w.clients, c)
	}
	return w
}

func (w *world) storm(steps int) {
	for range steps {
		w.pass(int64(w.rand.IntN(400)))
		c := w.clients[w.rand.IntN(len(w.clients))]
		switch w.rand.IntN(12) {
		case 0:
			c.die()
		case 1, 2:
			c.alive = true
		case 3:
			w.leave(c)
		case 4:
			w.commit(c)
		case 5: // the client loses patience and asks again
			c.waiting = nil
		case 6:
			w.deleteOffsets(c)
		}
		for _, c := range w.clients {
			w.act(c)
		}
	}
}

// calm lets those who live come to rest.
func (w *world) calm() {
	w.calmed = true
	for range 3000 {
		w.pass(100)
		for _, c := range w.clients {
			w.act(c)
		}
	}
	want := map[string]bool{}
	generation := int32(-1)
	for _, c := range w.clients {
		if !c.alive {
			continue
		}
		want[c.memberID] = true
		if generation == -1 {
			generation = c.generation
		}
		if !c.stable || c.generation != generation {
			w.t.Errorf("%s is not stable in generation %d: %+v", c.name, generation, c)
		}
	}
	got := map[string]bool{}
	g := w.m.groups["g"]
	if g == nil {
		if len(want) > 0 {
			w.t.Errorf("no group, want members %v", want)
		}
		return
	}
	for _, x := range g.members {
		got[x.id] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("members of the calm group (-want +got):\n%s", diff)
	}
	if len(want) > 0 && (g.state != Stable || g.generation != generation) {
		w.t.Errorf("group is %v in generation %d, want Stable in %d", g.state, g.generation, generation)
	}
	w.checkAnswers()
}

func (w *world) extinction() {
	for _, c := range w.clients {
		c.die()
	}
	for range 20 {
		w.pass(1000)
	}
	if g := w.m.groups["g"]; g != nil && g.state != Empty {
		w.t.Errorf("all are dead and the group is %v with %d members", g.state, len(g.members))
	}
	w.checkAnswers()
}

func (w *world) checkAnswers() {
	for _, r := range w.asked {
		if n := w.answers[r]; n != 1 && !(n == 0 && r.client.waiting == r) {
			w.t.Errorf("%d answers to %s's %T", n, r.client.name, r.event)
		}
	}
}

// compareReplay loads the log into another machine and compares what both say.
func (w *world) compareReplay() {
	other := New(w.m.config)
	for _, r := range w.log {
		if err := other.Load(r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	other.Step(&Loaded{Head{NowMs: w.nowMs}})
	for _, e := range []Event{&Describe{GroupID: "g"}, &FetchOffsets{GroupID: "g", All: true}} {
		want, got := one(w.m.Step(e)), one(other.Step(e))
		if diff := cmp.Diff(want.Result, got.Result); diff != "" {
			w.t.Errorf("%T after a replay (-before +after):\n%s", e, diff)
		}
	}
}

func one(effects []Effect) Effect {
	if len(effects) != 1 {
		panic(fmt.Sprintf("%d effects, want one", len(effects)))
	}
	return effects[0]
}

// pass lets time go by: timers fire when they are due, and the log catches up with some of its writes.
func (w *world) pass(ms int64) {
	for end := w.nowMs + ms; w.nowMs < end; {
		w.nowMs = min(end, max(w.nowMs+1, w.m.NextDeadline()))
		w.step(&Tick{Head{NowMs: w.nowMs}})
	}
	for len(w.writes) > 0 && (w.calmed || w.rand.IntN(3) > 0) {
		f := w.writes[0]
		w.writes = w.writes[1:]
		var err error
		if !w.calmed && w.rand.IntN(20) == 0 {
			err = ErrCoordinatorNotAvailable
		} else {
			w.log = append(w.log, f.Records...)
		}
		w.step(&Persisted{Head: Head{NowMs: w.nowMs}, ID: f.ID, Err: err})
	}
}

func (w *world) ask(c *client, r *request) {
	w.asked = append(w.asked, r)
	c.waiting = r
	w.step(r.event)
}

func (w *world) step(e Event) {
	for _, f := range append([]Effect(nil), w.m.Step(e)...) { // a copy: answers lead to further steps
		switch f.Kind {
		case EffectPersist:
			w.writes = append(w.writes, f)
		case EffectReply:
			r := f.Token.(*request)
			w.answers[r]++
			if r.client.waiting == r {
				r.client.waiting = nil
				w.answered(r, f)
			}
		}
	}
}
