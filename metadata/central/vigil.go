package central

import (
	"go.uber.org/zap"

	"millrace/metadata"
	"millrace/metadata/controller"
)

// vigil is the controller's watch over brokers. It belongs to the executor.
type vigil struct {
	detector  *controller.Detector // nil: nothing was told yet that it is for
	inOffice  bool                 // as of the last look
	nowMs     int64                // the latest that anybody said
	unsettled bool                 // something has happened that partitions may have to follow
	growing   bool                 // internal topics may have fewer replicas than there are brokers for
	busy      bool                 // what was decided is being carried out
}

// Campaign makes this server the controller if nobody is, until lease ends or
// Resign. won tells whether it is, also when it was before.
// Errors: ErrUnavailable.
func (s *Server) Campaign(lease metadata.LeaseID, done func(won bool, err error)) {
	s.submit(&command{
		plan: func(img *metadata.Image) []metadata.Delta {
			if img.Controller().Token != 0 {
				return nil
			}
			return []metadata.Delta{metadata.ControllerElected{Name: s.name, Token: s.token, Lease: lease}}
		},
		done: func(err error) { done(s.Image().Controller().Token == s.token, err) },
	})
}

// Resign gives up the office of controller, if this server has it.
// Errors: ErrUnavailable.
func (s *Server) Resign(done func(error)) { s.Depose(s.token, done) }

// Depose ends the term of the controller with that token, if it is in office. Whoever has seen its process dead
// need not wait for its lease. Wrong or not, it is safe: what a controller writes holds only while its own term lasts.
// Errors: ErrUnavailable.
func (s *Server) Depose(token uint64, done func(error)) {
	s.submit(&command{
		urgent: true,
		plan: func(img *metadata.Image) []metadata.Delta {
			if img.Controller().Token != token {
				return nil
			}
			return []metadata.Delta{metadata.ControllerResigned{}}
		},
		done: done,
	})
}

// InOffice tells whether this server is the controller, as far as it has heard.
func (s *Server) InOffice() bool { return s.inOffice(s.Image()) }

func (s *Server) inOffice(img *metadata.Image) bool {
	return !s.election || img.Controller().Token == s.token
}

// Tick says what time it is, in milliseconds; it has to rise, and nothing else
// matters about it. A server with LeaseTTL wants to be told several times in a TTL:
// while it is the controller it then fences brokers whose lease has ended, and
// unfences those that are back. It settles what happened while nobody was in office, and
// has internal topics grow when brokers have come for more replicas.
func (s *Server) Tick(nowMs int64) {
	s.executor.Do(func() {
		s.vigil.nowMs = max(s.vigil.nowMs, nowMs)
		s.keepVigil()
	})
}

// HeardStore says that the store has answered at nowMs: a lease was renewed, say.
// After a long silence nobody is fenced for his for one TTL. A server that is told so all
// the time, and then becomes the controller, knows that nobody was silent for want of a store: it needn't
// wait.
func (s *Server) HeardStore(nowMs int64) {
	s.executor.Do(func() {
		s.vigil.nowMs = max(s.vigil.nowMs, nowMs)
		s.detector().Heard(s.vigil.nowMs)
	})
}

func (s *Server) detector() *controller.Detector {
	w := &s.vigil
	if w.detector == nil {
		w.detector = controller.NewDetector(s.ttlMs, w.nowMs)
	}
	return w.detector
}

// SessionRefused says that the session to a broker was reset and a new connection
// refused. The controller fences it at once, grace or not: its process is gone. A server that
// isn't the controller remembers it, for when it is.
func (s *Server) SessionRefused(m metadata.Member, nowMs int64) {
	s.executor.Do(func() {
		s.vigil.nowMs = max(s.vigil.nowMs, nowMs)
		s.detector().Refused(m)
		s.detector().Forget(s.Image())
		s.keepVigil()
	})
}

// SessionUp says that there is a session to a broker: it takes back SessionRefused.
func (s *Server) SessionUp(m metadata.Member) {
	s.executor.Do(func() {
		if s.vigil.detector != nil {
			s.vigil.detector.Connected(m)
			s.keepVigil()
		}
	})
}

// observe, on the executor, notes what the controller may have to act on.
func (s *Server) observe(deltas []metadata.Delta) {
	news := false
	for _, d := range deltas {
		switch d := d.(type) {
		case metadata.BrokerRegistered, metadata.BrokerChanged, metadata.BrokerRemoved:
			s.vigil.unsettled, s.vigil.growing, news = true, true, true
		case metadata.PartitionChanged: // a reassignment may be complete, or there is a leader again
			if metadata.IsInternal(d.Name) {
				s.vigil.growing, news = true, true
			}
		case metadata.TopicCreated:
			if d.Topic.Internal {
				s.vigil.growing, news = true, true
			}
		case metadata.BrokerAlive, metadata.BrokerSilent, metadata.ControllerElected, metadata.ControllerResigned:
			news = true
		}
	}
	if news && s.vigil.nowMs > 0 {
		s.keepVigil()
	}
}

// enterOffice begins or ends the vigil with the office.
func (s *Server) enterOffice() {
	w := &s.vigil
	was := w.inOffice
	if w.inOffice = s.inOffice(s.Image()); w.inOffice && !was {
		s.detector()
		w.unsettled, w.growing = true, true
	}
}

// keepVigil has one thing carried out at a time. What is left is found again when
// that is done.
func (s *Server) keepVigil() {
	s.enterOffice()
	w := &s.vigil
	if s.closed || !w.inOffice || w.busy {
		return
	}
	v := w.detector.Judge(s.Image(), w.nowMs)
	switch {
	case len(v.Fence) > 0:
		w.busy = true
		s.FenceBrokers(v.Fence, s.acted)
	case len(v.Unfence) > 0:
		w.busy = true
		s.UnfenceBroker(v.Unfence[0], s.acted)
	case w.unsettled:
		w.busy, w.unsettled = true, false
		s.Settle(s.acted)
	case w.growing:
		w.growing = false
		if len(s.policy.GrowInternal(s.Image())) > 0 {
			w.busy = true
			s.GrowInternal(s.acted)
		}
	}
}

// acted comes when what was decided has been carried out. After a failure the next
// Tick tries again.
func (s *Server) acted(err error) {
	w := &s.vigil
	w.busy = false
	if err != nil {
		w.unsettled, w.growing = true, true
		s.log.Warn("the controller couldn't act", zap.Error(err))
		return
	}
	s.keepVigil()
}
