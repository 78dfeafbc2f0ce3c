package group

import "fmt"

// The join phase: from the first sign that a group must assign anew to the next generation.

// rebalanceOrComplete starts a join phase, or goes on with the one that runs.
func (m *Machine) rebalanceOrComplete(g *Group, reason string) {
	if g.state.mayBecome(PreparingRebalance) {
		m.prepareRebalance(g, reason)
	} else {
		m.maybeCompleteJoin(g)
	}
}

func (m *Machine) prepareRebalance(g *Group, reason string) {
	if g.state == CompletingRebalance {
		// Those who wait for an assignment of this generation will not get one.
		for _, x := range g.members {
			x.assignment = nil
		}
		m.answerSyncs(g, ErrRebalanceInProgress)
	}
	m.endSyncWait(g)
	first := g.state == Empty
	g.become(PreparingRebalance, m.nowMs)
	m.changed(g, reason)
	switch {
	case first:
		// A new group: its members start one after the other, so wait a little for the next.
		g.newcomers = false
		g.delayMs = m.config.InitialRebalanceDelayMs
		g.remainingMs = max(0, g.rebalanceTimeoutMs()-g.delayMs)
		m.timers.set(&g.rebalance, m.nowMs+g.delayMs)
	case g.allJoined():
		m.completeJoin(g)
	default:
		m.timers.set(&g.rebalance, m.nowMs+g.rebalanceTimeoutMs())
	}
}

// joinTimeUp: the join phase has lasted as long as it may, or a new group has waited once for more members.
func (m *Machine) joinTimeUp(g *Group) {
	if g.state != PreparingRebalance {
		return
	}
	if g.previous == Empty && g.newcomers && g.remainingMs > 0 {
		g.newcomers = false
		next := min(m.config.InitialRebalanceDelayMs, g.remainingMs)
		g.remainingMs = max(0, g.remainingMs-g.delayMs)
		g.delayMs = next
		m.timers.set(&g.rebalance, m.nowMs+next)
		return
	}
	m.completeJoin(g)
}

// maybeCompleteJoin ends the join phase if nobody is missing. The first one of a group ends by time only: who would be missing
// is not known.
func (m *Machine) maybeCompleteJoin(g *Group) {
	if g.state == PreparingRebalance && g.previous != Empty && g.allJoined() {
		m.completeJoin(g)
	}
}

// completeJoin ends the join phase with those who are there. Dynamic members that did not come are out; static ones keep their
// place until their session ends.
func (m *Machine) completeJoin(g *Group) {
	m.timers.cancel(&g.rebalance)
	missing := 0
	for i := len(g.members) - 1; i >= 0; i-- {
		if x := g.members[i]; x.join == nil && !x.isStatic() {
			m.removeMember(g, x)
			missing++
		}
	}
	if !g.electJoined() && len(g.members) > 0 {
		// Only static members are left and none of them is here: wait on, until one comes or their sessions end.
		m.timers.set(&g.rebalance, m.nowMs+g.rebalanceTimeoutMs())
		return
	}
	g.nextGeneration(m.nowMs)
	m.changed(g, fmt.Sprintf("join phase ended, %d members missing", missing))
	if g.state == Empty {
		// If this does not get into the log, the generation before it comes back after a failover, and its members time out.
		m.persist(g, []Record{g.record()}, nil)
		return
	}
	for _, x := range g.members {
		m.answerJoin(g, x, nil, g.joined(x))
		x.isNew = false
		m.startSession(x)
		g.mark(x, true)
	}
	m.timers.set(&g.syncing, m.nowMs+g.rebalanceTimeoutMs())
}

// startSession gives a member a whole session timeout from now.
func (m *Machine) startSession(x *member) {
	m.timers.set(&x.session, m.nowMs+int64(x.sessionTimeoutMs))
}

func (m *Machine) sessionExpired(g *Group, x *member) {
	if x.satisfied() {
		return // its session starts again when its request is answered
	}
	m.removeMember(g, x)
	m.afterRemoval(g, "session of member "+x.id+" expired")
}

func (m *Machine) pendingExpired(g *Group, id string) {
	if m.removePending(g, id) {
		m.afterRemoval(g, "pending member "+id+" expired")
	}
}

// removeMember takes a member out and answers what it has parked with UNKNOWN_MEMBER_ID: if it still lives it joins anew.
func (m *Machine) removeMember(g *Group, x *member) {
	m.timers.cancel(&x.session)
	m.answerJoin(g, x, ErrUnknownMemberID, joinError(""))
	m.answerSync(x, ErrUnknownMemberID, nil)
	g.remove(x)
}

// afterRemoval must follow each removal outside of completeJoin: whoever is gone is waited for no longer.
func (m *Machine) afterRemoval(g *Group, reason string) {
	switch g.state {
	case Stable, CompletingRebalance:
		m.prepareRebalance(g, reason)
	case PreparingRebalance:
		if g.allJoined() {
			m.completeJoin(g)
		}
	}
}
