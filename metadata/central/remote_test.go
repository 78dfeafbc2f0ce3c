package central

import (
	"context"
	"errors"
	"sync"
	"testing"

	"millrace/metadata"
	"millrace/metadata/memory"
)

// remote makes a store in memory behave like one at the other end of a wire: it
// answers on goroutines of its own, the watch may be ahead of a commit's answer or
// behind it, and things fail when a test wants them to.
type remote struct {
	*memory.Store
	wg sync.WaitGroup

	mu        sync.Mutex
	arrived   sync.Cond      // a commit is being held
	commitErr error          // for the next commits; they are not carried out
	listErrs  int            // so many listings fail
	held      []func()       // commits that wait, while holding
	holding   bool           // commits wait
	feeds     map[*feed]bool // running watches
}

func newRemote(t *testing.T, o memory.Options) *remote {
	r := &remote{Store: memory.Open(o), feeds: make(map[*feed]bool)}
	r.arrived.L = &r.mu
	t.Cleanup(func() {
		r.release()
		r.Close()
		r.wg.Wait()
	})
	return r
}

func (r *remote) Range(ctx context.Context, prefix string) ([]metadata.KeyValue, int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listErrs > 0 {
		r.listErrs--
		return nil, 0, errors.New("no route to the store")
	}
	return r.Store.Range(ctx, prefix)
}

func (r *remote) Commit(t metadata.Txn, done func(int64, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.commitErr
	carryOut := func() {
		r.wg.Go(func() {
			if err != nil {
				done(0, err)
				return
			}
			r.Store.Commit(t, func(revision int64, err error) { r.wg.Go(func() { done(revision, err) }) })
		})
	}
	if r.holding {
		r.held = append(r.held, carryOut)
		r.arrived.Broadcast()
		return
	}
	carryOut()
}

// hold keeps commits back until release.
func (r *remote) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holding = true
}

func (r *remote) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, carryOut := range r.held {
		carryOut()
	}
	r.holding, r.held = false, nil
}

// awaitHeld returns when a commit is being held.
func (r *remote) awaitHeld() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.held) == 0 {
		r.arrived.Wait()
	}
}

// step lets the oldest of the commits go that are held, as soon as there is one.
func (r *remote) step() {
	r.awaitHeld()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[0]()
	r.held = r.held[1:]
}

func (r *remote) failCommits(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commitErr = err
}

// cut ends every watch with err.
func (r *remote) cut(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for f := range r.feeds {
		f.put(delivery{err: err})
	}
}

type delivery struct {
	batch metadata.Batch
	err   error
}

// feed hands deliveries over to a goroutine.
type feed struct {
	mu     sync.Mutex
	queue  []delivery
	news   chan struct{} // capacity 1
	cancel context.CancelFunc
}

func (f *feed) put(d delivery) {
	f.mu.Lock()
	f.queue = append(f.queue, d)
	f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	default:
	}
}

func (f *feed) take() (d delivery, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return d, false
	}
	d, f.queue = f.queue[0], f.queue[1:]
	return d, true
}

func (r *remote) Watch(from int64, deliver func(metadata.Batch, error)) func() {
	ctx, cancel := context.WithCancel(context.Background())
	f := &feed{news: make(chan struct{}, 1)}
	stop := r.Store.Watch(from, func(b metadata.Batch, err error) { f.put(delivery{b, err}) })
	f.cancel = func() {
		stop()
		cancel()
	}
	r.mu.Lock()
	r.feeds[f] = true
	r.mu.Unlock()
	r.wg.Go(func() { r.forward(ctx, f, deliver) })
	return f.cancel
}

func (r *remote) forward(ctx context.Context, f *feed, deliver func(metadata.Batch, error)) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.feeds, f)
	}()
	for ctx.Err() == nil {
		d, ok := f.take()
		if ok {
			deliver(d.batch, d.err)
			if d.err != nil {
				return
			}
			continue
		}
		select {
		case <-f.news:
		case <-ctx.Done():
		}
	}
}
