package metadata

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Session keeps one lease of a store alive: keys that are put with it stay as
// long as this process is heard. It says who is alive and nothing else: the lease's
// id is never a broker's incarnation, and a session that was lost is
// followed by another one of the same incarnation.
//
// It owns a goroutine, which Close ends.
type Session struct {
	store Store
	id    LeaseID
	ttl   time.Duration
	heard atomic.Int64 // time of the last answer's question, in nanoseconds since 1970
	lost  chan struct{}
	stop  context.CancelFunc
	wg    sync.WaitGroup
}

const (
	sessionRenewals = 3  // in a lease's time, so that two may fail
	sessionMargin   = 16 // this share of it before its end the session counts as lost: clocks differ
)

// OpenSession grants a lease of ttl and keeps it alive.
func OpenSession(ctx context.Context, store Store, ttl time.Duration) (*Session, error) {
	heard := time.Now() // before the request: the store's clock starts later than this
	id, err := store.Grant(ctx, ttl)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	s := &Session{store: store, id: id, ttl: ttl, lost: make(chan struct{}), stop: stop}
	s.heard.Store(heard.UnixNano())
	s.wg.Go(func() { s.keep(life, heard) })
	return s, nil
}

// Lease is what keys are put with.
func (s *Session) Lease() LeaseID { return s.id }

// Lost is closed when the lease is over, or is about to be: the store hasn't
// answered for nearly its ttl. Others don't take it for over before that. Close
// doesn't close it.
func (s *Session) Lost() <-chan struct{} { return s.lost }

// Heard is when the store was asked last that has answered. It moves on with each renewal.
func (s *Session) Heard() time.Time { return time.Unix(0, s.heard.Load()) }

// Close stops keeping the lease alive, and revokes it, so that its keys go at once;
// that is given up when ctx is done, and the lease then runs out.
func (s *Session) Close(ctx context.Context) error {
	s.stop()
	s.wg.Wait()
	err := s.store.Revoke(ctx, s.id)
	if errors.Is(err, ErrLeaseNotFound) {
		return nil
	}
	return err
}

// keep renews the lease until it is lost or life is over.
func (s *Session) keep(life context.Context, heard time.Time) {
	every := s.ttl / sessionRenewals
	for delay := every; ; {
		deadline := heard.Add(s.ttl - s.ttl/sessionMargin)
		if !sleep(life, min(delay, time.Until(deadline))) {
			return
		}
		asked := time.Now()
		ctx, cancel := context.WithDeadline(life, deadline)
		err := s.store.KeepAlive(ctx, s.id)
		cancel()
		delay = every
		switch {
		case err == nil:
			heard = asked
			s.heard.Store(heard.UnixNano())
			delay = max(0, every-time.Since(asked))
		case life.Err() != nil:
			return
		case errors.Is(err, ErrLeaseNotFound), errors.Is(err, ErrClosed), !time.Now().Before(deadline):
			close(s.lost)
			return
		default:
			delay = every / sessionRenewals
		}
	}
}

// sleep waits for d; false: ctx was done before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
