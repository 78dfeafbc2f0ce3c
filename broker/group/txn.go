package group

import (
	"errors"
	"slices"
)

// Offsets that are committed within a transaction (KIP-98, KIP-447). Their records are in the log as soon as they are
// committed, in batches of the transaction, and count from the transaction's marker on. Until then they are unsettled: who
// wants stable offsets is told to ask again.

// unsettled is an offset of a transaction that has not ended.
type unsettled struct {
	group string
	write offsetWrite
}

func (m *Machine) commitInTransaction(e *TxnCommit) {
	g := m.groups[e.GroupID]
	if err := m.checkTxnCommit(g, e); err != nil {
		m.reply(e.Token, err, nil)
		return
	}
	r, writes := m.judgeCommit(&e.Commit)
	if len(writes) == 0 {
		m.reply(e.Token, nil, r)
		return
	}
	if g == nil {
		g, _ = m.group(e.GroupID)
	}
	m.persistWrites(g, writes, e.Token, r)
	f := &m.out[len(m.out)-1]
	f.Transactional, f.ProducerID, f.ProducerEpoch = true, e.ProducerID, e.ProducerEpoch
	m.persists[len(m.persists)-1].transaction = &e.ProducerID
}

// checkTxnCommit says who may commit. Producers of before version 3 know of no group members, so without any of it the
// transaction is enough; and a rebalance that is under way is no obstacle.
func (m *Machine) checkTxnCommit(g *Group, e *TxnCommit) error {
	switch {
	case len(e.GroupID) > maxString:
		return ErrInvalidGroupID
	case g == nil && e.Generation < 0:
		return nil // it becomes a simple group
	case g == nil:
		return ErrIllegalGeneration
	case e.Generation < 0 && (g.state == Empty || e.MemberID == "" && e.InstanceID == nil):
		return nil
	case g.consumer != nil:
		err := g.consumer.checkCommit(&e.Commit, m.topics)
		if errors.Is(err, ErrStaleMemberEpoch) { // its clients know no epochs of members
			err = ErrIllegalGeneration
		}
		return err
	}
	if err := g.check(e.MemberID, e.InstanceID); err != nil {
		return err
	}
	if e.Generation != g.generation {
		return ErrIllegalGeneration
	}
	return nil
}

// unsettle keeps what is in the log of a transaction, until its marker.
func (m *Machine) unsettle(producerID int64, g *Group, writes []offsetWrite) {
	for _, w := range writes {
		m.unsettled[producerID] = append(m.unsettled[producerID], unsettled{g.id, w})
	}
	g.unsettled += len(writes)
}

// transactionEnded is a marker: the transaction's offsets count, or are forgotten.
func (m *Machine) transactionEnded(e *TransactionEnded) {
	if !m.unloaded {
		m.settleTransaction(e.ProducerID, e.Commit)
	}
}

func (m *Machine) settleTransaction(producerID int64, commit bool) {
	all := m.unsettled[producerID]
	delete(m.unsettled, producerID)
	for _, u := range all {
		g := m.groups[u.group]
		g.unsettled--
		// What was committed later by somebody else stays.
		if now, there := g.offsets[u.write.topic][u.write.partition]; commit && (!there || now.order < u.write.value.order) {
			g.apply([]offsetWrite{u.write})
		}
	}
	for _, u := range all {
		if g := m.groups[u.group]; g != nil {
			m.forgetIfUnused(g)
		}
	}
}

// dropUnsettled forgets the offsets of a group that a tombstone is about, or all of it.
func (m *Machine) dropUnsettled(g *Group, gone func(topic string, partition int32) bool) {
	if g.unsettled == 0 {
		return
	}
	for id, all := range m.unsettled {
		left := slices.DeleteFunc(all, func(u unsettled) bool {
			drop := u.group == g.id && gone(u.write.topic, u.write.partition)
			if drop {
				g.unsettled--
			}
			return drop
		})
		if m.unsettled[id] = left; len(left) == 0 {
			delete(m.unsettled, id)
		}
	}
}

// applyRemovals lets tombstones count for unsettled offsets, too.
func (m *Machine) applyRemovals(g *Group, writes []offsetWrite) {
	if g.unsettled == 0 {
		return
	}
	for _, w := range writes {
		if w.remove {
			m.dropUnsettled(g, func(topic string, partition int32) bool { return topic == w.topic && partition == w.partition })
		}
	}
}

// unstable tells whether a partition's offset may be another one soon.
func (m *Machine) unstable(g *Group, topic string, partition int32) bool {
	if g == nil || g.unsettled == 0 {
		return false
	}
	for _, all := range m.unsettled {
		if slices.ContainsFunc(all, func(u unsettled) bool {
			return u.group == g.id && u.write.topic == topic && u.write.partition == partition
		}) {
			return true
		}
	}
	return false
}

// LoadTransactional is Load for a record of a batch that belongs to a transaction.
func (m *Machine) LoadTransactional(producerID int64, keyBytes, value []byte) error {
	k, err := parseKey(keyBytes)
	if err != nil {
		return err
	}
	if k.kind == keyGroup || value == nil {
		return ErrUnknownRecord // nobody writes these in a transaction
	}
	w := offsetWrite{topic: k.topic, partition: k.partition}
	if w.value, err = parseOffset(value); err != nil {
		return err
	}
	m.order++
	w.value.order = m.order
	g, _ := m.group(k.group)
	m.unsettle(producerID, g, []offsetWrite{w})
	return nil
}

// LoadMarker is Load for a transaction's marker.
func (m *Machine) LoadMarker(producerID int64, commit bool) { m.settleTransaction(producerID, commit) }
