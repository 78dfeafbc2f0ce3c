package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// InitProducerId, key 22, versions 0–5 (KIP-98, KIP-360).
//
// Idempotent producers only: a transactional id is refused, since there is no transaction coordinator yet.
func (c *call) initProducerID(req *kmsg.InitProducerIDRequest) {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if req.TransactionalID != nil {
		resp.ErrorCode = int16(protocol.InvalidRequest)
		c.answer(resp)
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
