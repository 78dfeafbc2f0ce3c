package txn

// Load replays one record of the partition's log into a machine that has not been stepped yet, in the order of the log; a nil
// value is a tombstone. ErrUnknownRecord and ErrCorruptRecord tell what was skipped; the machine is then as before. The bytes
// are copied.
func (m *Machine) Load(keyBytes, value []byte) error {
	id, err := parseKey(keyBytes)
	if err != nil {
		return err
	}
	if value == nil {
		delete(m.byID, id)
		return nil
	}
	v, err := parseValue(value)
	if err != nil {
		return err
	}
	m.byID[id] = &transaction{id: id, values: v}
	return nil
}

// loaded starts what a replay can't: timeouts, and the markers that the last coordinator may not have written.
func (m *Machine) loaded() {
	for _, t := range m.sorted() {
		switch {
		case t.state == Ongoing:
			m.wait(t, t.startMs+int64(t.timeoutMs))
		case t.state.preparing():
			t.unmark()
			m.mark(t)
		}
	}
	m.expiryMs = m.nowMs + max(1, m.config.ExpiryCheckIntervalMs)
}

// Snapshot calls yield with the records from which Load makes the durable state of this machine again, until yield returns
// false. So a log can be cut off: append these, then drop what was before them. Not while records are on their way (Idle).
func (m *Machine) Snapshot(yield func(Record) bool) {
	for _, t := range m.sorted() {
		if !yield(record(t.id, &t.values)) {
			return
		}
	}
}

// Transactions is the number of transactional ids.
func (m *Machine) Transactions() int { return len(m.byID) }
