package group

import "fmt"

// persist is a set of records on its way into the log.
type persist struct {
	id     PersistID
	group  *Group
	writes []offsetWrite // committed offsets that count once the records are durable
	remove bool          // the group goes with them
	state  []Record      // of a consumer group: what it owes the log if these are refused

	transaction *int64 // the producer whose transaction the writes belong to; nil: none

	// then hears the outcome once: nil, the log's refusal, or ErrCoordinatorNotAvailable when it took too long. In that last case
	// the records may still become durable, and then their writes count.
	then []func(error)

	timeout timer
}

// persist asks for records to be made durable.
func (m *Machine) persist(g *Group, records []Record, then func(error)) *persist {
	m.lastID++
	p := &persist{id: m.lastID, group: g}
	if then != nil {
		p.then = append(p.then, then)
	}
	p.timeout.fire = func() { p.answer(ErrCoordinatorNotAvailable) }
	m.timers.set(&p.timeout, m.nowMs+m.config.OffsetCommitTimeoutMs)
	g.inFlight++
	m.persists = append(m.persists, p)
	m.out = append(m.out, Effect{Kind: EffectPersist, ID: p.id, Records: records})
	return p
}

func (p *persist) answer(err error) {
	then := p.then
	p.then = nil
	for _, f := range then {
		f(err)
	}
}

func (m *Machine) persisted(e *Persisted) {
	if m.unloaded {
		return
	}
	p := m.takePersist(e.ID)
	g := p.group
	g.inFlight--
	m.timers.cancel(&p.timeout)
	switch {
	case e.Err == nil && p.transaction != nil:
		m.unsettle(*p.transaction, g, p.writes)
	case e.Err == nil:
		m.applyRemovals(g, p.writes)
		g.apply(p.writes)
	case p.state != nil && g.consumer != nil:
		m.owe(g, p.state)
	}
	p.answer(e.Err)
	if p.remove {
		m.removed(g, e.Err)
	}
	m.forgetIfUnused(g)
}

func (m *Machine) takePersist(id PersistID) *persist {
	for i, p := range m.persists {
		if p.id == id {
			copy(m.persists[i:], m.persists[i+1:])
			m.persists[len(m.persists)-1] = nil
			m.persists = m.persists[:len(m.persists)-1]
			return p
		}
	}
	panic(fmt.Sprintf("group: Persisted %d without an EffectPersist that waits for it", id))
}

// lastPersist is the youngest set of records of a group that is still on its way.
func (m *Machine) lastPersist(g *Group) *persist {
	if g.inFlight == 0 {
		return nil
	}
	for i := len(m.persists) - 1; i >= 0; i-- {
		if m.persists[i].group == g {
			return m.persists[i]
		}
	}
	return nil
}
