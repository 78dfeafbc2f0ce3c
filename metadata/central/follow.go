package central

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"millrace/metadata"
)

// How long the server waits before it lists a store again that doesn't answer.
const (
	relistDelayMin = 100 * time.Millisecond
	relistDelayMax = 5 * time.Second
)

// watch is one Store.Watch.
type watch struct {
	failed chan error // one error, then nothing
	cancel func()
}

func (s *Server) startWatch(from int64) watch {
	failed := make(chan error, 1)
	cancel := s.store.Watch(from, func(b metadata.Batch, err error) {
		if err != nil {
			failed <- err
			return
		}
		s.executor.Do(func() { s.replay(b) })
	})
	return watch{failed, cancel}
}

// startFollowing has the first watch in place when it returns, so that the first
// command needn't wait until a goroutine has got round to it.
func (s *Server) startFollowing(revision int64) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	w := s.startWatch(revision + 1)
	s.follower.Go(func() { s.keepFollowing(ctx, w) })
}

// keepFollowing lists the store again whenever the watch was cut off.
func (s *Server) keepFollowing(ctx context.Context, w watch) {
	for {
		var err error
		select {
		case <-ctx.Done():
			w.cancel()
			return
		case err = <-w.failed:
		}
		w.cancel()
		if errors.Is(err, metadata.ErrClosed) {
			s.log.Warn("the metadata store was closed under the server")
			s.executor.Do(s.shut)
			return
		}
		s.log.Warn("the watch of the metadata store was cut off, listing again", zap.Error(err))
		revision, ok := s.relist(ctx)
		if !ok {
			return
		}
		w = s.startWatch(revision + 1)
	}
}

// relist publishes the store's content. It goes on trying until ctx is done,
// and then says false.
func (s *Server) relist(ctx context.Context) (revision int64, ok bool) {
	for delay := relistDelayMin; ; delay = min(2*delay, relistDelayMax) {
		img, err := s.list(ctx)
		if img != nil { // with an error: but for what couldn't be understood
			if err != nil {
				s.log.Error("the metadata store holds something unreadable", zap.Error(err))
			}
			s.executor.Do(func() { s.replace(img) })
			return img.Revision(), true
		}
		s.log.Warn("the metadata store can't be listed", zap.Error(err), zap.Duration("retry_in", delay))
		select {
		case <-ctx.Done():
			return 0, false
		case <-time.After(delay):
		}
	}
}

// replay, on the executor, takes what the watch delivered.
func (s *Server) replay(b metadata.Batch) {
	img := s.Image()
	if s.closed || b.Revision <= img.Revision() {
		return
	}
	next, deltas, err := img.Replay(b)
	if err != nil {
		s.log.Error("the metadata store holds something unreadable", zap.Error(err))
	}
	s.publish(next, deltas)
	s.advance()
}

// replace, on the executor, takes a listing after a gap.
func (s *Server) replace(next *metadata.Image) {
	if s.closed {
		return
	}
	s.publish(next, s.Image().Diff(next))
	s.advance()
}
