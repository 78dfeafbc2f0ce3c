package controller

import (
	"slices"

	"millrace/metadata"
)

// RegisterBroker plans a new registration with the incarnation. An id that was
// asked for may be one that was removed before (an operator means it); the
// controller itself issues such an id never again.
//
// An id that is in use goes to a broker that restarted: it is a new life, and with
// this one write everything of the old one is void. It is refused
// (ErrDuplicateBroker) while the one that has it may be alive: it isn't fenced,
// and was registered with another address (metadata.BrokerSpec.Replace). To register
// again in the same life updates rack and endpoints, and ends a fence or a drain.
//
// What follows for partitions is planned by Settle afterwards.
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
	b := &metadata.Broker{ID: id, Incarnation: incarnation, Rack: spec.Rack, Endpoints: slices.Clone(spec.Endpoints)}
	var delta metadata.Delta = metadata.BrokerRegistered{Broker: b}
	if old := img.Broker(id); old != nil && old.Incarnation == incarnation {
		delta = metadata.BrokerChanged{Broker: b}
	} else if old != nil && !replaces(spec, old) {
		return nil, nil, metadata.Errorf(metadata.ErrDuplicateBroker, "Broker id %d is in use.", id)
	}
	deltas := []metadata.Delta{delta}
	if spec.Lease != 0 {
		deltas = append(deltas, metadata.BrokerAlive{ID: id, Incarnation: incarnation, Lease: spec.Lease})
	}
	return deltas, b, nil
}

func replaces(spec metadata.BrokerSpec, old *metadata.Broker) bool {
	return spec.Replace || old.Fenced || len(old.Endpoints) > 0 && slices.Equal(spec.Endpoints, old.Endpoints)
}

// Announce plans a new sign of life for a broker whose old one ended although it
// lives. Errors: ErrUnknownBroker, ErrStaleBrokerEpoch (it has to register).
func (p Policy) Announce(img *metadata.Image, m metadata.Member, lease metadata.LeaseID) ([]metadata.Delta, error) {
	if _, err := registered(img, m); err != nil {
		return nil, err
	}
	return []metadata.Delta{metadata.BrokerAlive{ID: m.Broker, Incarnation: m.Incarnation, Lease: lease}}, nil
}

// registered finds the registration of a broker in this life.
func registered(img *metadata.Image, m metadata.Member) (*metadata.Broker, error) {
	b := img.Broker(m.Broker)
	if b == nil {
		return nil, errUnknownBroker(m.Broker)
	}
	if b.Incarnation != m.Incarnation {
		return nil, metadata.Errorf(metadata.ErrStaleBrokerEpoch, "Broker %d has registered again: it is %v now, and not %v.", m.Broker, b.Member(), m)
	}
	return b, nil
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

// FenceBrokers plans that brokers lead nothing and are in no ISR: they weren't heard
// of, or were seen dead. Nothing is said about their RAM: the incarnation stays,
// and so do entries in the ELR. A member that isn't registered, in this life, is
// passed over; for one that is fenced already the rest is planned that may be
// missing. Those that fall together should be fenced together, so that nobody is elected
// who is about to be fenced too.
func (p Policy) FenceBrokers(img *metadata.Image, members []metadata.Member) []metadata.Delta {
	var deltas []metadata.Delta
	next := img
	for _, m := range members {
		if b, err := registered(next, m); err == nil && !b.Fenced {
			fenced := *b
			fenced.Fenced = true
			deltas = append(deltas, metadata.BrokerChanged{Broker: &fenced})
			next = next.Apply(deltas[len(deltas)-1])
		}
	}
	return append(deltas, p.Settle(next)...)
}

// UnfenceBroker plans that a broker takes part again, with all the RAM that it
// has. Settle plans what follows.
// Errors: ErrUnknownBroker, ErrStaleBrokerEpoch.
func (p Policy) UnfenceBroker(img *metadata.Image, m metadata.Member) ([]metadata.Delta, error) {
	b, err := registered(img, m)
	if err != nil || !b.Fenced {
		return nil, err
	}
	back := *b
	back.Fenced = false
	return []metadata.Delta{metadata.BrokerChanged{Broker: &back}}, nil
}

// UnregisterBroker plans that a fenced broker is given up (KIP-185's api key 64):
// whatever it has in RAM doesn't count any more, which may turn an offline
// partition into a declared loss. Its places go to others, as far as there are any, when
// Settle plans what follows; it may register again.
// Errors: ErrUnknownBroker, ErrInvalidRequest while it isn't fenced.
func (p Policy) UnregisterBroker(img *metadata.Image, id int32) ([]metadata.Delta, error) {
	b := img.Broker(id)
	if b == nil {
		return nil, errUnknownBroker(id)
	}
	if !b.Fenced {
		return nil, metadata.Errorf(metadata.ErrInvalidRequest, "Broker %d is alive: drain it, or remove it.", id)
	}
	return []metadata.Delta{metadata.BrokerRemoved{ID: id}}, nil
}

// RemoveBroker plans the departure of a broker for good. Its place among a
// partition's replicas goes to a broker that has none, round robin. If it had the
// only copy, that broker takes over its log in RAM, unless NoHandover.
// The moves come before the removal: carried out half, the broker is still there. What
// is lost with it isn't declared before it is gone, by Settle.
func (p Policy) RemoveBroker(img *metadata.Image, id int32) ([]metadata.Delta, error) {
	b := img.Broker(id)
	if b == nil {
		return nil, errUnknownBroker(id)
	}
	removed := metadata.BrokerRemoved{ID: id}
	j := p.judge(img.Apply(removed))
	var deltas []metadata.Delta
	for _, t := range img.Topics() {
		for i := range t.Partitions {
			if !t.Partitions[i].HasReplica(id) {
				continue
			}
			d := j.draft(&t.Partitions[i], j.unclean(t.Configs))
			if !d.depart(b) {
				continue
			}
			if next, changed := d.finish(); changed {
				deltas = append(deltas, changedTo(t, int32(i), next))
			}
		}
	}
	return append(deltas, removed), nil
}

// depart takes b, which isn't registered any more, out of everything; false: nothing
// of the partition would be left, and nobody takes it over.
func (d *draft) depart(b *metadata.Broker) bool {
	at := slices.Index(d.next.Replicas, b.ID)
	held, _ := memberOf(slices.Concat(d.isr, d.elr), b.ID)
	before := len(d.next.Replicas)
	d.fill()
	d.setISR(slices.DeleteFunc(slices.Clone(d.isr), d.img.Void))
	if len(d.isr)+len(d.elr) == 0 {
		var heir *metadata.Broker
		if len(d.next.Replicas) == before {
			heir = d.img.Broker(d.next.Replicas[at])
		}
		if heir == nil || d.NoHandover || held != b.Member() {
			return false
		}
		d.isr = []metadata.Member{heir.Member()}
		d.lead(heir.ID)
	}
	d.settle()
	return true
}
