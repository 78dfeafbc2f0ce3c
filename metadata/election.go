package metadata

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Term is who leads. A term begins when the key is put and ends when that is gone;
// the revision at which it was put (etcd calls it the key's create revision)
// names it.
type Term struct {
	Leader   []byte // the value that the leader campaigned with
	Revision int64  // 0: nobody leads, as far as is known
	Mine     bool   // not any more when our lease is lost, even while the store still has our key
}

// Fence is what each write of the leader has to compare: it holds until the term
// ends, whatever the leader thinks. key is the election's.
func (t Term) Fence(key string) Compare { return Compare{Key: key, Revision: t.Revision} }

// ElectionOptions of Campaign. All are required.
type ElectionOptions struct {
	Store Store
	Key   string
	Value []byte        // what others see as the leader
	TTL   time.Duration // of the lease: so long at most nobody leads after a leader has died

	// Changed gets each new term, one call at a time. It must not block, and may
	// call any method but Resign.
	Changed func(Term)
}

// Election is one candidate for the lead. It owns goroutines, which Resign ends.
type Election struct {
	options ElectionOptions
	key     *keyFollower
	session *Session // nil: none yet, or lost
	won     int64    // the revision of the term that is ours, while session is good

	stop context.CancelFunc
	wg   sync.WaitGroup

	mu   sync.Mutex
	term Term // guarded by mu
}

const electionRetry = 200 * time.Millisecond

// Campaign goes for the lead until Resign: now if nobody has it, and whenever
// it becomes free.
func Campaign(o ElectionOptions) *Election {
	life, stop := context.WithCancel(context.Background())
	e := &Election{options: o, stop: stop, key: followKey(life, o.Store, o.Key)}
	e.wg.Go(func() { e.run(life) })
	return e
}

// Term is the newest one.
func (e *Election) Term() Term {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term
}

// Resign gives up the lead and the candidacy. If it was the leader's the next one is
// elected at once, or after the lease's time if ctx is done before the store answers.
func (e *Election) Resign(ctx context.Context) error {
	e.stop()
	e.wg.Wait()
	e.key.wg.Wait()
	e.publish(Term{})
	if e.session == nil {
		return nil
	}
	return e.session.Close(ctx)
}

func (e *Election) run(life context.Context) {
	for life.Err() == nil {
		h, known := e.key.holder()
		e.publish(e.judge(h, known))
		var lost <-chan struct{}
		var retry <-chan time.Time
		switch {
		case e.session == nil:
			if err := e.open(life); errors.Is(err, ErrClosed) {
				return
			} else if err == nil {
				continue
			}
			retry = time.After(electionRetry)
		case known && h.revision == 0 && e.won == 0 && !e.campaign(life):
			e.abandon()
			retry = time.After(electionRetry)
		default:
			lost = e.session.Lost()
		}
		select {
		case <-e.key.news:
		case <-lost:
			e.abandon()
		case <-retry:
		case <-life.Done():
		}
	}
}

func (e *Election) open(life context.Context) error {
	session, err := OpenSession(life, e.options.Store, e.options.TTL)
	if err == nil {
		e.session = session
	}
	return err
}

// judge says what the key's holder means. Our own term isn't the holder's if the
// session was lost: the store may see it later.
func (e *Election) judge(h holder, known bool) Term {
	if e.won != 0 && known && h.at >= e.won && h.revision != e.won {
		e.won = 0 // somebody took it away
	}
	switch {
	case e.won != 0:
		return Term{Leader: e.options.Value, Revision: e.won, Mine: true}
	case !known || h.revision == 0:
		return Term{}
	}
	return Term{Leader: h.value, Revision: h.revision}
}

// abandon is for a session that is no good any more: the term that hung on it is
// over for us, whether or not the store knows yet.
func (e *Election) abandon() {
	if e.won != 0 {
		e.won = 0
		e.publish(Term{})
	}
	ctx, cancel := context.WithTimeout(context.Background(), electionRetry)
	defer cancel()
	_ = e.session.Close(ctx) // else it runs out
	e.session = nil
}

// campaign tries to put the key. false: it isn't known whether it did.
func (e *Election) campaign(life context.Context) bool {
	type answer struct {
		revision int64
		err      error
	}
	answers := make(chan answer, 1)
	e.options.Store.Commit(Txn{
		Compares: []Compare{{Key: e.options.Key}},
		Ops:      []Op{{Kind: OpPut, Key: e.options.Key, Value: e.options.Value, Lease: e.session.Lease()}},
	}, func(revision int64, err error) { answers <- answer{revision, err} })
	var a answer
	select {
	case a = <-answers:
	case <-e.session.Lost():
		return false
	case <-life.Done():
		return false
	}
	switch {
	case errors.Is(a.err, ErrConflict):
		return true // and the key's news will tell who was quicker
	case a.err != nil:
		return false
	}
	e.won = a.revision
	e.publish(Term{Leader: e.options.Value, Revision: e.won, Mine: true})
	return true
}

func (e *Election) publish(t Term) {
	e.mu.Lock()
	changed := t.Revision != e.term.Revision || t.Mine != e.term.Mine
	e.term = t
	e.mu.Unlock()
	if changed {
		e.options.Changed(t)
	}
}

// Observe calls changed with each new term of the election for key, one call at a
// time, without taking part in it. After cancel has returned no call is running;
// it must not be called from changed.
func Observe(store Store, key string, changed func(Term)) (cancel func()) {
	life, stop := context.WithCancel(context.Background())
	k := followKey(life, store, key)
	var wg sync.WaitGroup
	wg.Go(func() {
		var last int64
		for {
			if h, known := k.holder(); known && h.revision != last {
				last = h.revision
				changed(Term{Leader: h.value, Revision: h.revision})
			}
			select {
			case <-k.news:
			case <-life.Done():
				return
			}
		}
	})
	return func() {
		stop()
		wg.Wait()
		k.wg.Wait()
	}
}

// holder is a key's content, as of revision at.
type holder struct {
	value    []byte
	revision int64 // 0: there is no such key
	at       int64
}

// keyFollower knows a key's newest content: listed once, and watched from there.
type keyFollower struct {
	store Store
	key   string
	news  chan struct{} // capacity 1
	wg    sync.WaitGroup

	mu    sync.Mutex
	known bool   // guarded by mu
	now   holder // guarded by mu
}

func followKey(life context.Context, store Store, key string) *keyFollower {
	k := &keyFollower{store: store, key: key, news: make(chan struct{}, 1)}
	k.wg.Go(func() {
		for life.Err() == nil {
			if err := k.follow(life); errors.Is(err, ErrClosed) || !sleep(life, electionRetry) {
				return
			}
		}
	})
	return k
}

func (k *keyFollower) holder() (h holder, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now, k.known
}

// follow lists and watches until the watch is cut off.
func (k *keyFollower) follow(life context.Context) error {
	kvs, at, err := k.store.Range(life, k.key)
	if err != nil {
		return err
	}
	h := holder{at: at}
	for _, kv := range kvs {
		if kv.Key == k.key {
			h.value, h.revision = kv.Value, kv.Revision
		}
	}
	k.set(h, true) // something may have come and gone
	ended := make(chan error, 1)
	cancel := k.store.Watch(at+1, func(b Batch, err error) {
		if err != nil {
			ended <- err
			return
		}
		k.take(b)
	})
	defer cancel()
	select {
	case err := <-ended:
		return err
	case <-life.Done():
		return life.Err()
	}
}

func (k *keyFollower) take(b Batch) {
	h, _ := k.holder()
	h.at = b.Revision
	touched := false
	for _, ev := range b.Events {
		if ev.Key == k.key {
			touched = true
			h.value, h.revision = ev.Value, ev.Revision
			if ev.Deleted {
				h.revision = 0
			}
		}
	}
	k.set(h, touched)
}

func (k *keyFollower) set(h holder, news bool) {
	k.mu.Lock()
	k.known, k.now = true, h
	k.mu.Unlock()
	if !news {
		return
	}
	select {
	case k.news <- struct{}{}:
	default:
	}
}
