package group

import "cmp"

// Heartbeat and LeaveGroup: a member lives, a member goes.

func (m *Machine) heartbeat(e *Heartbeat) {
	m.reply(e.Token, m.beat(e), nil)
}

func (m *Machine) beat(e *Heartbeat) error {
	if e.GroupID == "" {
		return ErrInvalidGroupID
	}
	g := m.groups[e.GroupID]
	if g == nil {
		return ErrUnknownMemberID
	}
	if err := g.check(e.MemberID, e.InstanceID); err != nil {
		return err
	}
	if e.Generation != g.generation {
		return ErrIllegalGeneration
	}
	m.startSession(g.byID[e.MemberID])
	if g.state == PreparingRebalance {
		return ErrRebalanceInProgress
	}
	return nil
}

func (m *Machine) leave(e *Leave) {
	if e.GroupID == "" {
		m.reply(e.Token, ErrInvalidGroupID, nil)
		return
	}
	g := m.groups[e.GroupID]
	r := &LeaveResult{Members: make([]LeaveMemberResult, len(e.Members))}
	left := ""
	for i, l := range e.Members {
		err := ErrUnknownMemberID
		if g != nil {
			err = m.leaveOne(g, l)
		}
		if err == nil {
			left = because("member "+cmp.Or(l.MemberID, orEmpty(l.InstanceID))+" left", l.Reason)
		}
		r.Members[i] = LeaveMemberResult{MemberID: l.MemberID, InstanceID: cloneString(l.InstanceID), Err: err}
	}
	m.reply(e.Token, nil, r)
	if left == "" || g.consumer != nil {
		return
	}
	// One look for all who left. During a group's first rebalance that ends by time, as always.
	switch g.state {
	case Stable, CompletingRebalance:
		m.prepareRebalance(g, left)
	case PreparingRebalance:
		m.maybeCompleteJoin(g)
	}
}

func (m *Machine) leaveOne(g *Group, l LeaveMember) error {
	if g.consumer != nil {
		return m.removeConsumer(g, l)
	}
	if l.MemberID == "" { // an administrator removes a static member, whatever its id is
		if l.InstanceID == nil || g.static[*l.InstanceID] == nil {
			return ErrUnknownMemberID
		}
		m.removeMember(g, g.static[*l.InstanceID])
		return nil
	}
	if m.removePending(g, l.MemberID) {
		return nil
	}
	if err := g.check(l.MemberID, l.InstanceID); err != nil {
		return err
	}
	m.removeMember(g, g.byID[l.MemberID])
	return nil
}
