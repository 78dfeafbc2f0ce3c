package replica

import (
	"fmt"
	"slices"
)

// metadata takes the partition's state from an image, or what is new in it.
func (m *Machine) metadata(e *Metadata) {
	if e.Revision < m.revision {
		return
	}
	m.revision = e.Revision
	if e.PartitionEpoch < m.partitionEpoch {
		// The answer to a proposal was faster than the image. Registrations are still news.
		m.register(e.Replicas)
	} else {
		m.adopt(e)
	}
	if m.role == Leader {
		m.isrChanged()
	}
}

// adopt makes the partition's state that of e, which is not older.
func (m *Machine) adopt(e *Metadata) {
	newEpoch, lost := e.LeaderEpoch != m.leaderEpoch, e.LossGeneration > m.lossGeneration
	if e.LeaderEpoch < m.leaderEpoch || e.LossGeneration < m.lossGeneration || lost && !newEpoch {
		panic(fmt.Sprintf("replica: partition epoch %d has leader epoch %d and loss generation %d, after %d and %d in %d",
			e.PartitionEpoch, e.LeaderEpoch, e.LossGeneration, m.leaderEpoch, m.lossGeneration, m.partitionEpoch))
	}
	if lost {
		m.lose(e)
	}
	if newEpoch || e.PartitionEpoch != m.partitionEpoch {
		m.dropProposal()
	}
	m.leader, m.leaderEpoch, m.partitionEpoch = e.Leader, e.LeaderEpoch, e.PartitionEpoch
	m.minISR = max(e.MinISR, 1)
	m.offsetCeiling, m.inISR = e.OffsetCeiling, slices.Contains(e.ISR, m.config.Self)
	switch m.roleIn(e) {
	case Leader:
		m.becomeLeader(e, newEpoch)
	case Follower:
		m.becomeFollower(newEpoch)
	default:
		m.becomeOffline()
	}
}

// roleIn is the role that the metadata have for this replica. Leadership is bound to the incarnation (R2): if the leader is
// this broker in an earlier life, there is none until the controller has elected one.
func (m *Machine) roleIn(e *Metadata) Role {
	self := m.config.Self
	switch {
	case e.Leader == self || !ruleLeaderBound && e.Leader.Broker == self.Broker:
		return Leader
	case e.Leader.Broker == NoBroker || e.Leader.Broker == self.Broker:
		return Offline
	}
	for i := range e.Replicas {
		if e.Replicas[i].Broker == self.Broker {
			return Follower
		}
	}
	return Offline
}

// lose obeys a declared loss (R5, R6). Everything that is held belongs to a past that nobody can vouch for; the new log
// begins above every offset that was ever given out. To keep what happens to be left below the high watermark was
// considered: it would need logs with gaps and a truncation across them, for records whose successors are gone.
func (m *Machine) lose(e *Metadata) {
	fresh := m.lossGeneration < 0
	m.lossGeneration = e.LossGeneration
	if fresh && m.end == e.BaseOffset || !ruleLossReset && !fresh {
		return
	}
	m.acks.failAll(m, ErrNotLeader)
	m.stopFetch()
	m.restart(EffectReset, e.BaseOffset, nil)
}

func (m *Machine) setRole(r Role) {
	m.role = r
	m.emit(Effect{Kind: EffectRole, Role: r, LeaderEpoch: m.leaderEpoch})
}

func (m *Machine) becomeLeader(e *Metadata, newEpoch bool) {
	if m.role == Leader && !newEpoch {
		if m.setReplicas(e) {
			m.emit(Effect{Kind: EffectISR})
		}
		return
	}
	m.stopFetch()
	m.forgetReplicas() // what followers had in another epoch says nothing about this one
	m.lead.epochStart, m.hollow = m.end, true
	m.setRole(Leader)
	m.emit(Effect{Kind: EffectBeginEpoch, LeaderEpoch: m.leaderEpoch, Offset: m.end})
	m.setReplicas(e)
	m.emit(Effect{Kind: EffectISR})
	m.armForLag()
}

func (m *Machine) becomeFollower(newEpoch bool) {
	if m.role == Follower && !newEpoch {
		return
	}
	m.leaveLead()
	m.follow.failures = 0
	m.setRole(Follower)
	switch {
	case !ruleTruncateByEpoch && m.high < m.end:
		m.end = m.high
		m.emit(Effect{Kind: EffectTruncate, Offset: m.end})
	case m.hollow:
		// This replica has led and appended nothing, say. The leader may have records of older epochs from here on.
		m.emit(Effect{Kind: EffectTruncate, Offset: m.end})
	}
	m.hollow = false
	m.startFetch()
}

func (m *Machine) becomeOffline() {
	if m.role == Offline {
		return
	}
	m.leaveLead()
	m.stopFetch()
	m.setRole(Offline)
}

// leaveLead ends what only a leader has.
func (m *Machine) leaveLead() {
	if m.role == Leader {
		m.acks.failAll(m, ErrNotLeader)
		m.dropProposal()
		m.forgetReplicas()
	}
}

func (m *Machine) forgetReplicas() {
	m.lead.inSync = 0
	if ruleResetProgress {
		m.lead.replicas = nil
	}
}
