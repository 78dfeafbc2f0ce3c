package memory

import (
	"context"
	"slices"
	"time"

	"millrace/metadata"
)

// lease is guarded by the store's mu. A nil *lease holds nothing: that is what
// stands behind lease 0.
type lease struct {
	ttl      time.Duration
	deadline time.Time
	timer    *time.Timer
	keys     map[string]struct{}
}

func (l *lease) hold(key string) {
	if l != nil {
		l.keys[key] = struct{}{}
	}
}

func (l *lease) drop(key string) {
	if l != nil {
		delete(l.keys, key)
	}
}

// Grant implements metadata.Store.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (metadata.LeaseID, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, metadata.ErrClosed
	}
	s.leaseSeq++
	id := s.leaseSeq
	s.leases[id] = &lease{
		ttl: ttl, deadline: time.Now().Add(ttl), keys: make(map[string]struct{}),
		timer: time.AfterFunc(ttl, func() { s.expire(id) }),
	}
	return id, nil
}

// KeepAlive implements metadata.Store.
func (s *Store) KeepAlive(ctx context.Context, id metadata.LeaseID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.lease(id)
	if err != nil {
		return err
	}
	l.deadline = time.Now().Add(l.ttl)
	l.timer.Reset(l.ttl)
	return nil
}

// Revoke implements metadata.Store.
func (s *Store) Revoke(ctx context.Context, id metadata.LeaseID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	l, err := s.lease(id)
	if err == nil {
		s.drop(id, l)
	}
	s.mu.Unlock()
	if err == nil {
		s.pump()
	}
	return err
}

// lease finds a lease that isn't over: the timer may be late.
func (s *Store) lease(id metadata.LeaseID) (*lease, error) {
	if s.closed {
		return nil, metadata.ErrClosed
	}
	l := s.leases[id]
	if l == nil || !time.Now().Before(l.deadline) {
		return nil, metadata.ErrLeaseNotFound
	}
	return l, nil
}

// expire runs when the timer fires. A KeepAlive may have come in between, and has
// set the timer again.
func (s *Store) expire(id metadata.LeaseID) {
	s.mu.Lock()
	l := s.leases[id]
	over := l != nil && !time.Now().Before(l.deadline)
	if over {
		s.drop(id, l)
	}
	s.mu.Unlock()
	if over {
		s.pump()
	}
}

func (s *Store) drop(id metadata.LeaseID, l *lease) {
	l.timer.Stop()
	keys := make([]string, 0, len(l.keys))
	for key := range l.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var events []metadata.Event
	for _, key := range keys {
		it, _ := s.keys.get(key)
		events = append(events, s.remove(key, it, s.revision+1))
	}
	delete(s.leases, id)
	s.record(events)
}
