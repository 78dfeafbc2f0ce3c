package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/txn"
)

// AddPartitionsToTxn, key 24, versions 0–5 (KIP-98, KIP-890).
//
// Producers use the versions below 4, each for its own transaction; the others are for brokers, which ask in the name of
// many. Apache Kafka demands CLUSTER_ACTION for those, and so will we when there are authorizers.
func (c *call) addPartitionsToTxn(req *kmsg.AddPartitionsToTxnRequest) {
	if req.Version >= 4 {
		c.addPartitionsToTxns(req)
		return
	}
	resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	a := c.newAddition(&txn.Add{TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch})
	for _, t := range req.Topics {
		a.topic(t.Topic, t.Partitions)
	}
	a.ask(func() {
		for i, t := range req.Topics {
			rt := kmsg.NewAddPartitionsToTxnResponseTopic()
			rt.Topic = t.Topic
			for j, index := range t.Partitions {
				rp := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				rp.Partition, rp.ErrorCode = index, c.codeFenced(a.errs[i][j], req.Version >= 2)
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		c.answer(resp)
	})
}

func (c *call) addPartitionsToTxns(req *kmsg.AddPartitionsToTxnRequest) {
	resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	resp.Transactions = make([]kmsg.AddPartitionsToTxnResponseTransaction, len(req.Transactions))
	g := newGather(len(req.Transactions), func() { c.answer(resp) })
	for i := range req.Transactions {
		t, rt := &req.Transactions[i], &resp.Transactions[i]
		rt.TransactionalID = t.TransactionalID
		e := &txn.Add{TransactionalID: t.TransactionalID, ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch, VerifyOnly: t.VerifyOnly}
		if req.Version >= 5 {
			e.Version = 2
		}
		a := c.newAddition(e)
		for _, of := range t.Topics {
			a.topic(of.Topic, of.Partitions)
		}
		a.ask(func() {
			for k, of := range t.Topics {
				ro := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
				ro.Topic = of.Topic
				for j, index := range of.Partitions {
					rp := kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
					rp.Partition, rp.ErrorCode = index, c.code(a.errs[k][j])
					ro.Partitions = append(ro.Partitions, rp)
				}
				rt.Topics = append(rt.Topics, ro)
			}
			g.done()
		})
	}
}

// addition is one transaction's request to add partitions.
type addition struct {
	*call
	event   *txn.Add
	errs    [][]error // for each topic and partition as asked for
	unknown bool      // one of them doesn't exist: then none is added
}

func (c *call) newAddition(e *txn.Add) *addition { return &addition{call: c, event: e} }

// topic adds partitions of one topic to the request.
func (a *addition) topic(name string, partitions []int32) {
	t := a.image().Topic(name)
	errs := make([]error, len(partitions))
	for i, index := range partitions {
		if t == nil || index < 0 || int(index) >= len(t.Partitions) {
			errs[i] = broker.ErrUnknownPartition
			a.unknown = true
		}
		a.event.Partitions = append(a.event.Partitions, txn.Partition{Topic: name, Index: index})
	}
	a.errs = append(a.errs, errs)
}

// ask brings it to the coordinator; then errs has the answer.
func (a *addition) ask(then func()) {
	if a.unknown {
		a.each(func(_ int, err *error) {
			if *err == nil {
				*err = errNotAttempted
			}
		})
		then()
		return
	}
	broker.AskTransactions(a.Broker, a.event.TransactionalID, a.event, func(r *txn.AddResult, err error) {
		a.each(func(n int, to *error) {
			if *to = err; err == nil {
				*to = r.Errs[n]
			}
		})
		then()
	})
}

func (a *addition) each(f func(n int, err *error)) {
	n := 0
	for i := range a.errs {
		for j := range a.errs[i] {
			f(n, &a.errs[i][j])
			n++
		}
	}
}
