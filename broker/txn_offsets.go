package broker

import (
	"millrace/broker/group"
	"millrace/broker/txn"
)

// TxnOffsets is a commit of offsets within a transaction (TxnOffsetCommit).
type TxnOffsets struct {
	TransactionalID string
	Event           *group.TxnCommit
	Adds            bool        // as of an Admission
	Ready           func() bool // as of AskCoordinator
	// Done gets the answer, once, on whichever goroutine, and must not block. Errors are those of packages group and txn,
	// ErrInvalidProducerEpoch and ErrUnverified.
	Done func(*group.CommitResult, error)
}

// CommitInTransaction brings offsets to a group's coordinator, when the coordinator of the transaction has said that the group's
// partition belongs to it: see admissions.
func (b *Broker) CommitInTransaction(o *TxnOffsets) {
	p := b.coordinatorOf(o.Event.GroupID)
	if p == nil {
		o.Done(nil, group.ErrNotCoordinator)
		return
	}
	asks, failed := false, error(nil)
	Visit([]*Partition{p}, func(_ int, p *Partition, err error) {
		if err != nil || p.coordinator.serving() != nil {
			failed = group.ErrNotCoordinator
			if err == nil {
				failed = p.coordinator.serving()
			}
			return
		}
		asks, failed = p.producers.verifiesOffsets(o.Event, o.Adds, p.broker.deps.NowMs())
	}, func() {
		switch {
		case failed != nil:
			o.Done(nil, failed)
		case asks:
			o.verify(b, p)
		default:
			o.commit(b, p)
		}
	})
}

// verifiesOffsets is verifies for a commit.
func (ps *producers) verifiesOffsets(e *group.TxnCommit, adds bool, nowMs int64) (bool, error) {
	s := ps.byID[e.ProducerID]
	switch {
	case s != nil && e.ProducerEpoch < s.epoch:
		return false, ErrInvalidProducerEpoch
	case s != nil && s.open && s.epoch == e.ProducerEpoch:
		return false, nil
	}
	ps.txns.verify(e.ProducerID, verification{e.ProducerEpoch, adds, nowMs})
	return true, nil
}

// verify asks the transaction's coordinator.
func (o *TxnOffsets) verify(b *Broker, p *Partition) {
	e := &txn.Add{TransactionalID: o.TransactionalID, ProducerID: o.Event.ProducerID, ProducerEpoch: o.Event.ProducerEpoch,
		Partitions: []txn.Partition{{Topic: p.Topic, Index: p.Index}}, VerifyOnly: !o.Adds}
	if o.Adds {
		e.Version = 2
	}
	b.askCoordinatorOf(e, func(errs []error, err error) {
		if err == nil {
			err = errs[0]
		}
		if err == nil {
			o.commit(b, p)
			return
		}
		Visit([]*Partition{p}, func(_ int, p *Partition, gone error) {
			if gone == nil {
				delete(p.producers.txns.verified, o.Event.ProducerID)
			}
		}, func() { o.Done(nil, err) })
	})
}

// commit brings the offsets to the group's coordinator, unless a marker has come since.
func (o *TxnOffsets) commit(b *Broker, p *Partition) {
	ready := func() bool {
		if !p.producers.admitsOffsets(o.Event) {
			o.Done(nil, ErrUnverified)
			return false
		}
		return o.Ready == nil || o.Ready()
	}
	AskCoordinator(b, o.Event.GroupID, o.Event, ready, o.Done)
}

func (ps *producers) admitsOffsets(e *group.TxnCommit) bool {
	if s := ps.byID[e.ProducerID]; s != nil && s.open && s.epoch == e.ProducerEpoch {
		return true
	}
	v, ok := ps.txns.verified[e.ProducerID]
	return ok && v.epoch == e.ProducerEpoch
}
