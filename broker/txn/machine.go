package txn

import (
	"container/heap"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Machine coordinates the transactional ids of one partition of __transaction_state. See the package's comment for how to
// drive it.
type Machine struct {
	config Config
	byID   map[string]*transaction
	nowMs  int64

	out      []Effect
	persists []*persist // on their way, oldest first
	lastID   PersistID
	answered int // of persists, from the front: nobody waits for their answer any more

	due      deadlines // of the transactions
	expiryMs int64     // the next look for ids that are not used any more
	unloaded bool
}

// never is a deadline that doesn't come.
const never = math.MaxInt64

// New is an empty coordinator. Load its log, if it has one, and send Loaded before anything else.
func New(c Config) *Machine {
	return &Machine{config: c, byID: map[string]*transaction{}, expiryMs: never}
}

// Step takes one event and says what is to be done about it. The slice is used again by the next Step.
func (m *Machine) Step(e Event) []Effect {
	clear(m.out) // tokens and results of the last step must not be kept alive
	m.out = m.out[:0]
	m.nowMs = max(m.nowMs, e.head().NowMs)
	switch e := e.(type) {
	case *Tick:
		m.tick()
	case *Persisted:
		m.persisted(e)
	case *Marked:
		m.marked(e)
	case *Loaded:
		m.loaded()
	case *Unload:
		m.unload()
	default:
		m.request(e)
	}
	return m.out
}

func (m *Machine) request(e Event) {
	if m.unloaded {
		m.reply(e.head().Token, ErrNotCoordinator, nil)
		return
	}
	switch e := e.(type) {
	case *Init:
		m.init(e)
	case *Add:
		m.add(e)
	case *End:
		m.end(e)
	case *Describe:
		m.describe(e)
	case *List:
		m.list(e)
	default:
		panic(fmt.Sprintf("txn: unknown event %T", e))
	}
}

// NextDeadline is the time in milliseconds at which a Tick is due, math.MaxInt64 if there is none.
func (m *Machine) NextDeadline() int64 {
	if m.unloaded {
		return never
	}
	next := m.expiryMs
	if len(m.due) > 0 {
		next = min(next, m.due[0].deadlineMs)
	}
	if m.answered < len(m.persists) {
		next = min(next, m.persists[m.answered].untilMs)
	}
	return next
}

func (m *Machine) tick() {
	if m.unloaded {
		return
	}
	for m.answered < len(m.persists) && m.persists[m.answered].untilMs <= m.nowMs {
		p := m.persists[m.answered]
		m.answered++
		p.answer(ErrCoordinatorNotAvailable)
	}
	for len(m.due) > 0 && m.due[0].deadlineMs <= m.nowMs {
		t := m.due[0]
		m.wait(t, never)
		m.act(t)
	}
	if m.expiryMs <= m.nowMs {
		m.expire()
	}
}

// act does what a transaction has waited for.
func (m *Machine) act(t *transaction) {
	switch {
	case t.pending != nil: // the outcome will set the next deadline
	case t.state == Ongoing:
		m.fence(t, "the transaction took longer than its timeout", nil)
	case t.state.preparing():
		m.mark(t)
	}
}

// wait sets when act is called next; never: not at all.
func (m *Machine) wait(t *transaction, untilMs int64) {
	switch {
	case untilMs == never && t.slot > 0:
		heap.Remove(&m.due, t.slot-1)
	case untilMs == never:
	case t.slot > 0:
		t.deadlineMs = untilMs
		heap.Fix(&m.due, t.slot-1)
	default:
		t.deadlineMs = untilMs
		heap.Push(&m.due, t)
	}
}

func (m *Machine) reply(token any, err error, result any) {
	m.out = append(m.out, Effect{Kind: EffectReply, Token: token, Err: err, Result: result})
}

// draw asks for a producer id; the event comes again with it.
func (m *Machine) draw(e Event) {
	m.out = append(m.out, Effect{Kind: EffectProducerID, Token: e.head().Token})
}

// unload answers everybody who waits; the machine is of no use afterwards.
func (m *Machine) unload() {
	if m.unloaded {
		return
	}
	m.unloaded = true
	for _, p := range m.persists {
		p.answer(ErrNotCoordinator)
	}
	m.persists, m.due, m.byID, m.answered = nil, nil, nil, 0
}

// sorted are all transactions by their ids.
func (m *Machine) sorted() []*transaction {
	all := make([]*transaction, 0, len(m.byID))
	for _, id := range slices.Sorted(maps.Keys(m.byID)) {
		all = append(all, m.byID[id])
	}
	return all
}

// deadlines is a heap (container/heap) of the transactions that wait for something. Those that are due at the same time come
// by their ids, so that runs repeat exactly.
type deadlines []*transaction

func (d deadlines) Len() int { return len(d) }
func (d deadlines) Less(i, j int) bool {
	return d[i].deadlineMs < d[j].deadlineMs || d[i].deadlineMs == d[j].deadlineMs && d[i].id < d[j].id
}
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].slot, d[j].slot = i+1, j+1
}
func (d *deadlines) Push(x any) {
	t := x.(*transaction)
	*d = append(*d, t)
	t.slot = len(*d)
}
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	t := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	t.slot = 0
	return t
}
