package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// UnregisterBroker, key 64, version 0 (KIP-631).
//
// A broker that isn't fenced is refused with INVALID_REQUEST, where Apache Kafka only waits for it to come back: what it
// has in RAM would be given up with its registration.
func (c *call) unregisterBroker(req *kmsg.UnregisterBrokerRequest) {
	c.Cluster.UnregisterBroker(req.BrokerID, func(err error) {
		resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
		resp.ErrorCode, resp.ErrorMessage = c.code(err), message(err)
		c.answer(resp)
	})
}
