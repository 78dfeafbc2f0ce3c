package txn

// end serves EndTxn. It is answered as soon as the decision is durable; the markers follow.
func (m *Machine) end(e *End) {
	t := m.byID[e.TransactionalID]
	switch {
	case e.TransactionalID == "":
		m.reply(e.Token, ErrInvalidRequest, nil)
	case t == nil:
		m.reply(e.Token, ErrInvalidProducerIDMapping, nil)
	case e.Version >= 2:
		m.endRaising(t, e)
	default:
		m.endSame(t, e)
	}
}

// endSame ends a transaction of a client of before KIP-890: all transactions of a producer have one epoch, so what repeats the
// last EndTxn can't be told from what comes late.
func (m *Machine) endSame(t *transaction, e *End) {
	switch {
	case t.producerID != e.ProducerID:
		m.reply(e.Token, ErrInvalidProducerIDMapping, nil)
	case t.epoch != e.ProducerEpoch:
		m.reply(e.Token, ErrProducerFenced, nil)
	case t.busy():
		m.reply(e.Token, ErrConcurrentTransactions, nil)
	case t.state == Ongoing:
		m.prepare(t, e)
	case t.state == e.complete():
		m.reply(e.Token, nil, &EndResult{t.producerID, t.epoch})
	default:
		m.reply(e.Token, ErrInvalidTxnState, nil)
	}
}

// endRaising ends a transaction by the rules of KIP-890: each one has an epoch of its own. So the epoch before the current one
// says that this EndTxn repeats the last.
func (m *Machine) endRaising(t *transaction, e *End) {
	raised := t.version >= 2 && t.epoch == e.ProducerEpoch+1 && t.producerID == e.ProducerID
	overflowed := t.prevProducerID == e.ProducerID && e.ProducerEpoch == epochMax-1 && t.epoch == 0
	repeated := (raised || overflowed) && (t.state == CompleteCommit || t.state == CompleteAbort)
	switch {
	case t.busy():
		m.reply(e.Token, ErrConcurrentTransactions, nil)
	case t.producerID != e.ProducerID && !overflowed:
		m.reply(e.Token, ErrInvalidProducerIDMapping, nil)
	case t.epoch != e.ProducerEpoch && !repeated:
		m.reply(e.Token, ErrProducerFenced, nil)
	case repeated && t.state == e.complete():
		m.reply(e.Token, nil, &EndResult{t.producerID, t.epoch})
	case !repeated && (t.state == Ongoing || !e.Commit): // an abort without a partition raises the epoch, too
		m.prepare(t, e)
	default:
		m.reply(e.Token, ErrInvalidTxnState, nil)
	}
}

// complete is the state that the event wants to come to.
func (e *End) complete() State {
	if e.Commit {
		return CompleteCommit
	}
	return CompleteAbort
}

// prepare makes the decision durable.
func (m *Machine) prepare(t *transaction, e *End) {
	to, reason := PrepareAbort, "EndTxn aborts"
	if e.Commit {
		to, reason = PrepareCommit, "EndTxn commits"
	}
	next := t.to(to, m.nowMs)
	next.version = e.Version
	if t.state != Ongoing {
		next.startMs = m.nowMs
	}
	if e.Version >= 2 {
		if t.exhausted() {
			if !e.drawn {
				m.draw(e)
				return
			}
			next.nextProducerID = e.drawnID
		}
		next.epoch, next.lastEpoch = t.epoch+1, t.epoch
	}
	m.transit(t, next, reason, func(err error) {
		if err != nil {
			m.reply(e.Token, err, nil)
			return
		}
		after := next.completed(m.nowMs)
		m.reply(e.Token, nil, &EndResult{after.producerID, after.epoch})
	})
}
