package central

import (
	"crypto/rand"
	"encoding/binary"

	"millrace/metadata"
	"millrace/metadata/controller"
)

// RegisterBroker brings a broker into the cluster, with an id (the spec's, or
// the next free one) and a new incarnation. What follows for partitions has been
// done before done is called: those that had nobody left to lead them are given to
// it, and if it is a broker that restarted, what it led in its former life is led
// by others.
// Errors: ErrDuplicateBroker, ErrInvalidRegistration, ErrUnavailable.
func (s *Server) RegisterBroker(spec metadata.BrokerSpec, done func(*metadata.Broker, error)) {
	var b *metadata.Broker
	var refused error
	incarnation := spec.Incarnation
	if incarnation == 0 {
		incarnation = newIncarnation()
	}
	s.submit(&command{
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, b, refused = s.policy.RegisterBroker(img, spec, incarnation)
			return deltas
		},
		done: func(err error) {
			if err = first(err, refused); err != nil {
				done(nil, err)
				return
			}
			if stored := s.Image().Broker(b.ID); stored != nil {
				b = stored
			}
			s.follow(func() { done(b, nil) })
		},
	})
}

// newIncarnation draws 64 random bits, not 0.
func newIncarnation() uint64 {
	for {
		var b [8]byte
		rand.Read(b[:]) // never fails (crypto/rand)
		if v := binary.LittleEndian.Uint64(b[:]); v != 0 {
			return v
		}
	}
}

// Announce gives a broker another sign of life, after its lease ended although
// it lives. If it was fenced meanwhile, the controller unfences it.
// Errors: ErrUnknownBroker and ErrStaleBrokerEpoch (it has to register),
// ErrUnavailable.
func (s *Server) Announce(m metadata.Member, lease metadata.LeaseID, done func(error)) {
	s.simple(func(img *metadata.Image) ([]metadata.Delta, error) { return s.policy.Announce(img, m, lease) }, done)
}

// UpdateEndpoints gives a registered broker other addresses.
// Errors: ErrUnknownBroker, ErrInvalidRegistration, ErrUnavailable.
func (s *Server) UpdateEndpoints(id int32, endpoints []metadata.Endpoint, done func(error)) {
	s.simple(func(img *metadata.Image) ([]metadata.Delta, error) {
		return s.policy.UpdateEndpoints(img, id, endpoints)
	}, done)
}

// FenceBrokers takes brokers out of every ISR, and gives what they lead to others.
// Members that aren't registered in that life are passed over. Nothing is said
// about their RAM. It is the controller's.
// Errors: ErrNotController, ErrUnavailable.
func (s *Server) FenceBrokers(members []metadata.Member, done func(error)) {
	s.submit(&command{
		duty: true, resumes: true, urgent: true, done: done,
		plan: func(img *metadata.Image) []metadata.Delta { return s.policy.FenceBrokers(img, members) },
	})
}

// UnfenceBroker lets a broker take part again, and gives it what only it can lead.
// It is the controller's.
// Errors: ErrNotController, ErrUnknownBroker, ErrStaleBrokerEpoch, ErrUnavailable.
func (s *Server) UnfenceBroker(m metadata.Member, done func(error)) {
	var refused error
	s.submit(&command{
		duty: true,
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, refused = s.policy.UnfenceBroker(img, m)
			return deltas
		},
		done: func(err error) { s.thenFollow(first(err, refused), done) },
	})
}

// RemoveBroker takes a broker out for good. Its partitions have other leaders, or
// none if it was the last broker, when done is called.
// Errors: ErrUnknownBroker, ErrUnavailable.
func (s *Server) RemoveBroker(id int32, done func(error)) {
	var refused error
	s.submit(&command{
		resumes: true,
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, refused = s.policy.RemoveBroker(img, id)
			return deltas
		},
		done: func(err error) { s.thenFollow(first(err, refused), done) },
	})
}

// UnregisterBroker gives a fenced broker up: what it has in RAM doesn't count any
// more, and its places go to others, as far as there are any.
// Errors: ErrUnknownBroker, ErrInvalidRequest (it isn't fenced), ErrUnavailable.
func (s *Server) UnregisterBroker(id int32, done func(error)) {
	s.simple(func(img *metadata.Image) ([]metadata.Delta, error) { return s.policy.UnregisterBroker(img, id) },
		func(err error) { s.thenFollow(err, done) })
}

// Drain takes the next step of a broker's way out, and tells how far it is. It is
// to be called again whenever the image has changed, and now and then, until
// the broker has Left. Without leave it is never fenced.
// Errors: ErrUnknownBroker, ErrStaleBrokerEpoch, ErrUnavailable.
func (s *Server) Drain(m metadata.Member, leave bool, done func(metadata.DrainState, error)) {
	var state metadata.DrainState
	var refused error
	s.submit(&command{
		resumes: true,
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, state, refused = s.policy.Drain(img, m, leave)
			return deltas
		},
		done: func(err error) {
			if err = first(err, refused); err != nil {
				state = metadata.DrainState{}
			}
			done(state, err)
		},
	})
}

// CancelDrain lets a broker stay after all.
// Errors: ErrUnknownBroker, ErrStaleBrokerEpoch, ErrUnavailable.
func (s *Server) CancelDrain(m metadata.Member, done func(error)) {
	s.simple(func(img *metadata.Image) ([]metadata.Delta, error) { return s.policy.CancelDrain(img, m) }, done)
}

// OnlyCopies lists the partitions whose records are lost if the broker goes now.
func (s *Server) OnlyCopies(id int32) []metadata.PartitionRef {
	return controller.OnlyCopies(s.Image(), id)
}
