package group

import "bytes"

// SyncGroup: the leader hands the assignment in, everybody fetches theirs.

func (m *Machine) sync(e *Sync) {
	if e.GroupID == "" {
		m.reply(e.Token, ErrInvalidGroupID, nil)
		return
	}
	g := m.groups[e.GroupID]
	if g == nil || g.state == Empty {
		m.reply(e.Token, ErrUnknownMemberID, nil)
		return
	}
	if err := g.checkSync(e); err != nil {
		m.reply(e.Token, err, nil)
		return
	}
	x := g.byID[e.MemberID]
	switch g.state {
	case PreparingRebalance:
		m.reply(e.Token, ErrRebalanceInProgress, nil)
	case CompletingRebalance:
		m.answerSync(x, ErrRebalanceInProgress, nil) // it has asked again: the earlier request is given up
		x.sync = &parked{e.Token}
		m.markSynced(g, x)
		if g.isLeader(x) {
			m.assign(g, e)
		}
	case Stable:
		m.markSynced(g, x)
		m.reply(e.Token, nil, g.synced(x))
	}
}

func (g *Group) checkSync(e *Sync) error {
	if err := g.check(e.MemberID, e.InstanceID); err != nil {
		return err
	}
	switch {
	case e.Generation != g.generation:
		return ErrIllegalGeneration
	case differs(e.ProtocolType, g.protocolType), differs(e.ProtocolName, g.protocolName):
		return ErrInconsistentProtocol
	}
	return nil
}

func differs(asked, has *string) bool { return asked != nil && has != nil && *asked != *has }

// assign stores what the leader decided, and hands it out when it is durable.
func (m *Machine) assign(g *Group, e *Sync) {
	assignment := make(map[string][]byte, len(e.Assignments))
	for _, a := range e.Assignments {
		assignment[a.MemberID] = bytes.Clone(a.Assignment)
	}
	generation := g.generation
	record := g.recordWith(func(x *member) []byte { return assignment[x.id] })
	m.persist(g, []Record{record}, func(err error) {
		if g.state != CompletingRebalance || g.generation != generation {
			return // a rebalance came in between and has told those who wait
		}
		if err != nil {
			for _, x := range g.members {
				x.assignment = nil
			}
			m.answerSyncs(g, err)
			m.prepareRebalance(g, "the assignment could not be stored")
			return
		}
		for _, x := range g.members {
			x.assignment = assignment[x.id]
		}
		g.become(Stable, m.nowMs)
		m.answerSyncs(g, nil)
		m.changed(g, "assignment stored")
	})
}

// answerSyncs answers everyone who waits for an assignment. Their session starts again: if it ended while they waited, that was
// overlooked.
func (m *Machine) answerSyncs(g *Group, err error) {
	for _, x := range g.members {
		if x.sync == nil {
			continue
		}
		if err == nil {
			m.answerSync(x, nil, g.synced(x))
		} else {
			m.answerSync(x, err, nil)
		}
		m.startSession(x)
	}
}

func (m *Machine) answerSync(x *member, err error, r *SyncResult) {
	if x.sync == nil {
		return
	}
	var result any
	if r != nil {
		result = r
	}
	m.reply(x.sync.token, err, result)
	x.sync = nil
}

func (g *Group) synced(x *member) *SyncResult {
	return &SyncResult{ProtocolType: g.protocolType, ProtocolName: g.protocolName, Assignment: x.assignment}
}

// markSynced notes that a member has sent its SyncGroup; after the last one nobody is waited for.
func (m *Machine) markSynced(g *Group, x *member) {
	g.mark(x, false)
	if g.unsynced == 0 {
		m.timers.cancel(&g.syncing)
	}
}

func (m *Machine) endSyncWait(g *Group) {
	for _, x := range g.members {
		g.mark(x, false)
	}
	m.timers.cancel(&g.syncing)
}

// syncTimeUp: members that have joined but never asked for their assignment are out.
func (m *Machine) syncTimeUp(g *Group) {
	if g.state != CompletingRebalance && g.state != Stable || g.unsynced == 0 {
		return
	}
	for i := len(g.members) - 1; i >= 0; i-- {
		if x := g.members[i]; x.unsynced {
			m.removeMember(g, x)
		}
	}
	m.prepareRebalance(g, "members did not send SyncGroup in time")
}
