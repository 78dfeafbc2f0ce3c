package wire

import (
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Health is the state of a cluster's partitions as one broker tells it.
type Health struct {
	Partitions int
	NoLeader   int // of them
	NotInSync  int // fewer in the ISR than replicas
	Led        map[int32]int
	Addresses  map[int32]string // of the brokers, by id
}

// Whole says that each of so many partitions has a leader and all its replicas in sync.
func (h *Health) Whole(partitions int) bool {
	return h.Partitions >= partitions && h.NoLeader == 0 && h.NotInSync == 0
}

// Health asks for all topics, or for the ones that are named.
func (c *Conn) Health(topics ...string) (*Health, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	m := res.(*kmsg.MetadataResponse)
	h := &Health{Led: map[int32]int{}, Addresses: map[int32]string{}}
	for _, b := range m.Brokers {
		h.Addresses[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	for _, t := range m.Topics {
		for _, p := range t.Partitions {
			h.Partitions++
			h.Led[p.Leader]++
			if p.Leader < 0 {
				h.NoLeader++
			}
			if len(p.ISR) < len(p.Replicas) {
				h.NotInSync++
			}
		}
	}
	return h, nil
}
