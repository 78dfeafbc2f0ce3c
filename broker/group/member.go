package group

import (
	"bytes"
	"slices"
)

// member is one that has joined a group, or did before the last rebalance.
type member struct {
	id         string
	instanceID *string
	clientID   string
	clientHost string

	sessionTimeoutMs   int32
	rebalanceTimeoutMs int32
	protocolType       string
	protocols          []Protocol
	assignment         []byte // of the current generation; replaced as a whole, never written into

	// isNew: it has never got through a join phase. It can't send heartbeats yet, so parking a JoinGroup is no sign of life.
	isNew   bool
	session timer

	join     *parked // its JoinGroup that waits
	sync     *parked // its SyncGroup that waits
	unsynced bool    // has not yet sent SyncGroup in this generation
}

// parked is a request that waits for its answer.
type parked struct{ token any }

// pendingMember is an id that was given out with MEMBER_ID_REQUIRED and has not joined yet.
type pendingMember struct {
	session      timer
	connectionID uint64
	clientID     string
	// superseded: its connection has asked for another id since (librdkafka does that at times). If it comes it is welcome, but
	// nobody waits for it. Kafka lets the group wait a session timeout for it. Forgetting the id outright would be wrong where
	// a proxy has several clients on one connection: they would take each other's ids away for ever.
	superseded bool
}

func (x *member) isStatic() bool { return x.instanceID != nil }

// satisfied: alive without a heartbeat. Whoever has a request parked here needs none.
func (x *member) satisfied() bool { return !x.isNew && (x.join != nil || x.sync != nil) }

// metadata of the member for a protocol; nil if it does not know it.
func (x *member) metadata(protocol string) []byte {
	for _, p := range x.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// update takes over what a new JoinGroup of the member says. All of it: A static member comes back with another client, and
// what DescribeGroups shows and the session timeout that counts are then the new ones.
func (x *member) update(e *Join) {
	x.clientID, x.clientHost = e.ClientID, e.ClientHost
	x.sessionTimeoutMs = e.SessionTimeoutMs
	x.rebalanceTimeoutMs = e.rebalanceTimeoutMs()
	x.protocolType = e.ProtocolType
	x.protocols = cloneProtocols(e.Protocols)
}

func (e *Join) rebalanceTimeoutMs() int32 {
	if e.RebalanceTimeoutMs < 0 {
		return e.SessionTimeoutMs
	}
	return e.RebalanceTimeoutMs
}

func cloneProtocols(from []Protocol) []Protocol {
	to := make([]Protocol, len(from))
	for i, p := range from {
		to[i] = Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)}
	}
	return to
}

// sameProtocols compares order, names and metadata.
func sameProtocols(a, b []Protocol) bool {
	return slices.EqualFunc(a, b, func(x, y Protocol) bool {
		return x.Name == y.Name && bytes.Equal(x.Metadata, y.Metadata)
	})
}
