package millrace

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"millrace/broker/link"
	"millrace/metadata"
	"millrace/metadata/central"
)

// sessions keeps a connection to every broker of the cluster, so that the death of one is noticed in milliseconds. What it
// sees is told to the central server, which makes use of it while it is the controller. It owns a goroutine, and one for
// each broker.
//
// Every process keeps them, and not only the one in office: that one may be what dies, and whoever follows it must have
// seen that.
type sessions struct {
	central *central.Server
	log     *zap.Logger
	address func(*metadata.Broker) (address string, own bool)
	nowMs   func() int64
	stand   func() // for the office that was just emptied
	news    chan struct{}

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// watched is one broker in one life, at one address.
type watched struct {
	*link.Watcher
	address string
	refused atomic.Bool // nobody listens at its address any more
}

func (s *sessions) start() {
	ctx, stop := context.WithCancel(context.Background())
	s.news, s.stop = make(chan struct{}, 1), stop
	s.wg.Go(func() { s.run(ctx) })
}

// close ends all connections.
func (s *sessions) close() {
	s.stop()
	s.wg.Wait()
}

// poke has it look at the cluster again. It never blocks.
func (s *sessions) poke() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *sessions) run(ctx context.Context) {
	watchers := make(map[metadata.Member]*watched)
	defer func() {
		for _, w := range watchers {
			w.Close()
		}
	}()
	for {
		img := s.central.Image()
		s.follow(watchers, img)
		if w := s.controller(watchers, img); w != nil && w.refused.Load() && !s.central.InOffice() {
			s.log.Warn("the controller's process is gone", zap.String("controller", img.Controller().Name))
			s.central.Depose(img.Controller().Token, func(err error) {
				if err != nil {
					time.AfterFunc(sessionRetry, s.poke)
					return
				}
				s.stand()
			})
		}
		select {
		case <-s.news:
		case <-ctx.Done():
			return
		}
	}
}

// follow begins and ends watchers with the registrations.
func (s *sessions) follow(watchers map[metadata.Member]*watched, img *metadata.Image) {
	type target struct {
		address string
		own     bool
	}
	there := make(map[metadata.Member]target)
	for _, b := range img.Brokers() {
		if address, own := s.address(b); address != "" {
			there[b.Member()] = target{address, own}
		}
	}
	for m, w := range watchers {
		if there[m].address != w.address {
			w.Close()
			delete(watchers, m)
		}
	}
	for m, to := range there {
		if watchers[m] == nil {
			watchers[m] = s.watch(m, to.address, to.own)
		}
	}
}

// watch begins to watch a broker. One of this process has listened, so it can be seen dead though it died before the
// first connection; without a lease nobody else would notice.
func (s *sessions) watch(m metadata.Member, address string, own bool) *watched {
	w := &watched{address: address}
	w.Watcher = link.Watch(link.WatchOptions{
		Address: address, Listens: own, Log: s.log,
		Up: func() {
			w.refused.Store(false)
			s.central.SessionUp(m)
		},
		Refused: func() {
			if s.central.Image().Live(m) { // else it has said goodbye
				s.log.Warn("a broker's process is gone", zap.Int32("broker", m.Broker), zap.String("address", address))
			}
			w.refused.Store(true)
			s.central.SessionRefused(m, s.nowMs())
			s.poke()
		},
	})
	return w
}

// controller finds the watcher of the process in office, whose first broker has the office's token for its incarnation.
func (s *sessions) controller(watchers map[metadata.Member]*watched, img *metadata.Image) *watched {
	token := img.Controller().Token
	for m, w := range watchers {
		if m.Incarnation == token {
			return w
		}
	}
	return nil
}

// addressOf is where a broker is reached from here: one of this process (own) where it listens, or listened until it was
// killed, whatever is told to others.
func (s *Server) addressOf(b *metadata.Broker) (address string, own bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, h := range []*host{s.hosts[b.ID], s.killed[b.ID]} {
		if h != nil && h.member == b.Member() {
			return h.addr.String(), true
		}
	}
	if len(b.Endpoints) == 0 {
		return "", false
	}
	return net.JoinHostPort(b.Endpoints[0].Host, strconv.Itoa(int(b.Endpoints[0].Port))), false
}
