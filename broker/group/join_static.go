package group

import "slices"

// replaceStatic lets a static member that has restarted take its own place again, under a new member id (KIP-345). While the
// group is stable and the newcomer wants the same as before, nobody else notices.
func (m *Machine) replaceStatic(g *Group, x *member, e *Join, newID string) {
	old, oldLeader := *x, g.leader
	oldTopics, oldKnown := g.topicsOf(x)

	// Whoever still waits under the old id is a duplicate with the same instance id: fenced.
	m.answerJoin(g, x, ErrFencedInstanceID, joinError(x.id))
	m.answerSync(x, ErrFencedInstanceID, nil)
	g.rename(x, newID)
	g.change(x, func() { x.update(e) })
	x.isNew = false
	m.markSynced(g, x)
	m.startSession(x)
	m.parkJoin(g, x, e.Token)

	switch g.state {
	case Stable:
		newTopics, newKnown := g.topicsOf(x)
		// Kafka looks at the protocol only, and a follower that comes back with other topics gets what the old one had. So the
		// topics are compared too; not the metadata as a whole, which for sticky assignors differs after each restart.
		same := *g.protocolName == g.vote() && (!oldKnown || !newKnown || slices.Equal(oldTopics, newTopics))
		if !same {
			m.rebalanceOrComplete(g, because("static member "+newID+" came back with other wishes", e.Reason))
			return
		}
		m.storeStatic(g, x, &old, oldLeader, e.SkipAssignment)
	case CompletingRebalance:
		// The leader may be assigning partitions to the old id right now. Start again.
		m.prepareRebalance(g, because("static member "+newID+" came back during a rebalance", e.Reason))
	default:
		m.maybeCompleteJoin(g)
	}
}

// storeStatic answers a replaced static member once its new id is in the log.
func (m *Machine) storeStatic(g *Group, x, old *member, oldLeader string, skipAssignment bool) {
	waiting, generation := x.join, g.generation
	m.persist(g, []Record{g.record()}, func(err error) {
		if x.join != waiting || g.state != Stable || g.generation != generation {
			return // a rebalance came in between; the member has been answered, or will be, as one of those who joined
		}
		if err != nil {
			m.restoreStatic(g, x, old)
			m.answerJoin(g, x, err, &JoinResult{
				Generation: g.generation, ProtocolType: g.protocolType, ProtocolName: g.protocolName, Leader: oldLeader,
			})
			m.startSession(x)
			return
		}
		r := g.joined(x)
		if skipAssignment {
			// A leader gets the list of members, but must not assign again (KIP-814).
			r.SkipAssignment = g.isLeader(x)
		} else {
			// An older client that learned that it leads would assign, and nobody would listen: name the old id as leader.
			r.Leader, r.Members = oldLeader, nil
		}
		m.answerJoin(g, x, nil, r)
	})
}

// restoreStatic takes a replacement back that could not be stored.
func (m *Machine) restoreStatic(g *Group, x, old *member) {
	g.rename(x, old.id)
	g.change(x, func() {
		x.clientID, x.clientHost = old.clientID, old.clientHost
		x.sessionTimeoutMs, x.rebalanceTimeoutMs = old.sessionTimeoutMs, old.rebalanceTimeoutMs
		x.protocolType, x.protocols = old.protocolType, old.protocols
	})
}
