package group

import (
	"cmp"
	"slices"
)

// How committed offsets go away: with their topic, with their group, or by age.

// tombstones lists the offsets of a group that wanted names, those still on their way into the log among them: their records
// come before the tombstones, so those would bring them back.
func (m *Machine) tombstones(g *Group, wanted func(topic string, partition int32, o offset) bool) []offsetWrite {
	var gone []offsetWrite
	for topic, partitions := range g.offsets {
		for p, o := range partitions {
			if wanted(topic, p, o) {
				gone = append(gone, offsetWrite{topic: topic, partition: p, remove: true})
			}
		}
	}
	if g.inFlight > 0 {
		for _, p := range m.persists {
			for _, w := range p.writes {
				if p.group == g && !w.remove && wanted(w.topic, w.partition, w.value) {
					gone = append(gone, offsetWrite{topic: w.topic, partition: w.partition, remove: true})
				}
			}
		}
	}
	order := func(a, b offsetWrite) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	}
	if g.unsettled > 0 {
		for _, all := range m.unsettled {
			for _, u := range all {
				if w := u.write; u.group == g.id && wanted(w.topic, w.partition, w.value) {
					gone = append(gone, offsetWrite{topic: w.topic, partition: w.partition, remove: true})
				}
			}
		}
	}
	slices.SortFunc(gone, order)
	return slices.CompactFunc(gone, func(a, b offsetWrite) bool { return order(a, b) == 0 })
}

// drop puts tombstones into the log; with remove the group itself goes too.
func (m *Machine) drop(g *Group, gone []offsetWrite, remove bool, then func(error)) {
	records := make([]Record, 0, len(gone)+1)
	for _, w := range gone {
		records = append(records, offsetRecord(g.id, w))
	}
	if remove && g.consumer != nil {
		records = append(records, g.consumer.tombstones(g.id)...)
		g.deleting = true
	} else if remove {
		records = append(records, Record{Key: groupKey(g.id)})
		g.deleting = true
	}
	p := m.persist(g, records, then)
	p.writes, p.remove = gone, remove
}

// removed ends a removal; the events that were held meet what is there now.
func (m *Machine) removed(g *Group, err error) {
	g.deleting = false
	if err == nil {
		m.forget(g)
		m.changed(&Group{id: g.id, state: Dead, generation: g.generation}, "deleted")
	}
	held := g.held
	g.held = nil
	for _, e := range held {
		m.step(e) // it may be held again, by the next one to be deleted
	}
}

// delete serves DeleteGroups.
func (m *Machine) delete(e *Delete) {
	g := m.groups[e.GroupID]
	switch {
	case g == nil:
		m.reply(e.Token, ErrGroupNotFound, nil)
		return
	case g.state != Empty:
		m.reply(e.Token, ErrNonEmptyGroup, nil)
		return
	}
	all := m.tombstones(g, func(string, int32, offset) bool { return true })
	m.drop(g, all, true, func(err error) { m.reply(e.Token, err, nil) })
}

// topicDeleted drops what was committed for a topic that is no more. One that is made again under the same name starts without.
func (m *Machine) topicDeleted(e *TopicDeleted) {
	if m.unloaded {
		return
	}
	for _, g := range m.sortedGroups() {
		gone := m.tombstones(g, func(topic string, _ int32, _ offset) bool { return topic == e.Topic })
		if len(gone) > 0 {
			m.drop(g, gone, false, nil)
		}
	}
}

// expireOffsets runs at each offsets.retention.check.interval.ms: offsets that are too old go, and groups that have nothing left.
func (m *Machine) expireOffsets() {
	for _, g := range m.sortedGroups() {
		if g.inFlight > 0 || g.unsettled > 0 {
			continue // a newer commit may be on its way; the next look will see
		}
		gone := m.tombstones(g, func(topic string, _ int32, o offset) bool { return m.expired(g, topic, o) })
		// A pending id means that somebody is about to join.
		last := g.state == Empty && len(gone) == g.offsetCount() && len(g.pending) == 0
		if len(gone) > 0 || last {
			m.drop(g, gone, last, nil)
		}
	}
	m.timers.set(&m.expiry, m.nowMs+max(1, m.config.OffsetsRetentionCheckIntervalMs))
}

func (g *Group) offsetCount() int {
	n := 0
	for _, partitions := range g.offsets {
		n += len(partitions)
	}
	return n
}

// expired is Kafka's rule (KIP-211): the clock of a group's offsets starts when the last member has gone. While consumers are
// there and stable, offsets of topics that none of them reads may go, by the time of the commit. A group that never had
// members: by the time of the commit.
func (m *Machine) expired(g *Group, topic string, o offset) bool {
	since := o.committedMs
	switch {
	case g.consumer != nil:
		// Kafka goes by the commit alone, and so forgets what a group that seldom commits had, as soon as it is empty.
		if g.state == Empty {
			since = max(since, g.sinceMs)
		}
	case g.protocolType == nil:
	case g.state == Empty:
		if g.sinceMs >= 0 {
			since = g.sinceMs
		}
	case g.state != Stable || !g.knowsTopics:
		return false
	}
	if g.reads(topic) {
		return false
	}
	if o.expiresMs >= 0 {
		return m.nowMs >= o.expiresMs
	}
	return m.nowMs-since >= m.config.OffsetsRetentionMs
}
