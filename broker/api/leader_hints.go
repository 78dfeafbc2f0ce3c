package api

import (
	"net/netip"

	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/kafka"
)

// leaderHints are the leaders that an answer to Produce (from version 10 on) or Fetch (16) names beside errors, so that the
// client needn't ask for the metadata first (KIP-951). Only errors cost anything.
type leaderHints struct {
	image     *metadata.Image // nil until somebody is named
	endpoints []kafka.Endpoint
}

// reset forgets what was named, and keeps the room.
func (h *leaderHints) reset() {
	clear(h.endpoints)
	h.image, h.endpoints = nil, h.endpoints[:0]
}

// add names the leader of a partition that was not found here, or in another epoch. A topic is known by its name or, if that is
// empty, by its id. Nobody is named who isn't known to lead, nor beside any other error.
func (h *leaderHints) add(cluster Cluster, local netip.AddrPort, code protocol.Code, name []byte, id metadata.TopicID, index int32) kafka.Leader {
	if code != protocol.NotLeaderOrFollower && code != protocol.FencedLeaderEpoch {
		return kafka.Leader{}
	}
	if h.image == nil {
		h.image = cluster.Image()
	}
	var t *metadata.Topic
	if len(name) > 0 {
		t = h.image.TopicBytes(name)
	} else {
		t = h.image.TopicByID(id)
	}
	if !hasPartition(t, index) {
		return kafka.Leader{}
	}
	p := &t.Partitions[index]
	leader := h.image.Broker(h.image.LeaderOf(p))
	if leader == nil {
		return kafka.Leader{}
	}
	h.tell(leader, local)
	return kafka.Leader{Known: true, ID: leader.ID, Epoch: p.LeaderEpoch}
}

// tell adds where a leader is found, once.
func (h *leaderHints) tell(b *metadata.Broker, local netip.AddrPort) {
	for i := range h.endpoints {
		if h.endpoints[i].NodeID == b.ID {
			return
		}
	}
	host, port := endpointFor(b, local)
	h.endpoints = append(h.endpoints, kafka.Endpoint{NodeID: b.ID, Host: host, Port: port, Rack: b.Rack})
}
