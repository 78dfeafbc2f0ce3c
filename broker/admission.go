package broker

import (
	"errors"
	"sync"
	"time"

	"millrace/broker/txn"
	"millrace/jobs"
	"millrace/protocol/record"
)

// admissions let transactional produces in (KIP-890): before the first batch of a producer's transaction is appended to a
// partition, the partition's leader asks the coordinator whether it belongs there, or, of newer clients, has it added. So a
// batch that comes late, when its transaction has ended, can't open one that nobody will end.
//
// Produces of one producer wait for each other, in their order: their sequence numbers depend on it. Those whose partitions
// have the transaction open already, nearly all, go on at once.
type admissions struct {
	mu      sync.Mutex
	closed  bool                    // guarded by mu
	waiting map[int64][]*Admission  // guarded by mu, by producer id: the first of each is being let in
	retries map[*Admission]struct{} // guarded by mu: their timer is set
}

// The pauses before a coordinator is asked again that is completing the transaction before. Kafka's
// add.partitions.to.txn.retry.backoff.ms, and how often it fits into …max.ms.
const (
	admissionRetry    = 20 * time.Millisecond
	admissionRetryMax = 5
)

// Admission is a transactional produce on its way to its partitions.
type Admission struct {
	Op              *Produce
	TransactionalID string
	Adds            bool // the client leaves it to the partitions' leaders to add them (version 2 of transactions)

	broker *Broker
	id     int64
	epoch  int16
	asked  []int // indexes of Op.Parts that the coordinator is asked for
	tries  int
	timer  jobs.Timer
	timed  bool // the timer was initialised
}

// ProduceInTransaction starts the operation when its partitions may be written to; parts that may not be have an error then,
// and no partition. Errors beside those of a Produce: those of package txn.
func (b *Broker) ProduceInTransaction(a *Admission) {
	a.broker, a.id, a.asked, a.tries = b, -1, a.asked[:0], 0
	for i := range a.Op.Parts {
		part := &a.Op.Parts[i]
		if part.Partition == nil || !part.Batch.IsTransactional() {
			continue
		}
		if a.id < 0 {
			a.id, a.epoch = part.Batch.ProducerID(), part.Batch.ProducerEpoch()
		}
		if a.id < 0 || part.Batch.ProducerID() != a.id || part.Batch.ProducerEpoch() != a.epoch {
			part.Partition, part.Err = nil, txn.ErrInvalidProducerIDMapping // one producer has one transaction
		}
	}
	as := &b.admissions
	as.mu.Lock()
	if as.waiting == nil {
		as.waiting, as.retries = map[int64][]*Admission{}, map[*Admission]struct{}{}
	}
	first := len(as.waiting[a.id]) == 0
	as.waiting[a.id] = append(as.waiting[a.id], a)
	as.mu.Unlock()
	if first {
		a.check()
	}
}

// check asks the partitions whether they have the transaction open.
func (a *Admission) check() {
	partitions := make([]*Partition, len(a.Op.Parts))
	for i := range a.Op.Parts {
		partitions[i] = a.Op.Parts[i].Partition
	}
	Visit(partitions, func(i int, p *Partition, err error) {
		if err == nil && p.producers.verifies(a.Op.Parts[i].Batch, a.Adds, p.broker.deps.NowMs()) {
			a.asked = append(a.asked, i)
		}
	}, func() {
		if len(a.asked) == 0 {
			a.start()
			return
		}
		a.ask()
	})
}

// verifies notes that a producer's first batch in a transaction is about to be verified; false: there is no need to. A
// marker that comes meanwhile takes the note away, and the batch will be refused.
func (ps *producers) verifies(b record.Batch, adds bool, nowMs int64) bool {
	if !b.IsTransactional() {
		return false
	}
	if _, duplicate, err := ps.check(b); duplicate || !errors.Is(err, ErrUnverified) {
		return false
	}
	ps.txns.verify(b.ProducerID(), verification{b.ProducerEpoch(), adds, nowMs})
	return true
}

// ask asks the coordinator.
func (a *Admission) ask() {
	e := &txn.Add{TransactionalID: a.TransactionalID, ProducerID: a.id, ProducerEpoch: a.epoch, VerifyOnly: !a.Adds}
	if a.Adds {
		e.Version = 2
	}
	for _, i := range a.asked {
		p := a.Op.Parts[i].Partition
		e.Partitions = append(e.Partitions, txn.Partition{Topic: p.Topic, Index: p.Index})
	}
	a.broker.askCoordinatorOf(e, a.answered)
}

// answered takes the coordinator's answer.
func (a *Admission) answered(errs []error, err error) {
	if errors.Is(err, txn.ErrConcurrentTransactions) && a.tries < admissionRetryMax && a.again() {
		return
	}
	var refused []*Partition
	for j, i := range a.asked {
		part := &a.Op.Parts[i]
		if err != nil {
			part.Err = err
		} else {
			part.Err = errs[j]
		}
		if part.Err != nil {
			refused = append(refused, part.Partition)
			part.Partition = nil
		}
	}
	Visit(refused, func(_ int, p *Partition, err error) {
		if err == nil {
			delete(p.producers.txns.verified, a.id)
		}
	}, a.start)
}

// again asks once more after a pause; false: the broker is closing.
func (a *Admission) again() bool {
	as := &a.broker.admissions
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.closed {
		return false
	}
	if a.tries++; !a.timed {
		a.timer.Init(a.wakeUp)
		a.timed = true
	}
	as.retries[a] = struct{}{}
	a.broker.deps.Wheel.Schedule(&a.timer, admissionRetry)
	return true
}

// wakeUp runs on the wheel's goroutine: the partition's worker asks.
func (a *Admission) wakeUp() {
	if a.broker.admissions.taken(a) && !a.Op.Parts[a.asked[0]].Partition.worker.DoDeferred(a.ask) {
		a.answered(nil, txn.ErrNotCoordinator) // the broker is closed
	}
}

// taken takes an admission off those whose timer is set; false: somebody else has.
func (as *admissions) taken(a *Admission) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	_, there := as.retries[a]
	delete(as.retries, a)
	return there
}

// start starts the operation, and lets the producer's next one come. After that the operation may be over and the admission
// in use again.
func (a *Admission) start() {
	b, id := a.broker, a.id
	as := &b.admissions
	a.Op.Start(b)
	as.mu.Lock()
	var next *Admission
	if rest := as.waiting[id][1:]; len(rest) > 0 {
		as.waiting[id], next = rest, rest[0]
	} else {
		delete(as.waiting, id)
	}
	as.mu.Unlock()
	if next != nil {
		next.check()
	}
}

// close lets go of those that wait for their timer.
func (as *admissions) close() {
	as.mu.Lock()
	as.closed = true
	var left []*Admission
	for a := range as.retries {
		left = append(left, a)
	}
	as.mu.Unlock()
	for _, a := range left {
		if as.taken(a) {
			a.broker.deps.Wheel.Cancel(&a.timer)
			a.answered(nil, txn.ErrCoordinatorNotAvailable)
		}
	}
}
