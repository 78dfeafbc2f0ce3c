package group

import (
	"maps"
	"slices"
)

// Load replays one record of the partition's log into a machine that has not been stepped yet, in the order of the log; a nil
// value is a tombstone. ErrUnknownRecord and ErrCorruptRecord tell what was skipped; the machine is then as before. The bytes
// are copied.
func (m *Machine) Load(keyBytes, value []byte) error {
	k, err := parseKey(keyBytes)
	if err != nil {
		return err
	}
	switch k.kind {
	case keyGroup:
		return m.loadGroup(k.group, value)
	case keyOffset, keyOffsetOld:
	default:
		return m.loadConsumer(k, value)
	}
	w := offsetWrite{topic: k.topic, partition: k.partition, remove: value == nil}
	if !w.remove {
		if w.value, err = parseOffset(value); err != nil {
			return err
		}
	}
	m.order++
	w.value.order = m.order
	g := m.groups[k.group]
	if g == nil {
		if w.remove {
			return nil
		}
		g, _ = m.group(k.group)
	}
	m.applyRemovals(g, []offsetWrite{w})
	g.apply([]offsetWrite{w})
	return nil
}

func (m *Machine) loadGroup(id string, value []byte) error {
	if value == nil {
		// The group's offsets have tombstones of their own, which come before this one. What is left without, in a log that is
		// compacted, belongs to a group that only commits.
		if g := m.groups[id]; g != nil && g.consumer == nil {
			if g = m.replace(g); len(g.offsets) == 0 && g.unsettled == 0 {
				m.forget(g)
			}
		}
		return nil
	}
	s, err := parseGroup(value)
	if err != nil {
		return err
	}
	g := m.groups[id]
	if g != nil {
		g = m.replace(g)
	} else {
		g, _ = m.group(id)
	}
	g.restore(s)
	for _, x := range g.members {
		x.session.fire = func() { m.sessionExpired(g, x) }
	}
	return nil
}

// replace makes a group a new one, of which nothing is left but its offsets.
func (m *Machine) replace(g *Group) *Group {
	offsets, unsettled := g.offsets, g.unsettled
	g.unsettled = 0 // they are not forgotten
	m.forget(g)
	g, _ = m.group(g.id)
	g.offsets, g.unsettled = offsets, unsettled
	return g
}

// restore makes an empty group the stored one. A group with members was stable when it was stored.
func (g *Group) restore(s storedGroup) {
	g.generation, g.sinceMs = s.generation, s.sinceMs
	if s.protocolType != "" {
		g.protocolType = new(s.protocolType)
	}
	g.protocolName = s.protocolName
	for _, x := range s.members {
		if g.byID[x.id] != nil || x.instanceID != nil && g.static[*x.instanceID] != nil {
			continue
		}
		g.add(&member{
			id: x.id, instanceID: x.instanceID, clientID: x.clientID, clientHost: x.clientHost,
			rebalanceTimeoutMs: x.rebalanceTimeoutMs, sessionTimeoutMs: x.sessionTimeoutMs,
			protocolType: s.protocolType,
			protocols:    []Protocol{{Name: *s.protocolName, Metadata: x.metadata}},
			assignment:   x.assignment,
		})
	}
	if len(g.members) > 0 {
		g.state = Stable
		g.leader = g.members[0].id
		if g.byID[*s.leader] != nil { // else the record is odd, but a group with members has a leader
			g.leader = *s.leader
		}
	}
	g.learnTopics()
}

// loaded starts what a replay can't: the members' sessions, and the look for old offsets.
func (m *Machine) loaded() {
	for _, g := range m.sortedGroups() {
		if g.consumer != nil {
			m.loadedConsumers(g)
			continue
		}
		for _, x := range g.members {
			m.startSession(x)
		}
		if len(g.members) > m.config.MaxSize {
			m.prepareRebalance(g, "loaded with more members than group.max.size")
		}
	}
	m.timers.set(&m.expiry, m.nowMs+max(1, m.config.OffsetsRetentionCheckIntervalMs))
}

// Snapshot calls yield with the records from which Load makes the durable state of this machine again, until yield returns
// false. So a log can be cut off: append these, then drop what was before them. Not while records are on their way (Idle).
//
// A group in the middle of a rebalance is written as empty, for the assignment that it had is no longer known and the next not
// yet. After a failover its members are told that they are unknown and join anew.
func (m *Machine) Snapshot(yield func(Record) bool) {
	for _, g := range m.sortedGroups() {
		if g.consumer != nil {
			for _, r := range g.consumer.records(g.id) {
				if !yield(r) {
					return
				}
			}
		}
		if g.protocolType != nil || g.generation > 0 {
			r := g.record()
			if g.state == PreparingRebalance || g.state == CompletingRebalance {
				r = g.emptied().record()
			}
			if !yield(r) {
				return
			}
		}
		for _, t := range g.fetchAll().Topics {
			for _, p := range t.Partitions {
				w := offsetWrite{topic: t.Name, partition: p.Partition, value: g.offsets[t.Name][p.Partition]}
				if !yield(offsetRecord(g.id, w)) {
					return
				}
			}
		}
	}
}

// emptied is the group as if all its members had left.
func (g *Group) emptied() *Group {
	return &Group{id: g.id, generation: g.generation, protocolType: g.protocolType, sinceMs: g.sinceMs}
}

// Topics are the topics that have a committed offset, each once, in no order.
func (m *Machine) Topics() []string {
	topics := map[string]bool{}
	for _, g := range m.groups {
		for topic := range g.offsets {
			topics[topic] = true
		}
	}
	return slices.Collect(maps.Keys(topics))
}

// Idle tells whether no records are on their way, and no transaction is open: what Snapshot writes is then all there is.
func (m *Machine) Idle() bool { return len(m.persists) == 0 && len(m.unsettled) == 0 }

// Groups is the number of groups.
func (m *Machine) Groups() int { return len(m.groups) }
