package api

import (
	"regexp"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/txn"
	"millrace/protocol"
)

// ListTransactions, key 66, versions 0–2 (KIP-664, KIP-994, KIP-1152). The transactional ids that this broker coordinates; clients
// ask each. The pattern of version 2 is of RE2's syntax, as on Apache Kafka, and has to match the whole id.
func (c *call) listTransactions(req *kmsg.ListTransactionsRequest) {
	resp := req.ResponseKind().(*kmsg.ListTransactionsResponse)
	filter := txn.List{ProducerIDs: req.ProducerIDFilters, DurationMs: -1, FilterState: len(req.StateFilters) > 0}
	if req.Version >= 1 {
		filter.DurationMs = req.DurationFilterMillis
	}
	for _, name := range req.StateFilters {
		switch state, known := txn.StateNamed(name); {
		case known:
			filter.States = append(filter.States, state)
		case name == "Dead" || name == "PrepareEpochFence": // Kafka's, and never to be seen
		default:
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, name)
		}
	}
	if p := req.TransactionalIDPattern; req.Version >= 2 && p != nil && *p != "" {
		pattern, err := regexp.Compile(`\A(?:` + *p + `)\z`)
		if err != nil {
			resp.ErrorCode = int16(protocol.InvalidRegularExpression)
			c.answer(resp)
			return
		}
		filter.Pattern = pattern
	}
	c.Broker.ListTransactions(filter, func(listed []txn.Listed, err error) {
		if err != nil {
			resp.ErrorCode = c.code(err)
			listed = nil
		}
		for _, t := range listed {
			resp.TransactionStates = append(resp.TransactionStates, kmsg.ListTransactionsResponseTransactionState{
				TransactionalID: t.TransactionalID, ProducerID: t.ProducerID, TransactionState: t.State.String(),
			})
		}
		c.answer(resp)
	})
}
