package controller

import (
	"slices"

	"millrace/metadata"
)

// RegisterBroker plans a new registration with the incarnation. An id that was
// asked for may be one that was removed before (an operator means it); the
// controller itself issues such an id never again. It is not for a broker that
// is registered: that is ErrDuplicateBroker.
//
// What an empty cluster left without a leader is taken up by AdoptPartitions
// afterwards.
func (p Policy) RegisterBroker(img *metadata.Image, spec metadata.BrokerSpec, incarnation uint64) ([]metadata.Delta, *metadata.Broker, error) {
	if spec.ID < -1 {
		return nil, nil, metadata.Errorf(metadata.ErrInvalidRegistration, "Broker id %d: an id is 0 or more, or -1 for the next free one.", spec.ID)
	}
	if err := checkEndpoints(spec.Endpoints); err != nil {
		return nil, nil, err
	}
	id := spec.ID
	if id == -1 {
		id = img.FreeBrokerID()
	}
	if b := img.Broker(id); b != nil {
		return nil, nil, metadata.Errorf(metadata.ErrDuplicateBroker, "Broker id %d is in use.", id)
	}
	b := &metadata.Broker{ID: id, Incarnation: incarnation, Rack: spec.Rack, Endpoints: slices.Clone(spec.Endpoints)}
	return []metadata.Delta{metadata.BrokerRegistered{Broker: b}}, b, nil
}

// UpdateEndpoints plans other endpoints for a broker that goes on living.
func (p Policy) UpdateEndpoints(img *metadata.Image, id int32, endpoints []metadata.Endpoint) ([]metadata.Delta, error) {
	b := img.Broker(id)
	if b == nil {
		return nil, errUnknownBroker(id)
	}
	if err := checkEndpoints(endpoints); err != nil {
		return nil, err
	}
	if slices.Equal(endpoints, b.Endpoints) {
		return nil, nil
	}
	next := *b
	next.Endpoints = slices.Clone(endpoints)
	return []metadata.Delta{metadata.BrokerChanged{Broker: &next}}, nil
}

func errUnknownBroker(id int32) error {
	return metadata.Errorf(metadata.ErrUnknownBroker, "There is no broker %d.", id)
}

func checkEndpoints(endpoints []metadata.Endpoint) error {
	for i, e := range endpoints {
		if e.Port < 0 || e.Port > 65535 {
			return metadata.Errorf(metadata.ErrInvalidRegistration, "Port %d of listener %s: a port is 0 to 65535.", e.Port, e.Name)
		}
		for _, other := range endpoints[:i] {
			if other.Name == e.Name {
				return metadata.Errorf(metadata.ErrInvalidRegistration, "Listener %s is named twice.", e.Name)
			}
		}
	}
	return nil
}

// RemoveBroker plans the departure of a broker for good. Partitions whose only
// replica sat there move to the brokers left, round robin; whoever carries it
// out hands their logs over. With no broker left they stay without a leader.
// The moves come before the removal: carried out half, the broker is still there.
func (p Policy) RemoveBroker(img *metadata.Image, id int32) ([]metadata.Delta, error) {
	if img.Broker(id) == nil {
		return nil, errUnknownBroker(id)
	}
	left := slices.DeleteFunc(slices.Clone(img.Brokers()), func(b *metadata.Broker) bool { return b.ID == id })
	place := placement{brokers: left, turn: img.Placed()}
	var deltas []metadata.Delta
	for _, t := range img.Topics() {
		for i := range t.Partitions {
			old := &t.Partitions[i]
			if !old.HasReplica(id) {
				continue
			}
			deltas = append(deltas, metadata.PartitionChanged{
				Name: t.Name, ID: t.ID, Index: int32(i), Partition: place.without(old, id),
			})
		}
	}
	return append(deltas, metadata.BrokerRemoved{ID: id}), nil
}

// without is p after broker id left. Replicas that are left take over in their
// order.
func (pl *placement) without(p *metadata.Partition, id int32) metadata.Partition {
	next := *p
	next.PartitionEpoch++
	next.Revision = 0
	gone := func(r int32) bool { return r == id }
	replicas := slices.DeleteFunc(slices.Clone(p.Replicas), gone)
	isr := slices.DeleteFunc(slices.Clone(p.ISR), gone)
	switch {
	case len(replicas) > 0:
		next.Replicas, next.ISR = replicas, isr
		if p.Leader == id {
			next.Leader = metadata.NoBroker
			if len(isr) > 0 {
				next.Leader = isr[0]
			}
		}
	case len(pl.brokers) > 0:
		moved := pl.partitions(1, 1)[0]
		next.Replicas, next.ISR, next.Leader = moved.Replicas, moved.ISR, moved.Leader
	default:
		next.ISR, next.Leader = nil, metadata.NoBroker
	}
	if next.Leader != p.Leader {
		next.LeaderEpoch++
	}
	return next
}

// AdoptPartitions plans a new home for partitions that lost their last broker:
// no leader, and no replica on a registered broker. Their records are gone
// with it, so the loss generation rises. Without brokers there is nothing to plan.
func (p Policy) AdoptPartitions(img *metadata.Image) []metadata.Delta {
	if len(img.Brokers()) == 0 {
		return nil
	}
	place := newPlacement(img)
	var deltas []metadata.Delta
	for _, t := range img.Topics() {
		for i := range t.Partitions {
			old := &t.Partitions[i]
			alive := func(id int32) bool { return img.Broker(id) != nil }
			if old.Leader != metadata.NoBroker || slices.ContainsFunc(old.ISR, alive) {
				continue
			}
			next := place.partitions(1, 1)[0]
			next.LeaderEpoch, next.PartitionEpoch = old.LeaderEpoch+1, old.PartitionEpoch+1
			next.LossGeneration = old.LossGeneration + 1
			deltas = append(deltas, metadata.PartitionChanged{Name: t.Name, ID: t.ID, Index: int32(i), Partition: next})
		}
	}
	return deltas
}
