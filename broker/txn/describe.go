package txn

import "slices"

func (m *Machine) describe(e *Describe) {
	t := m.byID[e.TransactionalID]
	switch {
	case e.TransactionalID == "":
		m.reply(e.Token, ErrInvalidRequest, nil)
	case t == nil || t.producerID == None || t.pending != nil && t.pending.remove:
		m.reply(e.Token, ErrTransactionalIDNotFound, nil)
	default:
		m.reply(e.Token, nil, &DescribeResult{State: t.state, TimeoutMs: t.timeoutMs, StartMs: t.startMs,
			ProducerID: t.producerID, ProducerEpoch: t.epoch, Partitions: t.partitions})
	}
}

func (m *Machine) list(e *List) {
	r := &ListResult{}
	for _, t := range m.sorted() {
		if e.wants(t, m.nowMs) {
			r.Transactions = append(r.Transactions, Listed{t.id, t.producerID, t.state})
		}
	}
	m.reply(e.Token, nil, r)
}

func (e *List) wants(t *transaction, nowMs int64) bool {
	switch {
	case t.producerID == None || t.pending != nil && t.pending.remove:
		return false
	case len(e.ProducerIDs) > 0 && !slices.Contains(e.ProducerIDs, t.producerID):
		return false
	case (e.FilterState || len(e.States) > 0) && !slices.Contains(e.States, t.state):
		return false
	case e.DurationMs >= 0 && nowMs-t.startMs <= e.DurationMs:
		return false
	}
	return e.Pattern == nil || e.Pattern.MatchString(t.id)
}
