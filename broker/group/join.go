package group

import (
	"slices"
	"strings"
)

// JoinGroup: how a member gets into a group, and gets into its next generation.

func (m *Machine) join(e *Join) {
	switch {
	case e.GroupID == "":
		m.refuseJoin(e, e.MemberID, ErrInvalidGroupID)
		return
	case e.SessionTimeoutMs < m.config.MinSessionTimeoutMs || e.SessionTimeoutMs > m.config.MaxSessionTimeoutMs:
		m.refuseJoin(e, e.MemberID, ErrInvalidSessionTimeout)
		return
	case e.tooLong():
		m.refuseJoin(e, e.MemberID, ErrUnknownServerError)
		return
	}
	g := m.groups[e.GroupID]
	if g == nil {
		if e.MemberID != "" {
			m.refuseJoin(e, e.MemberID, ErrUnknownMemberID)
			return
		}
		g, _ = m.group(e.GroupID)
		defer m.forgetIfUnused(g)
	}
	if g.consumer != nil {
		switch {
		case g.state != Empty, e.ProtocolType == "", len(e.Protocols) == 0:
			m.refuseJoin(e, e.MemberID, ErrInconsistentProtocol)
			return
		case e.MemberID != "":
			m.refuseJoin(e, e.MemberID, ErrUnknownMemberID)
			return
		}
		m.persist(g, m.toClassic(g), nil)
	}
	switch {
	case !m.hasRoom(g, e.MemberID):
		m.refuseJoin(e, "", ErrGroupMaxSize)
		m.expel(g, e.MemberID)
	case !g.accepts(e.ProtocolType, e.Protocols):
		m.refuseJoin(e, e.MemberID, ErrInconsistentProtocol)
	case e.MemberID == "":
		m.joinUnknown(g, e)
	default:
		m.joinKnown(g, e)
	}
}

// hasRoom tells whether group.max.size lets a member join.
func (m *Machine) hasRoom(g *Group, memberID string) bool {
	x := g.byID[memberID]
	switch g.state {
	case Empty, Dead:
		return true
	case PreparingRebalance:
		// Counted are those who wait, not those who were members: the limit may have come down since, and then the last to come
		// back are the ones to go.
		return x != nil && x.join != nil || g.awaiting < m.config.MaxSize
	}
	return x != nil || len(g.members) < m.config.MaxSize
}

// expel takes out a member that found no room.
func (m *Machine) expel(g *Group, memberID string) {
	if x := g.byID[memberID]; x != nil {
		m.removeMember(g, x)
		m.afterRemoval(g, "member "+memberID+" found no room")
	} else if m.removePending(g, memberID) {
		m.afterRemoval(g, "pending member "+memberID+" found no room")
	}
}

// joinUnknown serves a member without an id.
func (m *Machine) joinUnknown(g *Group, e *Join) {
	switch {
	case e.InstanceID != nil:
		id := memberID(*e.InstanceID, e.NewMemberUUID)
		if x := g.static[*e.InstanceID]; x != nil {
			m.replaceStatic(g, x, e, id)
		} else {
			m.addMember(g, e, id)
		}
	case e.RequireMemberID:
		id := memberID(e.ClientID, e.NewMemberUUID)
		m.addPending(g, e, id)
		m.refuseJoin(e, id, ErrMemberIDRequired)
	default:
		m.addMember(g, e, memberID(e.ClientID, e.NewMemberUUID))
	}
}

// memberID is who asks, a dash and the random part. A client id that fills its field is cut, or the id would not fit into one.
func memberID(prefix, uuid string) string {
	if room := maxString - 1 - len(uuid); len(prefix) > room {
		prefix = strings.ToValidUTF8(prefix[:room], "")
	}
	return prefix + "-" + uuid
}

// tooLong: newer versions of the request have room for strings that the records of the log have not. Kafka fails on them.
func (e *Join) tooLong() bool {
	return len(e.GroupID) > maxString || e.InstanceID != nil && len(*e.InstanceID) > maxString ||
		len(e.ClientID) > maxString || len(e.ClientHost) > maxString || len(e.ProtocolType) > maxString ||
		slices.ContainsFunc(e.Protocols, func(p Protocol) bool { return len(p.Name) > maxString })
}

func (m *Machine) addPending(g *Group, e *Join, id string) {
	for _, other := range g.pending {
		if e.ConnectionID != 0 && other.connectionID == e.ConnectionID && other.clientID == e.ClientID {
			other.superseded = true
		}
	}
	p := &pendingMember{connectionID: e.ConnectionID, clientID: e.ClientID}
	p.session.fire = func() { m.pendingExpired(g, id) }
	g.pending[id] = p
	m.timers.set(&p.session, m.nowMs+int64(e.SessionTimeoutMs))
}

// removePending takes an id out that nobody joined with.
func (m *Machine) removePending(g *Group, id string) bool {
	p := g.pending[id]
	if p == nil {
		return false
	}
	m.timers.cancel(&p.session)
	delete(g.pending, id)
	return true
}

// joinKnown serves a member with an id.
func (m *Machine) joinKnown(g *Group, e *Join) {
	if g.pending[e.MemberID] != nil {
		if e.InstanceID != nil { // ids are pending for dynamic members only
			m.refuseJoin(e, e.MemberID, ErrUnknownMemberID)
			return
		}
		m.removePending(g, e.MemberID)
		m.addMember(g, e, e.MemberID)
		return
	}
	if err := g.check(e.MemberID, e.InstanceID); err != nil {
		m.refuseJoin(e, e.MemberID, err)
		return
	}
	x := g.byID[e.MemberID]
	same := sameProtocols(x.protocols, e.Protocols)
	switch {
	case g.state == PreparingRebalance:
		m.rejoin(g, x, e, "member "+x.id+" joins")
	case g.state == CompletingRebalance && same:
		// It may have missed the answer: the same again.
		m.reply(e.Token, nil, g.joined(x))
	case g.state == Stable && same && !g.isLeader(x):
		// It may go on with SyncGroup in the generation it has.
		m.reply(e.Token, nil, g.joined(x))
	case g.state == Stable && g.isLeader(x):
		// The leader asks for a rebalance when something has changed that its metadata does not show, such as a topic's
		// partitions.
		m.rejoin(g, x, e, "leader "+x.id+" joins again")
	case g.state == CompletingRebalance || g.state == Stable:
		m.rejoin(g, x, e, "member "+x.id+" changed its metadata")
	default:
		m.refuseJoin(e, e.MemberID, ErrUnknownMemberID)
	}
}

func (m *Machine) rejoin(g *Group, x *member, e *Join, reason string) {
	g.change(x, func() { x.update(e) })
	m.parkJoin(g, x, e.Token)
	m.rebalanceOrComplete(g, because(reason, e.Reason))
}

func (m *Machine) addMember(g *Group, e *Join, id string) {
	x := &member{id: id, instanceID: cloneString(e.InstanceID), isNew: true}
	x.update(e)
	x.session.fire = func() { m.sessionExpired(g, x) }
	if g.state == PreparingRebalance && g.previous == Empty {
		g.newcomers = true // so the first rebalance may be put off further
	}
	g.add(x)
	m.parkJoin(g, x, e.Token)
	// A new member has no session yet, and whether its connection lives can't be seen while the request is parked. A client
	// that gave up and tries again would leave dead members behind, so the wait has an end; if it still lives it tries again.
	m.timers.set(&x.session, m.nowMs+m.config.NewMemberJoinTimeoutMs)
	m.rebalanceOrComplete(g, because("new member "+id, e.Reason))
}

// parkJoin keeps a JoinGroup until the join phase ends.
func (m *Machine) parkJoin(g *Group, x *member, token any) {
	// The member itself has asked again, so the earlier request is one that its client gave up.
	m.answerJoin(g, x, ErrRebalanceInProgress, joinError(x.id))
	x.join = &parked{token}
	g.awaiting++
}

func (m *Machine) answerJoin(g *Group, x *member, err error, r *JoinResult) {
	if x.join != nil {
		m.reply(x.join.token, err, r)
		x.join = nil
		g.awaiting--
	}
}

func (m *Machine) refuseJoin(e *Join, memberID string, err error) {
	m.reply(e.Token, err, joinError(memberID))
}

func joinError(memberID string) *JoinResult { return &JoinResult{MemberID: memberID, Generation: -1} }

// joined is the answer of the current generation for one member.
func (g *Group) joined(x *member) *JoinResult {
	r := &JoinResult{
		MemberID: x.id, Generation: g.generation,
		ProtocolType: g.protocolType, ProtocolName: g.protocolName, Leader: g.leader,
	}
	if g.isLeader(x) {
		r.Members = g.memberList()
	}
	return r
}

func (g *Group) memberList() []JoinMember {
	list := make([]JoinMember, len(g.members))
	for i, x := range g.members {
		list[i] = JoinMember{MemberID: x.id, InstanceID: x.instanceID, Metadata: x.metadata(*g.protocolName)}
	}
	return list
}

func because(reason, client string) string {
	if client == "" {
		return reason
	}
	return reason + "; client reason: " + client
}

func cloneString(s *string) *string {
	if s == nil {
		return nil
	}
	return new(*s)
}
