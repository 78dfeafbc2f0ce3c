package txn

import "fmt"

// persist is a record on its way into the log: the next values of a transactional id, or its end.
type persist struct {
	id     PersistID
	of     *transaction
	next   values
	remove bool
	reason string

	// then hears the outcome once: nil, the log's refusal, or ErrCoordinatorNotAvailable when it took too long. In that last
	// case the record may still become durable, and then it counts.
	then    func(error)
	untilMs int64
}

func (p *persist) answer(err error) {
	then := p.then
	p.then = nil
	if then != nil {
		then(err)
	}
}

// transit asks for the next values to be made durable. then may be nil.
func (m *Machine) transit(t *transaction, next values, reason string, then func(error)) {
	m.persist(&persist{of: t, next: next, reason: reason, then: then}, record(t.id, &next))
}

func (m *Machine) persist(p *persist, r Record) {
	m.lastID++
	p.id, p.untilMs = m.lastID, m.nowMs+m.config.PersistTimeoutMs
	p.of.pending = p
	m.wait(p.of, never)
	m.persists = append(m.persists, p)
	m.out = append(m.out, Effect{Kind: EffectPersist, ID: p.id, Records: []Record{r}})
}

func (m *Machine) persisted(e *Persisted) {
	if m.unloaded {
		return
	}
	p := m.take(e.ID)
	t := p.of
	t.pending = nil
	if e.Err == nil {
		m.apply(t, p)
	}
	p.answer(e.Err)
	m.settle(t)
}

// apply makes durable values count.
func (m *Machine) apply(t *transaction, p *persist) {
	if p.remove {
		delete(m.byID, t.id)
		return
	}
	t.values = p.next
	m.out = append(m.out, Effect{Kind: EffectChanged, Change: Change{
		TransactionalID: t.id, ProducerID: t.producerID, ProducerEpoch: t.epoch, State: t.state, Reason: p.reason,
	}})
	if t.state.preparing() {
		t.unmark()
	}
}

// settle goes on from where the log now says that a transaction is, and decides what it waits for.
func (m *Machine) settle(t *transaction) {
	switch {
	case m.byID[t.id] != t || t.pending != nil:
	case t.producerID == None: // the record of a new id was refused
		delete(m.byID, t.id)
	case t.state == Ongoing:
		m.wait(t, max(t.startMs+int64(t.timeoutMs), m.nowMs+m.config.MarkerRetryMs)) // the log may have refused to end it
	case t.state.preparing() && t.slot == 0: // else the last record was refused, and is tried again later
		m.mark(t)
	}
}

func (m *Machine) take(id PersistID) *persist {
	for i, p := range m.persists {
		if p.id != id {
			continue
		}
		copy(m.persists[i:], m.persists[i+1:])
		m.persists[len(m.persists)-1] = nil
		m.persists = m.persists[:len(m.persists)-1]
		if i < m.answered {
			m.answered--
		}
		return p
	}
	panic(fmt.Sprintf("txn: Persisted %d without an EffectPersist that waits for it", id))
}

// Idle tells whether no records are on their way.
func (m *Machine) Idle() bool { return len(m.persists) == 0 }
