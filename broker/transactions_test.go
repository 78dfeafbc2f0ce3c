package broker_test

import (
	"errors"
	"testing"
	"time"

	"millrace/broker"
	"millrace/broker/txn"
	"millrace/metadata"
	"millrace/protocol/record"
)

// askTxn brings an event to the coordinator of transactional id "p", again while there is none.
func askTxn[R any](c *cluster, e func() txn.Event) (r R, err error) {
	c.Helper()
	c.await("the coordinator answers", func() bool {
		t := c.Central.Image().Topic(metadata.TransactionStateTopic)
		b := c.Broker(t.Partitions[broker.CoordinatorPartition("p", len(t.Partitions))].Leader)
		if b == nil {
			return false
		}
		done := make(chan struct{})
		broker.AskTransactions(b, "p", e(), func(got R, failed error) {
			r, err = got, failed
			close(done)
		})
		<-done
		return !errors.Is(err, txn.ErrLoading) && !errors.Is(err, txn.ErrNotCoordinator) && !errors.Is(err, txn.ErrConcurrentTransactions)
	})
	return r, err
}

// beginProducer makes the topic of the coordinators and gets an id and an epoch for "p".
func (c *cluster) beginProducer() *txn.InitResult {
	c.Helper()
	found := make(chan error, 1)
	c.Broker(1).FindTransactionCoordinators([]string{"p"}, func(_ []*metadata.Broker, err error) { found <- err })
	if err := <-found; err != nil {
		c.Fatal(err)
	}
	r, err := askTxn[*txn.InitResult](c, func() txn.Event {
		return &txn.Init{TransactionalID: "p", TimeoutMs: 60_000, ProducerID: txn.None, ProducerEpoch: txn.None}
	})
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// transactional produces one batch in a transaction of "p", which adds the partition.
func (c *cluster) transactional(topic string, p *txn.InitResult, sequence int32, adds bool) broker.AppendPart {
	c.Helper()
	leader, partition := c.Leader(topic, 0)
	b := batch(c, record.Options{Idempotent: true, Transactional: true, ProducerID: p.ProducerID, ProducerEpoch: p.ProducerEpoch,
		BaseSequence: sequence}, 2)
	done := make(chan broker.AppendPart, 1)
	leader.ProduceInTransaction(&broker.Admission{TransactionalID: "p", Adds: adds, Op: &broker.Produce{Acks: broker.AcksAll,
		TimeoutMs: 5000, Parts: []broker.AppendPart{{Partition: partition, Batch: b}},
		Done: func(op *broker.Produce) { done <- op.Parts[0] }}})
	return <-done
}

func (c *cluster) end(p *txn.InitResult, commit bool) *txn.EndResult {
	c.Helper()
	r, err := askTxn[*txn.EndResult](c, func() txn.Event {
		return &txn.End{TransactionalID: "p", ProducerID: p.ProducerID, ProducerEpoch: p.ProducerEpoch, Commit: commit, Version: 2}
	})
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// committedFetch reads committed records from an offset.
func (c *cluster) committedFetch(topic string, from int64) (part broker.FetchPart, read []string) {
	c.Helper()
	leader, p := c.Leader(topic, 0)
	done := make(chan struct{})
	op := &broker.Fetch{Committed: true, BytesMax: 1 << 20,
		Parts: []broker.FetchPart{{Partition: p, LeaderEpoch: -1, Offset: from, BytesMax: 1 << 20}}}
	op.Done = func(op *broker.Fetch) {
		part = op.Parts[0]
		for _, v := range op.Views {
			read = append(read, values(v.Bytes)...)
			v.Slab.Release()
		}
		op.Views = nil
		close(done)
	}
	op.Start(leader)
	<-done
	return part, read
}

// The followers know what is open and what was aborted: whoever leads next holds readers back, and tells them.
func TestTransactionsSurviveTheirLeader(t *testing.T) {
	c := newCluster(t, 3)
	c.CreateReplicated("t", 1, 3, minISR2)
	p := c.beginProducer()
	if part := c.transactional("t", p, 0, true); part.Err != nil {
		t.Fatal(part.Err)
	}
	aborted := c.end(p, false)
	c.await("the abort is there", func() bool { part, _ := c.committedFetch("t", 0); return part.LastStableOffset == 3 })
	p = &txn.InitResult{ProducerID: aborted.ProducerID, ProducerEpoch: aborted.ProducerEpoch}
	if part := c.transactional("t", p, 0, true); part.Err != nil {
		t.Fatal(part.Err)
	}
	c.KillBroker(c.Central.Image().Topic("t").Partitions[0].Leader)
	c.await("the next leader has the whole log", func() bool {
		part, _ := c.committedFetch("t", 0)
		return part.HighWatermark == 5
	})
	part, read := c.committedFetch("t", 0)
	if part.LastStableOffset != 3 || len(read) != 3 || len(part.Aborted) != 1 || part.Aborted[0].First != 0 {
		t.Errorf("%+v, %d values", part, len(read))
	}
	c.end(p, true)
	c.await("the commit is there", func() bool { part, _ := c.committedFetch("t", 0); return part.LastStableOffset == 6 })
	if part, _ := c.committedFetch("t", 3); len(part.Aborted) != 0 {
		t.Errorf("aborted: %+v", part.Aborted)
	}
}

// A batch that comes when its transaction has ended opens none; nor does one of a partition that was not added.
func TestLateBatchesAreRefused(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	p := c.beginProducer()
	if part := c.transactional("t", p, 0, false); !errors.Is(part.Err, txn.ErrTransactionAbortable) {
		t.Errorf("not added: %v", part.Err)
	}
	if part := c.transactional("t", p, 0, true); part.Err != nil {
		t.Fatal(part.Err)
	}
	if part := c.produce("t", 0, batch(t, record.Options{Idempotent: true, ProducerID: p.ProducerID, BaseSequence: 2}, 1)); !errors.Is(part.Err, broker.ErrInvalidTxnState) {
		t.Errorf("not of the transaction: %v", part.Err)
	}
	next := c.end(p, true)
	c.await("the commit is there", func() bool { part, _ := c.committedFetch("t", 0); return part.LastStableOffset == 3 })
	if part := c.transactional("t", p, 2, true); !errors.Is(part.Err, broker.ErrInvalidProducerEpoch) {
		t.Errorf("late: %v", part.Err)
	}
	p = &txn.InitResult{ProducerID: next.ProducerID, ProducerEpoch: next.ProducerEpoch}
	raw := batch(t, record.Options{Idempotent: true, Transactional: true, ProducerID: p.ProducerID, ProducerEpoch: p.ProducerEpoch}, 1)
	if part := c.produce("t", 0, raw); !errors.Is(part.Err, broker.ErrUnverified) {
		t.Errorf("past the coordinator: %v", part.Err)
	}
}

// Markers of a coordinator that is none any more, or of a producer's earlier epoch, are refused.
func TestMarkersAreFenced(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	leader, partition := c.Leader("t", 0)
	mark := func(producerEpoch int16, coordinatorEpoch int32) error {
		done := make(chan error, 1)
		leader.WriteMarkers(&broker.MarkerRequest{ProducerID: 7, ProducerEpoch: producerEpoch, CoordinatorEpoch: coordinatorEpoch,
			Partitions: []txn.Partition{{Topic: "t"}}}, func(errs []error) { done <- errs[0] })
		return <-done
	}
	for _, test := range []struct {
		producer    int16
		coordinator int32
		want        error
	}{{1, 5, nil}, {1, 5, nil}, {1, 4, broker.ErrCoordinatorFenced}, {0, 5, broker.ErrInvalidProducerEpoch}, {2, 6, nil}} {
		if err := mark(test.producer, test.coordinator); !errors.Is(err, test.want) {
			t.Errorf("epoch %d, coordinator %d: %v, want %v", test.producer, test.coordinator, err, test.want)
		}
	}
	q := []broker.ProducerQuery{{Partition: partition}}
	done := make(chan struct{})
	leader.DescribeProducers(q, func() { close(done) })
	<-done
	want := broker.ProducerInfo{ID: 7, Epoch: 2, LastSequence: -1, CoordinatorEpoch: 6, FirstOffset: -1}
	if q[0].Err != nil || len(q[0].Producers) != 1 {
		t.Fatalf("%+v", q[0])
	}
	if got := q[0].Producers[0]; time.Since(time.UnixMilli(got.LastTimestampMs)) > time.Minute {
		t.Errorf("%+v", got)
	} else if got.LastTimestampMs = 0; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
