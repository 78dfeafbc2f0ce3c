package replica

import (
	"errors"
	"slices"
)

// proposal is the AlterPartition that is on its way. One at a time: the next builds on the partition epoch that this one
// leads to.
//
// A proposal to let a replica in binds the leader from the moment it is sent (see advance) until the partition epoch moves
// on. A refusal alone doesn't free it: an older copy of the same proposal may still arrive when the replica has become
// eligible. So what follows a refusal is a proposal that lets nobody in, sent even if it changes nothing; once that is
// accepted no copy of the first can be.
type proposal struct {
	Proposal
	pending bool
	dueMs   int64 // when it is sent again
}

// reconsider proposes what is called for, unless a proposal is on its way.
func (m *Machine) reconsider() {
	if m.role != Leader || m.lead.proposal.pending {
		return
	}
	shrink, refused, grow := false, false, false
	for i := range m.lead.replicas {
		r := &m.lead.replicas[i]
		shrink = shrink || m.mustLeave(r)
		refused = refused || r.proposed != 0
		grow = grow || m.mayJoin(r)
	}
	// Removals go alone, so that they are not refused for the sake of one who joins.
	grow = grow && !shrink && !refused
	if ceiling := m.wantCeiling(); shrink || refused || grow || ceiling > m.offsetCeiling {
		m.propose(grow, ceiling)
	}
}

// mustLeave: a member that lags.
func (m *Machine) mustLeave(r *follower) bool { return r.isr != 0 && m.lags(r) }

// void: it is in the ISR in a life that is over (R1). It doesn't count, and taking it out is the controller's business.
func (r *follower) void() bool { return r.isr != r.registered && ruleFetchIncarnation }

// mayJoin: a replica joins when it has everything that may have been committed. That is what is below the high watermark,
// and, while that is still to catch up with what an earlier leader committed, everything below the start of this leader's
// epoch. It must have fetched in this epoch, in the incarnation that is registered (r.end tells of no other); and it must
// not lag, or it would be thrown out again at once.
func (m *Machine) mayJoin(r *follower) bool {
	return r.isr == 0 && r.proposed == 0 && m.eligible(r) && r.end >= 0 && (r.end >= m.high || !ruleJoinAtHigh) &&
		(r.end >= m.lead.epochStart && !m.lags(r) || !ruleJoinAtEpochStart) // the second implies the first
}

func (m *Machine) wantCeiling() int64 {
	if m.offsetCeiling == never || m.end+m.config.OffsetCeilingStep/2 <= m.offsetCeiling {
		return m.offsetCeiling
	}
	return m.offsetCeiling + m.config.OffsetCeilingStep
}

func (m *Machine) propose(grow bool, ceiling int64) {
	p := &m.lead.proposal
	p.ID++
	p.LeaderEpoch, p.PartitionEpoch, p.OffsetCeiling = m.leaderEpoch, m.partitionEpoch, ceiling
	p.ISR = p.ISR[:0]
	if m.inISR {
		p.ISR = append(p.ISR, m.config.Self)
	}
	for i := range m.lead.replicas {
		r := &m.lead.replicas[i]
		switch {
		case r.isr != 0 && !m.mustLeave(r) && !r.void():
			p.ISR = append(p.ISR, Member{r.id, r.isr})
		case grow && m.mayJoin(r):
			r.proposed = r.registered
			p.ISR = append(p.ISR, Member{r.id, r.registered})
		}
	}
	p.pending = true
	m.sendProposal()
}

func (m *Machine) sendProposal() {
	p := &m.lead.proposal
	p.dueMs = m.nowMs + m.config.AlterRetryMs
	m.arm(p.dueMs)
	m.emit(Effect{Kind: EffectAlterPartition, Proposal: &p.Proposal})
}

// proposalDue sends a proposal again that nobody has answered. Should the first copy have been accepted, this one is refused
// for its partition epoch, and the metadata tell the rest.
func (m *Machine) proposalDue() {
	p := &m.lead.proposal
	if !p.pending {
		return
	}
	if m.nowMs >= p.dueMs {
		m.sendProposal()
		return
	}
	m.arm(p.dueMs)
}

// dropProposal ends it because the partition epoch has moved on: it has been carried out, or never will be.
func (m *Machine) dropProposal() {
	m.lead.proposal.pending = false
	for i := range m.lead.replicas {
		m.lead.replicas[i].proposed = 0
	}
}

func (m *Machine) alterAnswer(e *AlterAnswer) {
	p := &m.lead.proposal
	if m.role != Leader || !p.pending || e.ID != p.ID {
		return
	}
	switch {
	case e.Err == nil:
		m.accepted(e.PartitionEpoch)
	case errors.Is(e.Err, ErrIneligibleReplica):
		m.refused()
	}
}

// refused: a member is not eligible. If somebody was to join it is left alone for a while, since what is known of it may be
// out of date. If nobody was, the metadata are about to tell who of the ISR has left; until then another proposal would
// fare no better, so this one counts as unanswered.
func (m *Machine) refused() {
	p := &m.lead.proposal
	for i := range m.lead.replicas {
		r := &m.lead.replicas[i]
		if r.isr != 0 || r.proposed == 0 || !slices.Contains(p.ISR, Member{r.id, r.proposed}) {
			continue
		}
		p.pending = false
		r.quietMs = m.nowMs + m.config.AlterRetryMs
		m.arm(r.quietMs)
		if !ruleWithdraw {
			r.proposed = 0
		}
	}
	m.reconsider()
	m.advance()
}

// accepted makes the proposal the partition's state, before the image says so.
func (m *Machine) accepted(partitionEpoch int32) {
	p := &m.lead.proposal
	m.partitionEpoch, m.offsetCeiling = partitionEpoch, p.OffsetCeiling
	changed := false
	for i := range m.lead.replicas {
		r := &m.lead.replicas[i]
		was := r.isr
		r.isr = 0
		for _, member := range p.ISR {
			if member.Broker == r.id {
				r.isr = member.Incarnation
			}
		}
		changed = changed || was != r.isr
	}
	m.dropProposal()
	if changed {
		m.emit(Effect{Kind: EffectISR})
	}
	m.isrChanged()
}

// isrChanged follows every change of the ISR, of min.insync.replicas and of registrations. Produces that wait for more
// replicas than there are now in the ISR are told at once; KIP-966 would let them wait until they time out.
func (m *Machine) isrChanged() {
	m.lead.inSync = 0
	if m.inISR {
		m.lead.inSync = 1
	}
	for i := range m.lead.replicas {
		if r := &m.lead.replicas[i]; r.isr != 0 && !r.void() {
			m.lead.inSync++
		}
	}
	if m.lead.inSync < m.minISR {
		m.acks.failAll(m, ErrNotEnoughReplicasAfterAppend)
	}
	m.advance()
	m.reconsider()
}
