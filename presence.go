package millrace

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"millrace/metadata"
	"millrace/metadata/central"
)

// presence is this process' place in a cluster of several: the lease that says that its brokers are alive, and the
// candidacy for the office of controller. It owns two goroutines.
//
// The lease says nothing about the brokers' RAM. When it was lost, because the store wasn't reached for so long, the next one
// is announced for the same incarnations, and what the brokers hold counts as it did.
type presence struct {
	store   metadata.Store
	central *central.Server
	log     *zap.Logger
	ttl     time.Duration
	members func() []metadata.Member // the brokers of this process that live

	began      time.Time
	session    atomic.Pointer[metadata.Session]
	standing   atomic.Bool  // a candidacy is being answered
	announcing atomic.Int32 // signs of life that are being answered

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

const (
	presenceTick  = 250 * time.Millisecond // the controller judges so often who was silent for too long
	sessionRetry  = 200 * time.Millisecond // between attempts to begin another session
	farewellLimit = time.Second            // for the store to be told that this process goes
)

// openPresence begins the first session, which waits until ctx is done.
func openPresence(ctx context.Context, p *presence) error {
	p.began = time.Now()
	session, err := metadata.OpenSession(ctx, p.store, p.ttl)
	if err != nil {
		return err
	}
	p.session.Store(session)
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.wg.Go(p.keep)
	p.wg.Go(p.watch)
	return nil
}

// close ends the goroutines and, with farewell, the lease: others then needn't wait for its end. It must not be called
// from a callback of the central server.
func (p *presence) close(farewell bool) {
	p.stop()
	p.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), farewellLimit)
	defer cancel()
	if !farewell {
		cancel()
	}
	_ = p.session.Load().Close(ctx) // else it runs out
}

// lease is what registrations and signs of life hang on.
func (p *presence) lease() metadata.LeaseID { return p.session.Load().Lease() }

// keep begins another session whenever one is lost.
func (p *presence) keep() {
	for {
		old := p.session.Load()
		select {
		case <-old.Lost():
		case <-p.ctx.Done():
			return
		}
		p.log.Warn("the session with the metadata store is lost; the brokers go on, and another is begun", zap.Duration("timeout", p.ttl))
		next := p.again()
		if next == nil {
			return
		}
		p.session.Store(next)
		p.announce(p.members())
		ctx, cancel := context.WithTimeout(p.ctx, farewellLimit)
		_ = old.Close(ctx) // the office, if this process had it, hangs on it still
		cancel()
		p.log.Info("there is a session with the metadata store again")
	}
}

// again tries until there is a session; nil: it is over.
func (p *presence) again() *metadata.Session {
	for {
		session, err := metadata.OpenSession(p.ctx, p.store, p.ttl)
		if err == nil {
			return session
		}
		p.log.Debug("no session with the metadata store", zap.Error(err))
		select {
		case <-time.After(sessionRetry):
		case <-p.ctx.Done():
			return nil
		}
	}
}

// announce gives brokers their signs of life, and waits for the answers.
func (p *presence) announce(members []metadata.Member) {
	answers := make(chan struct{}, len(members))
	p.announcing.Add(int32(len(members)))
	for _, m := range members {
		p.central.Announce(m, p.lease(), func(err error) {
			if err != nil {
				p.log.Warn("a broker's sign of life wasn't taken", zap.Int32("broker", m.Broker), zap.Error(err))
			}
			p.announcing.Add(-1)
			answers <- struct{}{}
		})
	}
	for range members {
		select {
		case <-answers:
		case <-p.ctx.Done():
			return
		}
	}
}

// watch tells the controller, if it is this one, the time; and sees that somebody is it, and that every broker here has
// its sign of life.
func (p *presence) watch() {
	ticker := time.NewTicker(min(presenceTick, p.ttl/24))
	defer ticker.Stop()
	var heard time.Time
	for {
		select {
		case <-ticker.C:
		case <-p.ctx.Done():
			return
		}
		now := p.nowMs()
		if h := p.session.Load().Heard(); h != heard {
			heard = h
			p.central.HeardStore(now)
		}
		p.central.Tick(now)
		p.stand()
		if missing := p.silent(); len(missing) > 0 && p.announcing.Load() == 0 {
			p.wg.Go(func() { p.announce(missing) })
		}
	}
}

// nowMs is the central server's clock: it only has to rise.
func (p *presence) nowMs() int64 { return time.Since(p.began).Milliseconds() + 1 }

// silent are the brokers of this process whose sign of life is missing.
func (p *presence) silent() (list []metadata.Member) {
	img := p.central.Image()
	for _, m := range p.members() {
		if !img.Void(m) && img.Alive(m.Broker) != m.Incarnation {
			list = append(list, m)
		}
	}
	return list
}

// stand makes this process the controller, if nobody is.
func (p *presence) stand() {
	session := p.session.Load()
	select {
	case <-session.Lost():
		return
	case <-p.ctx.Done():
		return
	default:
	}
	if p.central.Image().Controller().Token != 0 || p.standing.Swap(true) {
		return
	}
	p.central.Campaign(session.Lease(), func(bool, error) { p.standing.Store(false) })
}
