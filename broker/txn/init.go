package txn

// init serves InitProducerId: a new id gets a producer id, a known one a new epoch, which fences whoever had the last. What
// such a producer has left open is aborted first.
func (m *Machine) init(e *Init) {
	switch {
	case e.TransactionalID == "", len(e.TransactionalID) > maxString:
		m.reply(e.Token, ErrInvalidRequest, nil)
		return
	case e.TimeoutMs <= 0 || e.TimeoutMs > m.config.MaxTimeoutMs:
		m.reply(e.Token, ErrInvalidTransactionTimeout, nil)
		return
	}
	t := m.byID[e.TransactionalID]
	switch {
	case t == nil:
		m.initNew(e)
	case t.busy():
		m.reply(e.Token, ErrConcurrentTransactions, nil)
	case e.expects() && e.ProducerID != t.producerID && !(e.ProducerID == t.prevProducerID && e.ProducerEpoch >= epochMax-1):
		m.reply(e.Token, ErrProducerFenced, nil)
	case t.state == Ongoing:
		m.fence(t, "InitProducerId", func(err error) {
			if err == nil {
				err = ErrConcurrentTransactions // and the producer asks again
			}
			m.reply(e.Token, err, nil)
		})
	default:
		m.initAgain(t, e)
	}
}

// expects: the producer says which id and epoch it has (KIP-360).
func (e *Init) expects() bool { return e.ProducerID != None || e.ProducerEpoch != None }

// initNew begins with epoch 0, whatever the producer believes to have: the id may have expired.
func (m *Machine) initNew(e *Init) {
	if !e.drawn {
		m.draw(e)
		return
	}
	t := &transaction{id: e.TransactionalID, values: values{
		producerID: None, prevProducerID: None, nextProducerID: None, epoch: None, lastEpoch: None, startMs: -1, updateMs: m.nowMs,
	}}
	m.byID[t.id] = t
	next := t.values
	next.producerID, next.epoch, next.timeoutMs = e.drawnID, 0, e.TimeoutMs
	m.begin(t, e, next)
}

// initAgain raises the epoch of an id whose last transaction, if any, is complete.
func (m *Machine) initAgain(t *transaction, e *Init) {
	next := t.to(Empty, m.nowMs)
	next.timeoutMs, next.startMs, next.partitions, next.version = e.TimeoutMs, -1, nil, 0
	current := !e.expects() || e.ProducerID == t.producerID && e.ProducerEpoch == t.epoch
	switch {
	case t.exhausted() && current:
		if !e.drawn {
			m.draw(e)
			return
		}
		next.prevProducerID, next.producerID, next.epoch, next.lastEpoch = t.producerID, e.drawnID, 0, None
		if e.expects() {
			next.lastEpoch = t.epoch
		}
	case !e.expects():
		next.epoch, next.lastEpoch = t.epoch+1, None
	case current:
		next.epoch, next.lastEpoch = t.epoch+1, t.epoch
	case e.ProducerEpoch == t.lastEpoch:
		// The repetition of a call whose answer was lost, be it with the id before. Nobody else came in between, or lastEpoch
		// would be None.
	default:
		m.reply(e.Token, ErrProducerFenced, nil)
		return
	}
	m.begin(t, e, next)
}

func (m *Machine) begin(t *transaction, e *Init, next values) {
	m.transit(t, next, "InitProducerId", func(err error) {
		if err != nil {
			m.reply(e.Token, err, nil)
			return
		}
		m.reply(e.Token, nil, &InitResult{next.producerID, next.epoch})
	})
}

// fence aborts an open transaction in the name of a producer that comes after the one that has it: by one step of the epoch,
// which is told to nobody. then may be nil.
func (m *Machine) fence(t *transaction, reason string, then func(error)) {
	next := t.to(PrepareAbort, m.nowMs)
	next.epoch, next.lastEpoch, next.version = t.epoch+1, None, 0
	m.transit(t, next, reason, then)
}
