package memory

import (
	"context"
	"fmt"
	"sync"

	"millrace/metadata"
)

// Options of Open.
type Options struct {
	// HistoryBytesMax bounds the events that are kept for watchers that lag
	// behind; the newest revision is kept whatever its size. Default 4 MiB.
	HistoryBytesMax int

	// TxnMax is what the method of that name answers, and Commit insists on.
	// 0, the default: no limit. Tests set it to stand in for etcd's.
	TxnMax int
}

const (
	historyBytesDefault = 4 << 20
	eventBytes          = 96 // what an event costs beside its key and value, roughly
)

// Store is a metadata.Store.
type Store struct {
	options Options

	mu       sync.Mutex // guards all below; never held while calling out
	closed   bool
	revision int64
	keys     dir
	leases   map[metadata.LeaseID]*lease
	leaseSeq metadata.LeaseID

	history      []metadata.Batch // one per revision, from compacted+1 to revision
	historyBytes int
	compacted    int64 // the newest revision that history has forgotten

	watchers []*watcher
}

var _ metadata.Store = (*Store)(nil)

// Open makes an empty store.
func Open(o Options) *Store {
	if o.HistoryBytesMax <= 0 {
		o.HistoryBytesMax = historyBytesDefault
	}
	return &Store{options: o, leases: make(map[metadata.LeaseID]*lease)}
}

// Close forgets everything and tells the watchers. From then on the methods
// answer with ErrClosed.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	for _, l := range s.leases {
		l.timer.Stop()
	}
	s.keys, s.leases, s.history = dir{}, nil, nil
	s.mu.Unlock()
	s.pump()
}

// Range implements metadata.Store.
func (s *Store) Range(ctx context.Context, prefix string) ([]metadata.KeyValue, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, 0, metadata.ErrClosed
	}
	return s.keys.list(prefix), s.revision, nil
}

// TxnMax implements metadata.Store.
func (s *Store) TxnMax() int { return s.options.TxnMax }

// Commit implements metadata.Store. done has been called when it returns, and
// before that every watcher that wasn't being served by another goroutine.
func (s *Store) Commit(t metadata.Txn, done func(revision int64, err error)) {
	revision, err := s.commit(t)
	if err == nil {
		s.pump()
	}
	done(revision, err)
}

func (s *Store) commit(t metadata.Txn) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, metadata.ErrClosed
	}
	if m := s.options.TxnMax; m > 0 && (len(t.Compares) > m || len(t.Ops) > m) {
		return 0, fmt.Errorf("metadata store: %d compares and %d ops in one transaction, the most is %d", len(t.Compares), len(t.Ops), m)
	}
	for _, c := range t.Compares {
		if it, _ := s.keys.get(c.Key); it.revision != c.Revision {
			return s.revision, metadata.ErrConflict
		}
	}
	for _, op := range t.Ops {
		if op.Lease == 0 {
			continue
		}
		if _, err := s.lease(op.Lease); err != nil {
			return 0, err
		}
	}
	var events []metadata.Event
	for _, op := range t.Ops {
		events = s.carryOut(op, events)
	}
	s.record(events)
	return s.revision, nil
}

// carryOut does one op in the revision that is being made, and appends what it
// did to events.
func (s *Store) carryOut(op metadata.Op, events []metadata.Event) []metadata.Event {
	revision := s.revision + 1
	switch op.Kind {
	case metadata.OpPut:
		old, _ := s.keys.get(op.Key)
		if old.revision == revision {
			panic(fmt.Sprintf("metadata/memory: key %q is put twice in one transaction", op.Key))
		}
		s.leases[old.lease].drop(op.Key)
		s.leases[op.Lease].hold(op.Key)
		s.keys.put(op.Key, item{value: op.Value, revision: revision, lease: op.Lease})
		return append(events, metadata.Event{Key: op.Key, Value: op.Value, Revision: revision})
	case metadata.OpDelete:
		if it, ok := s.keys.get(op.Key); ok {
			events = append(events, s.remove(op.Key, it, revision))
		}
		return events
	case metadata.OpDeletePrefix:
		for _, kv := range s.keys.list(op.Key) {
			it, _ := s.keys.get(kv.Key)
			events = append(events, s.remove(kv.Key, it, revision))
		}
		return events
	}
	panic(fmt.Sprintf("metadata/memory: unknown op %d", op.Kind))
}

func (s *Store) remove(key string, it item, revision int64) metadata.Event {
	s.leases[it.lease].drop(key)
	s.keys.remove(key)
	return metadata.Event{Key: key, Deleted: true, Revision: revision}
}

// record makes events the next revision, and forgets the oldest ones.
func (s *Store) record(events []metadata.Event) {
	if len(events) == 0 {
		return
	}
	s.revision++
	s.history = append(s.history, metadata.Batch{Revision: s.revision, Events: events})
	s.historyBytes += size(events)
	for s.historyBytes > s.options.HistoryBytesMax && len(s.history) > 1 {
		s.historyBytes -= size(s.history[0].Events)
		s.compacted = s.history[0].Revision
		s.history[0] = metadata.Batch{}
		s.history = s.history[1:]
	}
}

func size(events []metadata.Event) (bytes int) {
	for i := range events {
		bytes += eventBytes + len(events[i].Key) + len(events[i].Value)
	}
	return bytes
}
