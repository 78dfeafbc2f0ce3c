package etcd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"millrace/metadata"
)

// Store is a metadata.Store on etcd.
type Store struct {
	options Options
	log     *zap.Logger
	meta    string        // what stands before every key
	cluster atomic.Uint64 // etcd's cluster id

	endpoints []*endpoint
	current   atomic.Int32 // index of the one that is asked
	hushed    atomic.Bool  // true: the store itself says what is the matter

	ctx    context.Context // until Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // every goroutine of ours

	commits committer
	leases  keeper

	mu      sync.Mutex
	closed  bool            // guarded by mu: no goroutine is started any more
	watches map[*watch]bool // guarded by mu
}

var _ metadata.Store = (*Store)(nil)

// Open is OpenContext without a limit but DialTimeout.
func Open(o Options) (*Store, error) { return OpenContext(context.Background(), o) }

// OpenContext connects to etcd, and returns when it has answered, or with an error
// after DialTimeout or when ctx is done. With an error that is Unreachable another try
// may do better.
func OpenContext(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, log: o.Log, meta: o.Prefix + "meta/", watches: make(map[*watch]bool)}
	s.hushed.Store(true)
	for _, addr := range o.Endpoints {
		s.endpoints = append(s.endpoints, &endpoint{addr: addr})
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.commits.init(s)
	s.leases.init(s)
	stop := context.AfterFunc(ctx, s.cancel)
	err = s.greet()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("etcd at %s: %w", strings.Join(o.Endpoints, ", "), err)
	}
	return s, nil
}

// greet finds out whether etcd answers, with a quorum behind it, and whether it
// is new enough.
func (s *Store) greet() error {
	ctx, cancel := context.WithTimeout(s.ctx, s.options.DialTimeout)
	defer cancel()
	err := s.try(ctx, slowTimeout, func(ctx context.Context, etcd *clientv3.Client) error {
		resp, err := etcd.Get(ctx, s.meta, clientv3.WithCountOnly())
		if err == nil {
			s.cluster.Store(resp.Header.GetClusterId())
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range s.endpoints {
		version, err := p.version(ctx, s)
		if err != nil { // it is down, and others aren't
			s.log.Warn("an etcd endpoint doesn't answer", zap.String("endpoint", p.addr), zap.Error(err))
			continue
		}
		if !recent(version) {
			return fmt.Errorf("%s is etcd %s; 3.5.8 or later is needed: older ones say that a watch has got further than it has", p.addr, version)
		}
	}
	return nil
}

// recent says whether a version is 3.5.8 or later. Before it etcd answered a
// progress request ahead of events (etcd-io/etcd#15220).
func recent(version string) bool {
	oldest := [...]int{3, 5, 8}
	parts := strings.SplitN(strings.SplitN(version, "-", 2)[0], ".", len(oldest))
	for i, least := range oldest {
		if i >= len(parts) {
			return false
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < least {
			return false
		}
		if n > least {
			return true
		}
	}
	return true
}

// Close waits a little for the commits that are on their way, ends every watch with
// ErrClosed and every request, and returns when no goroutine of the store is left.
// It must not be called from a callback.
func (s *Store) Close() {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	s.commits.drain()
	s.cancel()
	s.wg.Wait()
	if !already {
		s.commits.farewell()
		for _, p := range s.endpoints {
			p.close()
		}
	}
}

// spawn runs f on a goroutine that Close waits for; false: the store is closed.
func (s *Store) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Go(f)
	return true
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// TxnMax implements metadata.Store. One op and one compare are the store's own; another is for the transaction inside of the
// one that is sent again (committer.fence): etcd counts both together.
func (s *Store) TxnMax() int { return s.options.TxnMax - ownOps }

const ownOps = 2

// pageKeys bounds the answer to one request of a listing; the largest value is
// that of a topic with thousands of partitions.
const pageKeys = 1000

// Range implements metadata.Store. A long listing is read in pages, all as of the
// revision of the first; if that is compacted meanwhile it starts again.
func (s *Store) Range(ctx context.Context, prefix string) ([]metadata.KeyValue, int64, error) {
	ctx, done := s.context(ctx)
	defer done()
	for {
		kvs, revision, err := s.list(ctx, prefix)
		if is(err, rpctypes.ErrCompacted) {
			continue
		}
		return kvs, revision, s.translate(err)
	}
}

func (s *Store) list(ctx context.Context, prefix string) (kvs []metadata.KeyValue, revision int64, err error) {
	from := s.meta + prefix
	end := clientv3.GetPrefixRangeEnd(from)
	for {
		options := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(pageKeys), clientv3.WithRev(revision)}
		var resp *clientv3.GetResponse
		err = s.try(ctx, pageTimeout, func(ctx context.Context, etcd *clientv3.Client) (err error) {
			resp, err = etcd.Get(ctx, from, options...)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		if revision == 0 {
			revision = resp.Header.GetRevision()
		}
		for _, kv := range resp.Kvs {
			kvs = append(kvs, metadata.KeyValue{Key: string(kv.Key[len(s.meta):]), Value: kv.Value, Revision: kv.ModRevision})
		}
		if !resp.More {
			return kvs, revision, nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}
