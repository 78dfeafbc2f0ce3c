package group

import (
	"fmt"
	"math"
	"strings"
)

// Machine coordinates all groups of one partition of __consumer_offsets. See the package's comment for how to drive it.
type Machine struct {
	config Config
	groups map[string]*Group
	timers timers
	topics TopicView
	nowMs  int64

	out      []Effect
	persists []*persist // on their way, oldest first
	lastID   PersistID

	unsettled map[int64][]unsettled // by producer id
	order     uint64                // of the last offset that was put into the log

	expiry   timer // the next look for offsets that are too old
	unloaded bool
}

// New is an empty coordinator. Load its log, if it has one, and send Loaded before anything else.
func New(c Config) *Machine {
	m := &Machine{config: c, groups: map[string]*Group{}, topics: noTopics{}, unsettled: map[int64][]unsettled{}}
	m.expiry.fire = m.expireOffsets
	return m
}

// Step takes one event and says what is to be done about it. The slice is used again by the next Step.
func (m *Machine) Step(e Event) []Effect {
	clear(m.out) // tokens and results of the last step must not be kept alive
	m.out = m.out[:0]
	m.nowMs = max(m.nowMs, e.head().NowMs)
	m.step(e)
	return m.out
}

// NextDeadline is the time in milliseconds at which a Tick is due, math.MaxInt64 if there is none. It may be early (a heartbeat
// does not move it): the Tick then finds nothing to do and the next deadline is later.
func (m *Machine) NextDeadline() int64 { return m.timers.nextMs() }

// step also serves events that were held.
func (m *Machine) step(e Event) {
	switch e := e.(type) {
	case *Tick:
		m.timers.run(m.nowMs)
		return
	case *Persisted:
		m.persisted(e)
		return
	case *Loaded:
		m.loaded()
		return
	case *Unload:
		m.unload()
		return
	case *TopicDeleted:
		m.topicDeleted(e)
		return
	case *TopicsChanged:
		m.topicsChanged(e)
		return
	case *TransactionEnded:
		m.transactionEnded(e)
		return
	}
	if m.unloaded {
		m.reply(e.head().Token, ErrNotCoordinator, emptyResult(e))
		return
	}
	if id, ok := groupOf(e); ok {
		if g := m.groups[id]; g != nil && g.deleting {
			// The group is going but not yet gone. Whether this event meets it or a new one of that name is known only when
			// the log has taken the tombstones. At most one event per request in flight waits here.
			g.held = append(g.held, e)
			return
		}
	}
	m.request(e)
}

func (m *Machine) request(e Event) {
	switch e := e.(type) {
	case *Join:
		m.join(e)
	case *Sync:
		m.sync(e)
	case *Heartbeat:
		m.heartbeat(e)
	case *ConsumerHeartbeat:
		m.consumerHeartbeat(e)
	case *Leave:
		m.leave(e)
	case *Commit:
		m.commit(e)
	case *TxnCommit:
		m.commitInTransaction(e)
	case *FetchOffsets:
		m.fetchOffsets(e)
	case *DeleteOffsets:
		m.deleteOffsets(e)
	case *Describe:
		m.describe(e)
	case *DescribeConsumer:
		m.describeConsumer(e)
	case *List:
		m.list(e)
	case *Delete:
		m.delete(e)
	default:
		panic(fmt.Sprintf("group: unknown event %T", e))
	}
}

// groupOf is the group that an event is about, if it is about one.
func groupOf(e Event) (string, bool) {
	switch e := e.(type) {
	case *Join:
		return e.GroupID, true
	case *Sync:
		return e.GroupID, true
	case *Heartbeat:
		return e.GroupID, true
	case *ConsumerHeartbeat:
		return e.GroupID, true
	case *Leave:
		return e.GroupID, true
	case *Commit:
		return e.GroupID, true
	case *TxnCommit:
		return e.GroupID, true
	case *FetchOffsets:
		return e.GroupID, true
	case *DeleteOffsets:
		return e.GroupID, true
	case *Describe:
		return e.GroupID, true
	case *DescribeConsumer:
		return e.GroupID, true
	case *Delete:
		return e.GroupID, true
	}
	return "", false
}

func emptyResult(e Event) any {
	if e, ok := e.(*Join); ok {
		return joinError(e.MemberID)
	}
	return nil
}

func (m *Machine) reply(token any, err error, result any) {
	m.out = append(m.out, Effect{Kind: EffectReply, Token: token, Err: err, Result: result})
}

func (m *Machine) changed(g *Group, reason string) {
	c := GroupChange{
		GroupID: g.id, State: g.state, Generation: g.generation, Members: len(g.members), Reason: shorten(reason),
	}
	if g.consumer != nil {
		c.Generation, c.Members = g.consumer.epoch, len(g.consumer.members)
	}
	m.out = append(m.out, Effect{Kind: EffectGroupChanged, Group: c})
}

// shorten bounds a text that clients have a part in and that goes into logs.
func shorten(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// group finds a group or makes an empty one.
func (m *Machine) group(id string) (g *Group, created bool) {
	if g := m.groups[id]; g != nil {
		return g, false
	}
	g = newGroup(id, m.nowMs)
	g.rebalance.fire = func() { m.joinTimeUp(g) }
	g.syncing.fire = func() { m.syncTimeUp(g) }
	m.groups[id] = g
	return g, true
}

// forget takes a group out of the machine.
func (m *Machine) forget(g *Group) {
	for _, x := range g.members {
		m.timers.cancel(&x.session)
	}
	for _, p := range g.pending {
		m.timers.cancel(&p.session)
	}
	if g.consumer != nil {
		m.forgetConsumers(g.consumer)
	}
	m.timers.cancel(&g.rebalance)
	m.timers.cancel(&g.syncing)
	m.dropUnsettled(g, func(string, int32) bool { return true })
	delete(m.groups, g.id)
}

// forgetIfUnused drops a group that came into being for a request that was then refused.
func (m *Machine) forgetIfUnused(g *Group) {
	if g.unused() && m.groups[g.id] == g {
		m.forget(g)
	}
}

// unload answers everybody who waits; the machine is of no use afterwards. Kafka answers NOT_COORDINATOR too, so that clients
// look for the new one.
func (m *Machine) unload() {
	if m.unloaded {
		return
	}
	m.unloaded = true
	for _, g := range m.sortedGroups() {
		for _, x := range g.members {
			m.answerJoin(g, x, ErrNotCoordinator, joinError(x.id))
			m.answerSync(x, ErrNotCoordinator, nil)
		}
		for _, e := range g.held {
			m.reply(e.head().Token, ErrNotCoordinator, emptyResult(e))
		}
		g.held = nil
		g.become(Dead, m.nowMs) // so that nothing more comes of what is on its way
		m.forget(g)
	}
	for _, p := range m.persists {
		m.timers.cancel(&p.timeout)
		p.answer(ErrNotCoordinator)
	}
	m.persists = nil
	m.timers.cancel(&m.expiry)
}

const never = math.MaxInt64
