package broker

import (
	"sync"
	"time"

	"millrace/broker/replica"
	"millrace/jobs"
)

// catchUp holds back the replicas of a broker that are not in sync, so that one that comes back and reads all that it
// missed leaves the machine to those who produce and consume now (replica.catchup.max.bytes.per.second). Replicas that are
// in sync are never held back, and those that are nearly so hardly ever.
//
// It is an account: what is read makes a debt, which time pays off. While there is a debt, partitions don't fetch. Apache
// Kafka's throttle looks at who asks for what on both sides; here the follower alone decides, since it knows best what is
// not urgent.
type catchUp struct {
	broker         *Broker
	bytesPerSecond int64 // ≤ 0: as much as comes

	mu      sync.Mutex
	paidAt  time.Time    // guarded by mu: when there is no debt any more
	waiting []*Partition // guarded by mu; bounded by the broker's replicas, each of which is on it once
	timer   jobs.Timer
}

// catchUpSlack is the debt that may be made at once: less would hold back replicas over a few records.
const catchUpSlack = 100 * time.Millisecond

func (c *catchUp) init(b *Broker) {
	c.broker, c.bytesPerSecond = b, b.deps.Config.ReplicaCatchupMaxBytesPerSecond
	c.timer.Init(c.resume)
}

// spend notes what a replica has read that is not in sync.
func (c *catchUp) spend(bytes int) {
	if c.bytesPerSecond <= 0 || bytes == 0 {
		return
	}
	now := c.broker.deps.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paidAt.Before(now) {
		c.paidAt = now
	}
	c.paidAt = c.paidAt.Add(time.Duration(float64(bytes) / float64(c.bytesPerSecond) * float64(time.Second)))
}

// holds tells whether a partition has to wait before it fetches; it will be told to go on. On the partition's worker.
func (c *catchUp) holds(p *Partition) bool {
	if c.bytesPerSecond <= 0 || p.machine.InISR() {
		return false
	}
	now := c.broker.deps.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	debt := c.paidAt.Sub(now)
	if debt <= catchUpSlack {
		return false
	}
	if !p.replication.held {
		p.replication.held = true
		c.waiting = append(c.waiting, p)
	}
	if len(c.waiting) == 1 {
		c.broker.deps.Wheel.Schedule(&c.timer, debt)
	}
	return true
}

// resume runs on the wheel's goroutine.
func (c *catchUp) resume() {
	c.mu.Lock()
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, p := range waiting {
		p.worker.DoDeferred(p.resumeFetch)
	}
}

// resumeFetch goes on where the partition was held back, if it still wants to fetch.
func (p *Partition) resumeFetch() {
	p.replication.held = false
	if p.machine == nil {
		return
	}
	if at, fetching := p.machine.Position(); fetching {
		p.follow(at)
	}
}

// follow fetches from a position, now or when the catching up allows it. On the partition's worker.
func (p *Partition) follow(at replica.Position) {
	if p.broker.catchUp.holds(p) {
		p.broker.fetchers.stop(p)
		return
	}
	p.broker.fetchers.follow(p, at)
}

func (c *catchUp) close() { c.broker.deps.Wheel.Cancel(&c.timer) }
