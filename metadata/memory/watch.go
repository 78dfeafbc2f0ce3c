package memory

import (
	"slices"

	"millrace/metadata"
)

// watcher reads the history at its own pace: it has no queue, only the place
// where it stands.
type watcher struct {
	deliver func(metadata.Batch, error)

	// Guarded by the store's mu.
	next int64 // the first revision that it hasn't got
	busy bool  // somebody is delivering, and will look again before he stops
	over bool  // cancelled, or ended by an error
}

// Watch implements metadata.Store. What there is to deliver already is
// delivered before it returns.
func (s *Store) Watch(from int64, deliver func(metadata.Batch, error)) (cancel func()) {
	w := &watcher{deliver: deliver, next: max(from, 1)}
	s.mu.Lock()
	s.watchers = append(s.watchers, w)
	s.mu.Unlock()
	s.serve(w)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(w)
	}
}

// pump serves every watcher. The list may change meanwhile: whoever adds a
// watcher serves it himself.
func (s *Store) pump() {
	s.mu.Lock()
	watchers := s.watchers
	s.mu.Unlock()
	for _, w := range watchers {
		s.serve(w)
	}
}

// serve delivers to w until it has everything, unless somebody else is at it.
func (s *Store) serve(w *watcher) {
	for first := true; ; first = false {
		batch, ok, err := s.take(w, first)
		if !ok {
			return
		}
		w.deliver(batch, err)
	}
}

// take takes what w hasn't got yet, and with it the duty to serve w until take
// says that there is nothing more. first: the caller doesn't have that duty yet.
func (s *Store) take(w *watcher, first bool) (batch metadata.Batch, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first && w.busy {
		return batch, false, nil
	}
	w.busy = false
	switch {
	case w.over:
		return batch, false, nil
	case s.closed:
		err = metadata.ErrClosed
		s.end(w)
	case w.next <= s.compacted:
		err = metadata.ErrCompacted
		s.end(w)
	case w.next > s.revision:
		return batch, false, nil
	default:
		batch = join(s.history[w.next-s.compacted-1:])
		w.next = s.revision + 1
	}
	w.busy = true
	return batch, true, err
}

func join(news []metadata.Batch) metadata.Batch {
	if len(news) == 1 {
		return news[0]
	}
	batch := metadata.Batch{Revision: news[len(news)-1].Revision}
	for _, b := range news {
		batch.Events = append(batch.Events, b.Events...)
	}
	return batch
}

// end takes w off the list. The list is copied: pump may be reading it.
func (s *Store) end(w *watcher) {
	w.over = true
	s.watchers = slices.DeleteFunc(slices.Clone(s.watchers), func(other *watcher) bool { return other == w })
}
