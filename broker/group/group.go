package group

import (
	"fmt"
	"maps"
	"slices"
)

// Group is one group, of the classic protocol or, with consumer, of the consumer protocol. Only its machine touches it.
type Group struct {
	id         string
	state      State
	previous   State
	sinceMs    int64 // when it came into its state; -1 if the log did not tell
	generation int32

	protocolType *string // nil: it has never had members (a "simple" group)
	protocolName *string // nil while there is none
	leader       string  // member id; "" without members

	// members in the order in which they joined. Kafka walks a hash map where the order matters (who becomes leader next); ours
	// is a fixed order, so that the same events have the same outcome.
	members []*member
	byID    map[string]*member
	static  map[string]*member // by group.instance.id
	pending map[string]*pendingMember
	// supporters counts for each protocol the members that know it.
	supporters map[string]int
	awaiting   int // members with a parked JoinGroup
	unsynced   int // members that have not sent SyncGroup in this generation

	subscribed  []string // topics, sorted; only for consumers and if every member's metadata could be read
	knowsTopics bool

	rebalance timer // ends the join phase
	syncing   timer // ends the wait for SyncGroups
	// The first rebalance of a group is put off while members keep coming: how long at once, how long in all.
	delayMs     int64
	remainingMs int64
	newcomers   bool

	consumer *consumerGroup // nil: a classic group

	offsets map[string]map[int32]offset // durable ones

	inFlight  int // sets of records on their way
	unsettled int // offsets of transactions that have not ended
	deleting  bool
	held      []Event // that came while deleting
}

func newGroup(id string, nowMs int64) *Group {
	return &Group{
		id: id, state: Empty, sinceMs: nowMs,
		byID: map[string]*member{}, static: map[string]*member{},
		pending: map[string]*pendingMember{}, supporters: map[string]int{},
	}
}

func (g *Group) become(to State, nowMs int64) {
	if !g.state.mayBecome(to) {
		panic(fmt.Sprintf("group: %q can't go from %v to %v", g.id, g.state, to))
	}
	g.previous, g.state, g.sinceMs = g.state, to, nowMs
}

// unused: nothing of this group was ever answered with success.
func (g *Group) unused() bool {
	return g.state == Empty && g.consumer == nil && g.generation == 0 && g.protocolType == nil && len(g.members) == 0 &&
		len(g.pending) == 0 && len(g.offsets) == 0 && g.inFlight == 0 && g.unsettled == 0
}

func (g *Group) add(x *member) {
	if len(g.members) == 0 {
		g.protocolType = new(x.protocolType)
		g.leader = x.id
	}
	g.members = append(g.members, x)
	g.byID[x.id] = x
	if x.isStatic() {
		g.static[*x.instanceID] = x
	}
	g.count(x, +1)
	delete(g.pending, x.id)
}

// remove takes a member out; its parked requests must have been answered.
func (g *Group) remove(x *member) {
	if x.join != nil || x.sync != nil {
		panic("group: a member is removed with a request unanswered")
	}
	g.members = slices.Delete(g.members, g.index(x), g.index(x)+1)
	delete(g.byID, x.id)
	if x.isStatic() {
		delete(g.static, *x.instanceID)
	}
	g.count(x, -1)
	g.mark(x, false)
	if g.leader == x.id {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
}

func (g *Group) index(x *member) int { return slices.Index(g.members, x) }

// rename gives a static member another id in its place.
func (g *Group) rename(x *member, id string) {
	delete(g.byID, x.id)
	if g.leader == x.id {
		g.leader = id
	}
	x.id = id
	g.byID[id] = x
}

// change lets update replace what a member says of itself.
func (g *Group) change(x *member, update func()) {
	g.count(x, -1)
	update()
	g.count(x, +1)
}

func (g *Group) count(x *member, by int) {
	for i, p := range x.protocols {
		// A name that comes twice in one request counts once: it still is one member.
		if !slices.ContainsFunc(x.protocols[:i], func(q Protocol) bool { return q.Name == p.Name }) {
			g.supporters[p.Name] += by
			if g.supporters[p.Name] == 0 {
				delete(g.supporters, p.Name)
			}
		}
	}
}

func (g *Group) isLeader(x *member) bool { return g.leader == x.id }

// accepts tells whether a member with these protocols can be in the group: same type, and one protocol that all know.
func (g *Group) accepts(protocolType string, protocols []Protocol) bool {
	if g.state == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	if g.protocolType == nil || *g.protocolType != protocolType {
		return false
	}
	return slices.ContainsFunc(protocols, func(p Protocol) bool { return g.supporters[p.Name] == len(g.members) })
}

// vote picks the protocol: every member names the first of its list that all have in common, most votes win. A tie goes to the
// one named first in the order of joining; Kafka's falls as its hash map wants it.
func (g *Group) vote() string {
	votes := map[string]int{}
	var named []string
	for _, x := range g.members {
		i := slices.IndexFunc(x.protocols, func(p Protocol) bool { return g.supporters[p.Name] == len(g.members) })
		if i < 0 {
			panic(fmt.Sprintf("group: %q has no protocol in common", g.id))
		}
		name := x.protocols[i].Name
		if votes[name]++; votes[name] == 1 {
			named = append(named, name)
		}
	}
	best := named[0]
	for _, name := range named[1:] {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// check is what Sync, Heartbeat, Leave and Commit ask of a member before all else.
func (g *Group) check(memberID string, instanceID *string) error {
	if instanceID != nil {
		switch x := g.static[*instanceID]; {
		case x == nil:
			return ErrUnknownMemberID
		case x.id != memberID:
			return ErrFencedInstanceID
		}
	}
	if g.byID[memberID] == nil {
		return ErrUnknownMemberID
	}
	return nil
}

func (g *Group) allJoined() bool {
	if g.awaiting != len(g.members) {
		return false
	}
	for _, p := range g.pending {
		if !p.superseded {
			return false
		}
	}
	return true
}

func (g *Group) mark(x *member, unsynced bool) {
	if x.unsynced != unsynced {
		x.unsynced = unsynced
		if unsynced {
			g.unsynced++
		} else {
			g.unsynced--
		}
	}
}

// rebalanceTimeoutMs is the longest any member may take. At least 1, so that a timer that sets itself again moves on.
func (g *Group) rebalanceTimeoutMs() int64 {
	longest := int64(1)
	for _, x := range g.members {
		longest = max(longest, int64(x.rebalanceTimeoutMs))
	}
	return longest
}

// electJoined makes sure that the leader is one of those who have joined. False if nobody has.
func (g *Group) electJoined() bool {
	if x := g.byID[g.leader]; x != nil && x.join != nil {
		return true
	}
	for _, x := range g.members {
		if x.join != nil {
			g.leader = x.id
			return true
		}
	}
	return false
}

// nextGeneration ends the join phase.
func (g *Group) nextGeneration(nowMs int64) {
	g.generation++
	g.protocolName = nil
	if len(g.members) == 0 {
		g.become(Empty, nowMs)
	} else {
		g.protocolName = new(g.vote())
		g.become(CompletingRebalance, nowMs)
	}
	g.learnTopics()
}

func (m *Machine) sortedGroups() []*Group {
	groups := make([]*Group, 0, len(m.groups))
	for _, id := range slices.Sorted(maps.Keys(m.groups)) {
		groups = append(groups, m.groups[id])
	}
	return groups
}
