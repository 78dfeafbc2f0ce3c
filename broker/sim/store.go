package sim

import (
	"slices"

	"millrace/metadata"
)

// store is the metadata store: what etcd is to a cluster. Its image is what is true, whoever knows it.
type store struct {
	w        *world
	keys     map[string]stored
	leases   map[metadata.LeaseID]int64 // the time at which each ends
	last     metadata.LeaseID
	revision int64
	history  []step // all of it: revision r is at r−1
	image    *metadata.Image
	down     bool
}

// step is one revision: what has changed, and what is there then. Whoever replays it gets the same image, so nobody does it again.
type step struct {
	deltas []metadata.Delta
	image  *metadata.Image
}

type stored struct {
	value    []byte
	revision int64
	lease    metadata.LeaseID
}

func (s *store) init(w *world) {
	*s = store{w: w, keys: map[string]stored{}, leases: map[metadata.LeaseID]int64{}, image: metadata.Empty()}
}

// commit carries out a transaction, or answers ErrConflict.
func (s *store) commit(t metadata.Txn) (revision int64, err error) {
	for _, c := range t.Compares {
		if s.keys[c.Key].revision != c.Revision && s.w.bugs.compares(c.Key) {
			return s.revision, metadata.ErrConflict
		}
	}
	for _, op := range t.Ops {
		if _, alive := s.leases[op.Lease]; op.Lease != 0 && !alive {
			return s.revision, metadata.ErrLeaseNotFound
		}
	}
	var events []metadata.Event
	for _, op := range t.Ops {
		events = s.do(op, events)
	}
	s.publish(events)
	return s.revision, nil
}

func (s *store) do(op metadata.Op, events []metadata.Event) []metadata.Event {
	next := s.revision + 1
	switch op.Kind {
	case metadata.OpPut:
		s.keys[op.Key] = stored{op.Value, next, op.Lease}
		return append(events, metadata.Event{Key: op.Key, Value: op.Value, Revision: next})
	case metadata.OpDelete:
		if _, ok := s.keys[op.Key]; ok {
			delete(s.keys, op.Key)
			events = append(events, metadata.Event{Key: op.Key, Deleted: true, Revision: next})
		}
		return events
	}
	panic("sim: nobody deletes by prefix")
}

func (s *store) publish(events []metadata.Event) {
	if len(events) == 0 {
		return
	}
	s.revision++
	next, deltas, err := s.image.Replay(metadata.Batch{Revision: s.revision, Events: events})
	if err != nil {
		panic(err)
	}
	s.history = append(s.history, step{deltas, next})
	old := s.image
	s.image = next
	s.w.imageChanged(old, deltas)
}

func (s *store) grant() metadata.LeaseID {
	s.last++
	s.leases[s.last] = s.w.nowMs + leaseMs
	return s.last
}

// keepAlive says whether there still is such a lease.
func (s *store) keepAlive(id metadata.LeaseID) bool {
	if _, ok := s.leases[id]; !ok {
		return false
	}
	s.leases[id] = s.w.nowMs + leaseMs
	return true
}

// expire ends the leases whose time is over.
func (s *store) expire() {
	if s.down {
		return
	}
	for id := metadata.LeaseID(1); id <= s.last; id++ {
		if end, ok := s.leases[id]; ok && end < s.w.nowMs {
			s.revoke(id)
		}
	}
}

// revoke ends a lease, and deletes what hangs on it.
func (s *store) revoke(id metadata.LeaseID) {
	delete(s.leases, id)
	var events []metadata.Event
	for _, key := range s.sorted() {
		if s.keys[key].lease == id {
			events = s.do(metadata.Op{Kind: metadata.OpDelete, Key: key}, events)
		}
	}
	s.publish(events)
}

func (s *store) sorted() []string {
	keys := make([]string, 0, len(s.keys))
	for key := range s.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// list is the whole content, as an image.
func (s *store) list() *metadata.Image {
	var kvs []metadata.KeyValue
	for _, key := range s.sorted() {
		kvs = append(kvs, metadata.KeyValue{Key: key, Value: s.keys[key].value, Revision: s.keys[key].revision})
	}
	img, err := metadata.Load(kvs, s.revision)
	if err != nil {
		panic(err)
	}
	return img
}
