package txn

// expire forgets the ids that nobody has used for transactional.id.expiration.ms.
func (m *Machine) expire() {
	for _, t := range m.sorted() {
		if !t.busy() && t.state != Ongoing && m.nowMs-t.updateMs >= m.config.IDExpirationMs {
			m.persist(&persist{of: t, remove: true}, Record{Key: key(t.id)})
		}
	}
	m.expiryMs = m.nowMs + max(1, m.config.ExpiryCheckIntervalMs)
}
