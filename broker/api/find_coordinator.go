package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
	"millrace/protocol"
)

// FindCoordinator, key 10, versions 0–6 (KIP-98, KIP-699, KIP-890, KIP-932).
//
// The first question creates __consumer_offsets and is answered when it is there; Apache Kafka answers with
// COORDINATOR_NOT_AVAILABLE meanwhile, and clients wait before they ask again. The same holds for transactions and
// __transaction_state. Share groups have no coordinators as yet: the answer is INVALID_REQUEST, as Kafka's where they are not
// enabled, rather than a retriable code that would keep clients asking.
func (c *call) findCoordinator(req *kmsg.FindCoordinatorRequest) {
	keys := req.CoordinatorKeys
	if req.Version < 4 {
		keys = []string{req.CoordinatorKey}
	}
	find := c.Broker.FindCoordinators
	switch req.CoordinatorType {
	case coordinatorOfGroups:
	case coordinatorOfTransactions:
		find = c.Broker.FindTransactionCoordinators
	default:
		text := "this broker coordinates groups and transactions only (coordinator types 0 and 1)"
		c.answerCoordinators(req, keys, make([]*metadata.Broker, len(keys)), protocol.InvalidRequest, text)
		return
	}
	find(keys, func(found []*metadata.Broker, err error) {
		if err != nil {
			found = make([]*metadata.Broker, len(keys))
		}
		c.answerCoordinators(req, keys, found, protocol.CoordinatorNotAvailable, "the coordinator is not available")
	})
}

// Types of coordinators, on the wire.
const (
	coordinatorOfGroups       = 0
	coordinatorOfTransactions = 1
)

// answerCoordinators answers with a broker for each key, or with the error where there is none.
func (c *call) answerCoordinators(req *kmsg.FindCoordinatorRequest, keys []string, found []*metadata.Broker,
	code protocol.Code, text string) {
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	for i, key := range keys {
		rc := kmsg.NewFindCoordinatorResponseCoordinator()
		rc.Key, rc.NodeID, rc.Port = key, -1, -1
		if b := found[i]; b != nil {
			rc.NodeID, rc.ErrorMessage = b.ID, new("")
			rc.Host, rc.Port = c.endpoint(b)
		} else {
			rc.ErrorCode, rc.ErrorMessage = int16(code), &text
		}
		resp.Coordinators = append(resp.Coordinators, rc)
	}
	if req.Version < 4 {
		only := resp.Coordinators[0]
		resp.NodeID, resp.Host, resp.Port = only.NodeID, only.Host, only.Port
		resp.ErrorCode, resp.ErrorMessage = only.ErrorCode, only.ErrorMessage
		if only.ErrorCode == 0 {
			resp.ErrorMessage = new("NONE") // Kafka's text for success
		}
	}
	c.answer(resp)
}
