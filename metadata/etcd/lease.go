package etcd

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"

	"millrace/metadata"
)

// Grant implements metadata.Store. etcd counts in seconds, and grants no less than
// one and a half election timeouts.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (metadata.LeaseID, error) {
	ctx, done := s.context(ctx)
	defer done()
	var id metadata.LeaseID
	seconds := max(1, int64((ttl+time.Second-1)/time.Second))
	err := s.try(ctx, slowTimeout, func(ctx context.Context, etcd *clientv3.Client) error {
		resp, err := etcd.Grant(ctx, seconds) // if an earlier try got through, that lease runs out
		if err == nil {
			id = metadata.LeaseID(resp.ID)
		}
		return err
	})
	return id, s.translate(err)
}

// Revoke implements metadata.Store.
func (s *Store) Revoke(ctx context.Context, id metadata.LeaseID) error {
	ctx, done := s.context(ctx)
	defer done()
	tries := 0
	err := s.try(ctx, slowTimeout, func(ctx context.Context, etcd *clientv3.Client) error {
		tries++
		_, err := etcd.Revoke(ctx, clientv3.LeaseID(id))
		if tries > 1 && is(err, rpctypes.ErrLeaseNotFound) {
			return nil // an earlier try did it
		}
		return err
	})
	return s.translate(err)
}

// KeepAlive implements metadata.Store.
func (s *Store) KeepAlive(ctx context.Context, id metadata.LeaseID) error {
	ctx, done := s.context(ctx)
	defer done()
	err := s.try(ctx, slowTimeout, func(ctx context.Context, etcd *clientv3.Client) error {
		return s.leases.ask(ctx, etcd, int64(id))
	})
	return s.translate(err)
}

// keeper asks for leases to be kept alive, on one stream for all. A stream per
// request would have etcd check the password each time, and that is made to be slow.
type keeper struct {
	store *Store

	mu     sync.Mutex
	stream *keepStream // guarded by mu: nil until it is needed, and after it broke
}

// keepStream is one stream. Answers come in the order of the requests.
type keepStream struct {
	cancel context.CancelFunc
	etcdserverpb.Lease_LeaseKeepAliveClient

	sending sync.Mutex
	mu      sync.Mutex
	waiting []chan error // guarded by mu
	broken  error        // guarded by mu: what ended the stream
}

func (k *keeper) init(s *Store) { k.store = s }

// ask makes one request and waits for its answer. When that doesn't come the
// stream is given up, so that the next request takes another endpoint.
func (k *keeper) ask(ctx context.Context, etcd *clientv3.Client, id int64) error {
	stream, err := k.open(ctx, etcd)
	if err != nil {
		return err
	}
	answer, err := stream.request(id)
	if err != nil {
		k.drop(stream)
		return err
	}
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && !is(err, rpctypes.ErrLeaseNotFound) {
		k.drop(stream)
	}
	return err
}

func (k *keeper) open(ctx context.Context, etcd *clientv3.Client) (*keepStream, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stream != nil {
		return k.stream, nil
	}
	life, cancel := context.WithCancel(clientv3.WithRequireLeader(k.store.ctx))
	stop := context.AfterFunc(ctx, cancel)
	stream, err := etcdserverpb.NewLeaseClient(etcd.ActiveConnection()).LeaseKeepAlive(life, streamOptions...)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	s := &keepStream{cancel: cancel, Lease_LeaseKeepAliveClient: stream}
	if !k.store.spawn(s.read) {
		cancel()
		return nil, metadata.ErrClosed
	}
	k.stream = s
	return s, nil
}

func (k *keeper) drop(s *keepStream) {
	k.mu.Lock()
	if k.stream == s {
		k.stream = nil
	}
	k.mu.Unlock()
	s.cancel()
}

// request sends while it holds sending, so that the order on the wire is that of
// the list.
func (s *keepStream) request(id int64) (<-chan error, error) {
	answer := make(chan error, 1)
	s.sending.Lock()
	defer s.sending.Unlock()
	s.mu.Lock()
	err := s.broken
	if err == nil {
		s.waiting = append(s.waiting, answer)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return answer, s.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: id})
}

func (s *keepStream) read() {
	for {
		r, err := s.Recv()
		s.mu.Lock()
		if err != nil {
			s.broken = err
			for _, answer := range s.waiting {
				answer <- err
			}
			s.waiting = nil
			s.mu.Unlock()
			s.cancel()
			return
		}
		var answer chan error
		if len(s.waiting) > 0 {
			answer, s.waiting = s.waiting[0], s.waiting[1:]
		}
		s.mu.Unlock()
		if answer == nil {
			continue // can't be
		}
		if r.GetTTL() <= 0 {
			answer <- rpctypes.ErrLeaseNotFound
		} else {
			answer <- nil
		}
	}
}
