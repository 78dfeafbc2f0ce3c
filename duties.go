package millrace

import (
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"millrace/metadata"
)

// several tells whether other processes may be in the cluster.
func (s *Server) several() bool { return s.config.Cluster.Several() }

// name is this process for people.
func (s *Server) name() string {
	if name := s.config.Cluster.NodeName; name != "" {
		return name
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// leaseTTL is how long a broker may be silent; 0: brokers have no leases.
func (s *Server) leaseTTL() time.Duration {
	if !s.several() {
		return 0
	}
	return time.Duration(s.config.BrokerSessionTimeoutMs) * time.Millisecond
}

// lease is what the brokers' signs of life hang on; 0: they need none.
func (s *Server) lease() metadata.LeaseID {
	if s.presence == nil {
		return 0
	}
	return s.presence.lease()
}

// members are the brokers of this process that live.
func (s *Server) members() []metadata.Member {
	hosts := s.living()
	list := make([]metadata.Member, len(hosts))
	for i, h := range hosts {
		list[i] = h.member
	}
	return list
}

// nowMs is the central server's clock.
func (s *Server) nowMs() int64 { return time.Since(s.began).Milliseconds() + 1 }

// stand makes this process the controller, if nobody is.
func (s *Server) stand() {
	if s.presence != nil {
		s.presence.stand()
	}
}

// watchStore ends the server's use when the etcd in this process has stopped by itself.
func (s *Server) watchStore() {
	select {
	case <-s.store.failed:
		s.fail(s.store.why())
	case <-s.done:
	}
}

func (s *Server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.err == nil {
		s.err = err
		close(s.failed)
	}
}

// Failed is closed when the server can't go on by itself, and Err then says why: it is to be closed, and started again.
func (s *Server) Failed() <-chan struct{} { return s.failed }

// Err is nil before Failed is closed.
func (s *Server) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.err
}

// How leadership goes back to the preferred leaders: so many partitions at a time, the next ones after a pause, so that
// clients aren't all sent elsewhere at once.
const (
	balanceMost  = 500
	balancePause = time.Second
)

func (s *Server) scheduleBalance(left int) {
	every := time.Duration(s.config.LeaderImbalanceCheckIntervalSeconds) * time.Second
	if left > 0 {
		every = min(every, balancePause)
	}
	s.wheel.Schedule(&s.balancer, every)
}

// balance runs on the wheel's goroutine.
func (s *Server) balance() {
	if !s.config.AutoLeaderRebalance || !s.central.InOffice() {
		s.scheduleBalance(0)
		return
	}
	s.central.BalanceLeaders(balanceMost, func(left int, err error) {
		if err != nil {
			s.log.Debug("leadership wasn't given back", zap.Error(err))
		}
		s.scheduleBalance(left)
	})
}

// broadcast wakes everybody who waits for the next of something.
type broadcast struct {
	mu   sync.Mutex
	next chan struct{} // guarded by mu: closed at the next; nil: nobody waits
}

// wait is closed at the next tell.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

func (b *broadcast) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
