package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
)

// Heartbeat, key 12, versions 0–4 (KIP-345).
func (c *call) heartbeat(req *kmsg.HeartbeatRequest) {
	resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
	e := &group.Heartbeat{
		GroupID: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation,
	}
	broker.AskCoordinator(c.Broker, req.Group, e, nil, func(_ any, err error) {
		// While the group is loaded nobody can say more than that the coordinator lives, as on Apache Kafka.
		if !errors.Is(err, group.ErrLoading) {
			resp.ErrorCode = c.code(err)
		}
		c.answer(resp)
	})
}
