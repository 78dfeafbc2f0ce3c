package etcd

import (
	"context"
	"sync"

	"go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
)

// endpoint is one of etcd's members, with a client of its own.
//
// One client for all of them spreads the requests, and goes on asking a member
// that takes connections and answers nothing, until the connection's pings find
// out: with three members each third request would hang. So the store asks one
// member only, and the next one from the first failure on.
type endpoint struct {
	addr string

	mu     sync.Mutex
	client *clientv3.Client // guarded by mu: nil until it is needed
}

// connect makes the client if there is none. With a password that takes a check
// of it; without, no time.
func (p *endpoint) connect(s *Store) (*clientv3.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		return p.client, nil
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	o := s.options
	connect := grpc.ConnectParams{
		MinConnectTimeout: connectTimeout,
		Backoff:           backoff.Config{BaseDelay: reconnectMin, MaxDelay: reconnectMax, Multiplier: reconnectFactor, Jitter: reconnectJitter},
	}
	client, err := clientv3.New(clientv3.Config{
		Context: s.ctx, Endpoints: []string{p.addr}, TLS: o.TLS, Username: o.Username, Password: o.Password,
		DialTimeout: slowTimeout, DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingTimeout,
		MaxUnaryRetries: 1, // the store tries again itself, elsewhere
		DialOptions:     []grpc.DialOption{grpc.WithConnectParams(connect)},
		Logger:          quiet(o.Log, "etcd-client", &s.hushed),
	})
	if err == nil {
		p.client = client
	}
	return client, err
}

// version is what this member runs.
func (p *endpoint) version(ctx context.Context, s *Store) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	client, err := p.connect(s)
	if err != nil {
		return "", err
	}
	status, err := client.Status(ctx, p.addr)
	if err != nil {
		return "", err
	}
	return status.Version, nil
}

func (p *endpoint) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		_ = p.client.Close() // it says that it was closed
	}
}

// on calls f with the client of the member that is asked at present. If that fails,
// and not because etcd refused or the caller gave up, the next member is asked from
// now on.
func (s *Store) on(f func(*clientv3.Client) error) error {
	at := s.current.Load()
	client, err := s.endpoints[at].connect(s)
	if err == nil {
		err = f(client)
	}
	if err != nil && !refused(err) && codeOf(err) != codes.Canceled {
		s.current.CompareAndSwap(at, (at+1)%int32(len(s.endpoints)))
	}
	return err
}
