package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/txn"
	"millrace/protocol"
)

// InitProducerId, key 22, versions 0–5 (KIP-98, KIP-360, KIP-890).
func (c *call) initProducerID(req *kmsg.InitProducerIDRequest) {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if (req.ProducerID == txn.None) != (req.ProducerEpoch == txn.None) { // one says nothing without the other
		resp.ErrorCode = int16(protocol.InvalidRequest)
		c.answer(resp)
		return
	}
	if req.TransactionalID != nil {
		e := &txn.Init{TransactionalID: *req.TransactionalID, TimeoutMs: req.TransactionTimeoutMillis,
			ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch}
		broker.AskTransactions(c.Broker, e.TransactionalID, e, func(r *txn.InitResult, err error) {
			if err != nil {
				resp.ErrorCode = c.codeFenced(err, req.Version >= 4)
			} else {
				resp.ProducerID, resp.ProducerEpoch = r.ProducerID, r.ProducerEpoch
			}
			c.answer(resp)
		})
		return
	}
	c.Broker.NextProducerID(func(id int64, err error) {
		if err != nil {
			resp.ErrorCode = c.code(err)
		} else {
			resp.ProducerID, resp.ProducerEpoch = id, 0
		}
		c.answer(resp)
	})
}

// codeFenced is the code of an error where older clients don't know PRODUCER_FENCED (KIP-588).
func (c *call) codeFenced(err error, known bool) int16 {
	code := c.code(err)
	if protocol.Code(code) == protocol.ProducerFenced && !known {
		code = int16(protocol.InvalidProducerEpoch)
	}
	return code
}
