package central

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"millrace/jobs"
	"millrace/metadata"
	"millrace/metadata/controller"
)

// Policy is the controller's: defaults and limits for new topics.
type Policy = controller.Policy

// Options of Open.
type Options struct {
	Store  metadata.Store // required
	Log    *zap.Logger    // nil: none
	Policy Policy         // zero fields have defaults

	// ClusterID is for a store that has none yet; "" draws one.
	ClusterID string

	// Election: other servers share the store, and one of them is the controller,
	// who alone may fence and unfence brokers and move leaders about (Campaign).
	// Without it this server is.
	Election bool
	Name     string // of this server in an election, for people
	Token    uint64 // of this server in an election, for machines: Depose; 0 draws one. Never the same in two lives

	// LeaseTTL is that of the brokers' leases; 0: brokers have none.
	LeaseTTL time.Duration

	// CommandsMax bounds the commands that wait while one is on its way to the
	// store; more are refused with ErrUnavailable. Default 16,384.
	CommandsMax int
}

const (
	commandsMaxDefault = 16_384
	openTimeout        = 30 * time.Second // to list the store the first time
)

// Server is the central server. Its methods may be called from anywhere.
type Server struct {
	store       metadata.Store
	log         *zap.Logger
	policy      Policy
	commandsMax int
	election    bool
	name        string
	token       uint64 // of this server in an election
	ttlMs       int64

	image    atomic.Pointer[metadata.Image]
	executor *jobs.Executor

	stop     context.CancelFunc // ends the goroutine that looks after the watch
	follower sync.WaitGroup

	// The executor's own.
	closed      bool
	current     *command   // on its way to the store
	waiting     []*command // in order, behind current
	subscribers []*subscriber
	vigil       vigil
}

// Open starts a server on the store, which may be empty or hold a cluster
// already.
func Open(o Options) (*Server, error) {
	if o.Store == nil {
		panic("metadata/central: no store")
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.CommandsMax <= 0 {
		o.CommandsMax = commandsMaxDefault
	}
	if o.ClusterID == "" {
		o.ClusterID = metadata.NewTopicID().String() // Kafka's cluster ids have the same form
	}
	if o.Token == 0 {
		o.Token = newIncarnation()
	}
	s := &Server{
		store: o.Store, log: o.Log, policy: o.Policy.WithDefaults(), commandsMax: o.CommandsMax,
		election: o.Election, name: o.Name, token: o.Token, ttlMs: o.LeaseTTL.Milliseconds(),
		executor: jobs.NewExecutor(jobs.ExecutorOptions{Name: "metadata"}),
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	img, err := s.firstImage(ctx, o.ClusterID)
	if err != nil {
		return nil, fmt.Errorf("open the metadata store: %w", err)
	}
	s.image.Store(img)
	s.startFollowing(img.Revision())
	return s, nil
}

// firstImage lists the store, and gives the cluster its id if need be.
func (s *Server) firstImage(ctx context.Context, clusterID string) (*metadata.Image, error) {
	for {
		img, err := s.list(ctx)
		if err != nil || img.ClusterID() != "" {
			return img, err
		}
		txns := img.Transactions([]metadata.Delta{metadata.ClusterNamed{ClusterID: clusterID}}, 0)
		result := make(chan error, 1)
		s.store.Commit(txns[0], func(_ int64, err error) { result <- err })
		select {
		case err = <-result:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil && !errors.Is(err, metadata.ErrConflict) {
			return nil, err
		}
	}
}

func (s *Server) list(ctx context.Context) (*metadata.Image, error) {
	kvs, revision, err := s.store.Range(ctx, "")
	if err != nil {
		return nil, err
	}
	return metadata.Load(kvs, revision)
}

// Close refuses new commands, answers the waiting ones with ErrUnavailable, and
// returns when nothing runs any more. It must not be called from a callback.
func (s *Server) Close() {
	s.stop()
	s.follower.Wait()
	s.executor.Do(s.shut)
	s.executor.Stop()
}

func (s *Server) shut() {
	s.closed = true
	s.subscribers = nil
	commands := s.waiting
	if s.current != nil {
		commands = append([]*command{s.current}, commands...)
	}
	s.current, s.waiting = nil, nil
	for _, c := range commands {
		c.done(errClosed())
	}
}

func errClosed() error {
	return metadata.Errorf(metadata.ErrUnavailable, "The metadata server is closed.")
}

// Image returns the newest image, never nil. It costs one atomic load.
func (s *Server) Image() *metadata.Image { return s.image.Load() }

// subscriber is one Subscribe. After cancel there is one call at most, which
// has begun already.
type subscriber struct {
	f         func(old, new *metadata.Image, deltas []metadata.Delta)
	cancelled atomic.Bool
}

// Subscribe calls f after each change, in the order of revisions, with the
// image before, the one after, and the deltas between them. The first call has
// the image at which the subscription begins as both, and no deltas, so that
// nothing is missed by who starts from it.
//
// After cancel has returned, no call begins.
func (s *Server) Subscribe(f func(old, new *metadata.Image, deltas []metadata.Delta)) (cancel func()) {
	sub := &subscriber{f: f}
	s.executor.Do(func() {
		if s.closed || sub.cancelled.Load() {
			return
		}
		s.subscribers = append(s.subscribers, sub)
		img := s.Image()
		f(img, img, nil)
	})
	return func() {
		if sub.cancelled.Swap(true) {
			return
		}
		s.executor.Do(func() {
			kept := make([]*subscriber, 0, len(s.subscribers))
			for _, other := range s.subscribers {
				if other != sub {
					kept = append(kept, other)
				}
			}
			s.subscribers = kept
		})
	}
}

// publish makes img the newest image. It runs on the executor.
func (s *Server) publish(img *metadata.Image, deltas []metadata.Delta) {
	old := s.Image()
	s.image.Store(img)
	if len(deltas) == 0 {
		return
	}
	s.report(old, deltas)
	for _, sub := range s.subscribers {
		if !sub.cancelled.Load() {
			sub.f(old, img, deltas)
		}
	}
	s.observe(deltas)
}
