package etcd

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"millrace/metadata"
)

// streamOptions: a stream waits for a connection, and takes messages of any size.
var streamOptions = []grpc.CallOption{grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(math.MaxInt32)}

// watch is one Watch: a goroutine that reads a stream of etcd's, and opens
// another when that one ends or nothing comes of it.
//
// The client library's watcher would do the reopening too. It isn't used because
// it hides where it stands, keeps what the receiver hasn't taken in a list without
// bound, and can't be told that a stream which is open is dead.
type watch struct {
	store   *Store
	deliver func(metadata.Batch, error)
	ctx     context.Context
	stop    context.CancelFunc
	news    chan struct{} // capacity 1: want or urgent has changed

	mu     sync.Mutex
	want   int64 // guarded by mu: a revision to be reached
	urgent bool  // guarded by mu: and no events are to be expected of it
	over   bool  // guarded by mu: nothing is delivered any more

	// The goroutine's.
	next    int64         // the first revision that wasn't delivered
	cluster uint64        // etcd's id, when the watch began
	lost    bool          // it is known that the stream was cut off
	opening time.Duration // how long a stream may take to open
}

// Watch implements metadata.Store.
func (s *Store) Watch(from int64, deliver func(metadata.Batch, error)) (cancel func()) {
	w := &watch{store: s, deliver: deliver, next: max(from, 1), cluster: s.cluster.Load(), opening: watchStall, news: make(chan struct{}, 1)}
	w.ctx, w.stop = context.WithCancel(s.ctx)
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.watches[w] = true
		s.wg.Go(w.run)
	}
	s.mu.Unlock()
	if closed {
		w.finish(metadata.ErrClosed)
	}
	return func() {
		w.mu.Lock()
		w.over = true
		w.mu.Unlock()
		w.stop()
	}
}

// reach has every watch come to revision, which a commit was answered with.
func (s *Store) reach(revision int64, effective bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.expect(revision, !effective)
	}
}

func (w *watch) expect(revision int64, urgent bool) {
	w.mu.Lock()
	w.want = max(w.want, revision)
	w.urgent = w.urgent || urgent
	w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// wanted says whether there is a revision to be reached, and whether at once.
func (w *watch) wanted() (wanted, urgent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.want < w.next {
		w.urgent = false
	}
	return w.want >= w.next, w.urgent
}

// send calls deliver unless the watch was cancelled.
func (w *watch) send(b metadata.Batch, err error) {
	w.mu.Lock()
	over := w.over
	w.over = over || err != nil
	w.mu.Unlock()
	if !over {
		w.deliver(b, err)
	}
}

// finish delivers the error that ends the watch.
func (w *watch) finish(err error) {
	w.stop()
	w.send(metadata.Batch{}, err)
}

func (w *watch) run() {
	defer func() {
		w.stop()
		w.store.mu.Lock()
		delete(w.store.watches, w)
		w.store.mu.Unlock()
	}()
	for back := watchBackMin; w.ctx.Err() == nil; {
		began := w.next
		err := w.store.on(w.follow)
		switch {
		case errors.Is(err, metadata.ErrCompacted):
			w.finish(err)
			return
		case w.ctx.Err() != nil:
		case w.next > began:
			back = watchBackMin
			fallthrough
		default:
			if !w.lost {
				w.lost = true
				w.store.log.Warn("the watch of etcd was cut off, opening another", zap.Int64("revision", w.next), zap.Error(err))
			}
			pause(w.ctx, back)
			back = min(2*back, watchBackMax)
		}
	}
	if w.store.isClosed() {
		w.finish(metadata.ErrClosed)
	}
}

// errStalled: the stream is open, and nobody at its other end.
var errStalled = errors.New("etcd doesn't answer on the watch")

// follow opens a stream and delivers what comes, until something is wrong.
func (w *watch) follow(etcd *clientv3.Client) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(w.ctx))
	f := follower{watch: w, answers: make(chan *etcdserverpb.WatchResponse), failed: make(chan error, 1)}
	defer f.reader.Wait()
	defer cancel()
	limit := time.AfterFunc(w.opening, cancel)
	defer limit.Stop()
	w.opening = min(2*w.opening, watchOpenMax)
	stream, first, err := w.open(ctx, etcd)
	if !limit.Stop() && w.ctx.Err() == nil {
		return errStalled
	}
	if err != nil {
		return err
	}
	f.stream = stream
	if err := w.created(first); err != nil {
		return err
	}
	f.reader.Go(func() { f.read(ctx) })
	return f.loop(ctx)
}

func (w *watch) open(ctx context.Context, etcd *clientv3.Client) (etcdserverpb.Watch_WatchClient, *etcdserverpb.WatchResponse, error) {
	stream, err := etcdserverpb.NewWatchClient(etcd.ActiveConnection()).Watch(ctx, streamOptions...)
	if err != nil {
		return nil, nil, err
	}
	from := w.store.meta
	create := &etcdserverpb.WatchCreateRequest{Key: []byte(from), RangeEnd: []byte(clientv3.GetPrefixRangeEnd(from)), StartRevision: w.next}
	err = stream.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: create}})
	if err != nil {
		return nil, nil, err
	}
	first, err := stream.Recv()
	return stream, first, err
}

// created checks the first answer on a stream. An etcd that was made anew (and has
// none of our revisions) is told by its id: what was seen is worth nothing.
func (w *watch) created(r *etcdserverpb.WatchResponse) error {
	if id := r.GetHeader().GetClusterId(); id != w.cluster {
		w.store.log.Error("etcd was replaced by another cluster, listing again", zap.Uint64("was", w.cluster), zap.Uint64("is", id))
		w.store.cluster.Store(id)
		return metadata.ErrCompacted
	}
	if err := w.refusal(r); err != nil {
		return err
	}
	w.opening = watchStall
	if w.lost {
		w.lost = false
		w.store.log.Info("the watch of etcd is open again")
	}
	return nil
}

func (w *watch) refusal(r *etcdserverpb.WatchResponse) error {
	switch {
	case r.GetCompactRevision() != 0:
		return metadata.ErrCompacted
	case r.GetCanceled():
		return errors.New("etcd ended the watch: " + r.GetCancelReason())
	}
	return nil
}

// follower is a watch on one stream.
type follower struct {
	*watch
	stream  etcdserverpb.Watch_WatchClient
	reader  sync.WaitGroup
	answers chan *etcdserverpb.WatchResponse
	failed  chan error

	moved bool      // something has come on this stream: a progress request will be answered
	asked time.Time // when progress was asked for first since something was heard; zero: it wasn't
	armed bool      // the timer runs for a wanted revision, and isn't set back
	timer *time.Timer
}

func (f *follower) read(ctx context.Context) {
	for {
		r, err := f.stream.Recv()
		if err != nil {
			f.failed <- err
			return
		}
		select {
		case f.answers <- r:
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) loop(ctx context.Context) error {
	f.timer = time.NewTimer(watchIdle)
	defer f.timer.Stop()
	err := f.expected()
	for err == nil {
		select {
		case r := <-f.answers:
			err = f.take(r)
			f.heard()
		case err = <-f.failed:
		case <-f.news:
			err = f.expected()
		case <-f.timer.C:
			err = f.tick()
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return err
}

// expected is called when a revision is to be reached.
func (f *follower) expected() error {
	wanted, urgent := f.wanted()
	if !wanted || !f.asked.IsZero() {
		return nil
	}
	if urgent {
		return f.ask()
	}
	if !f.armed {
		f.armed = true
		f.timer.Reset(progressLater)
	}
	return nil
}

// heard is called after every answer. What it doesn't reach (a member of etcd may
// be behind others) is asked for again, not at once.
func (f *follower) heard() {
	f.asked, f.armed = time.Time{}, false
	again := watchIdle
	if wanted, urgent := f.wanted(); urgent {
		again = progressAgain
	} else if wanted {
		again = progressLater
	}
	f.timer.Reset(again)
}

// tick is called when nothing was heard for a while.
func (f *follower) tick() error {
	f.armed = false
	wanted, _ := f.wanted()
	if !wanted && !f.moved {
		// etcd answers a progress request only from the watch's first revision on,
		// and that is yet to come. If the endpoint is gone the connection's own
		// pings will find out.
		f.timer.Reset(watchIdle)
		return nil
	}
	if !f.asked.IsZero() && time.Since(f.asked) > watchStall {
		return errStalled
	}
	return f.ask()
}

// ask asks etcd how far the watch is. It doesn't answer while it is behind, so
// the question is repeated.
func (f *follower) ask() error {
	if f.asked.IsZero() {
		f.asked = time.Now()
	}
	f.timer.Reset(progressAgain)
	return f.stream.Send(&etcdserverpb.WatchRequest{
		RequestUnion: &etcdserverpb.WatchRequest_ProgressRequest{ProgressRequest: &etcdserverpb.WatchProgressRequest{}},
	})
}

// take delivers an answer. Events carry the watch to the last one's revision: the
// header's may be of later ones, which are still to come.
func (f *follower) take(r *etcdserverpb.WatchResponse) error {
	if err := f.refusal(r); err != nil {
		return err
	}
	b := metadata.Batch{Revision: r.GetHeader().GetRevision()}
	for _, ev := range r.GetEvents() {
		kv := ev.GetKv()
		b.Revision = kv.GetModRevision()
		if b.Revision < f.next {
			continue
		}
		e := metadata.Event{Key: string(kv.GetKey()[len(f.store.meta):]), Revision: b.Revision}
		if ev.GetType() == mvccpb.Event_DELETE {
			e.Deleted = true
		} else if e.Value = kv.GetValue(); e.Value == nil {
			e.Value = []byte{}
		}
		b.Events = append(b.Events, e)
	}
	f.moved = true
	if b.Revision >= f.next {
		f.next = b.Revision + 1
		f.send(b, nil)
	}
	return nil
}
