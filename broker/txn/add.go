package txn

// add serves AddPartitionsToTxn and AddOffsetsToTxn: the first partition begins a transaction.
func (m *Machine) add(e *Add) {
	t := m.byID[e.TransactionalID]
	switch {
	case e.TransactionalID == "":
		m.reply(e.Token, ErrInvalidRequest, nil)
	case t == nil:
		m.reply(e.Token, ErrInvalidProducerIDMapping, nil)
	case t.busy() && !e.VerifyOnly:
		m.reply(e.Token, ErrConcurrentTransactions, nil)
	case t.producerID != e.ProducerID:
		m.reply(e.Token, ErrInvalidProducerIDMapping, nil)
	case t.epoch != e.ProducerEpoch:
		m.reply(e.Token, ErrProducerFenced, nil)
	case e.VerifyOnly:
		m.verify(t, e)
	default:
		m.addTo(t, e)
	}
}

// verify answers a partition's leader that has a batch of the producer's (KIP-890).
func (m *Machine) verify(t *transaction, e *Add) {
	if t.state.preparing() {
		m.reply(e.Token, ErrConcurrentTransactions, nil)
		return
	}
	r := &AddResult{Errs: make([]error, len(e.Partitions))}
	for i, p := range e.Partitions {
		if !has(t.partitions, p) {
			r.Errs[i] = ErrTransactionAbortable
		}
	}
	m.reply(e.Token, nil, r)
}

func (m *Machine) addTo(t *transaction, e *Add) {
	r := &AddResult{Errs: make([]error, len(e.Partitions))}
	partitions := with(t.partitions, e.Partitions)
	if t.state == Ongoing && len(partitions) == len(t.partitions) {
		m.reply(e.Token, nil, r)
		return
	}
	next := t.to(Ongoing, m.nowMs)
	next.partitions, next.version = partitions, e.Version
	if t.state != Ongoing {
		next.startMs = m.nowMs
	}
	m.transit(t, next, "partitions added", func(err error) {
		if err != nil {
			m.reply(e.Token, err, nil)
			return
		}
		m.reply(e.Token, nil, r)
	})
}
