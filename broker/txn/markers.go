package txn

// unmark notes that all the partitions need their marker.
func (t *transaction) unmark() {
	t.unmarked = make(map[Partition]bool, len(t.partitions))
	for _, p := range t.partitions {
		t.unmarked[p] = true
	}
}

// mark asks for the markers that are to be asked for, and for the record of the completion when none is left.
func (m *Machine) mark(t *transaction) {
	if t.fenced {
		return
	}
	if len(t.unmarked) == 0 {
		m.complete(t)
		return
	}
	var ask []Partition
	for _, p := range t.partitions {
		if t.unmarked[p] {
			t.unmarked[p] = false
			ask = append(ask, p)
		}
	}
	if len(ask) == 0 {
		return
	}
	m.out = append(m.out, Effect{Kind: EffectMarkers, Marker: Marker{
		TransactionalID: t.id, ProducerID: t.producerID, ProducerEpoch: t.epoch, Commit: t.state == PrepareCommit,
		Version: t.version, Partitions: ask,
	}})
}

// marked takes what became of markers. What is about a transaction that isn't in that state any more is passed over.
func (m *Machine) marked(e *Marked) {
	t := m.byID[e.TransactionalID]
	if m.unloaded || t == nil || !t.state.preparing() || t.producerID != e.ProducerID || t.epoch != e.ProducerEpoch || t.pending != nil {
		return
	}
	again := false
	for _, r := range e.Results {
		switch _, waits := t.unmarked[r.Partition]; {
		case !waits:
		case r.Outcome == MarkerWritten, r.Outcome == MarkerGone:
			delete(t.unmarked, r.Partition)
		case r.Outcome == MarkerFenced:
			// A later coordinator decides. This one will hear that it is none; until then the id stays as it is.
			t.fenced = true
			m.wait(t, never)
			return
		default:
			t.unmarked[r.Partition] = true
			again = true
		}
	}
	switch {
	case len(t.unmarked) == 0:
		m.mark(t)
	case again && t.slot == 0:
		m.wait(t, m.nowMs+m.config.MarkerRetryMs)
	}
}

// complete makes it durable that all the markers are there. A log that refuses is tried again.
func (m *Machine) complete(t *transaction) {
	m.transit(t, t.completed(m.nowMs), "markers written", func(err error) {
		if err != nil {
			m.wait(t, m.nowMs+m.config.MarkerRetryMs)
		}
	})
}
