package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/txn"
)

// EndTxn, key 26, versions 0–5 (KIP-98, KIP-890). From version 5 on each transaction has an epoch of its own, and the answer
// says with which to go on.
func (c *call) endTxn(req *kmsg.EndTxnRequest) {
	resp := req.ResponseKind().(*kmsg.EndTxnResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	e := &txn.End{TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch, Commit: req.Commit}
	if req.Version >= 5 {
		e.Version = 2
	}
	broker.AskTransactions(c.Broker, e.TransactionalID, e, func(r *txn.EndResult, err error) {
		if err != nil {
			resp.ErrorCode = c.codeFenced(err, req.Version >= 2)
		} else {
			resp.ProducerID, resp.ProducerEpoch = r.ProducerID, r.ProducerEpoch
		}
		c.answer(resp)
	})
}
