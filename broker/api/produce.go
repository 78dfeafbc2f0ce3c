package api

import (
	"errors"
	"net/netip"
	"sync"

	"millrace/broker"
	"millrace/broker/plog"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/kafka"
	"millrace/protocol/record"
)

// Produce, key 0, versions 3–13 (KIP-98, KIP-467, KIP-951, KIP-516); advertised from 0, see api_versions.go.
//
// Batches are checked where they lie in the frame and never decompressed, unless their max_timestamp is impossible. A
// request that names a partition twice is served in its order.

// zstdSince is the first version whose clients may send zstd (KIP-110): older consumers could not read it.
const zstdSince = 7

// Versions of clients that know transactions better (KIP-890): they know that one can be aborted and tried again, and they
// leave it to us to add partitions to it.
const (
	abortableSince = 11
	addsSince      = 12
)

// produceCode is the code of an error. What a transaction's coordinator says is told so that older clients try again where
// that helps, as Apache Kafka does.
func produceCode(err error, version int16) protocol.Code {
	switch code := codeOf(err); code {
	case protocol.CoordinatorNotAvailable, protocol.NotCoordinator, protocol.CoordinatorLoadInProgress:
		return protocol.NotEnoughReplicas
	case protocol.ConcurrentTransactions:
		if version < addsSince {
			return protocol.NotEnoughReplicas
		}
		return code
	case protocol.TransactionAbortable:
		if version < abortableSince {
			return protocol.InvalidTxnState
		}
		return code
	case protocol.ProducerFenced:
		return protocol.InvalidProducerEpoch
	default:
		return code
	}
}

// produceCall is one Produce on its way. They are pooled: a produce in steady state allocates nothing.
type produceCall struct {
	op            broker.Produce
	desk          *Desk
	slot          Slot
	request       kafka.ProduceRequest
	correlationID int32
	local         netip.AddrPort // by which the client reached us
	hints         leaderHints
	response      kafka.ProduceResponse
	out           protocol.Reply // here, since response points to it while it writes
	admission     broker.Admission
}

type producePool struct{ sync.Pool }

func (p *producePool) get() *produceCall {
	if c, ok := p.Get().(*produceCall); ok {
		return c
	}
	c := &produceCall{}
	c.op.Owner, c.op.Done = c, produced
	c.admission.Op = &c.op
	return c
}

// producePartsKept is the size up to which a call's array of partitions is kept for the next.
const producePartsKept = 1024

func (p *producePool) put(c *produceCall) {
	if cap(c.op.Parts) > producePartsKept {
		c.op.Parts = nil
	}
	clear(c.op.Parts)
	c.op.Parts = c.op.Parts[:0]
	c.desk, c.slot, c.request, c.out = nil, nil, kafka.ProduceRequest{}, protocol.Reply{}
	p.Put(c)
}

func (d *Desk) produce(s *Session, h kafka.Header, slot Slot) {
	request, err := kafka.ParseProduce(h)
	if err != nil {
		d.refuse(h, slot, err)
		return
	}
	c := d.produces.get()
	c.desk, c.slot, c.request, c.correlationID = d, slot, request, h.CorrelationID
	c.local = s.Local
	c.op.Acks, c.op.TimeoutMs = request.Acks, int64(request.TimeoutMs)
	transactional := false
	for cursor := request.Cursor(); cursor.NextTopic(); {
		for cursor.NextPartition() {
			c.op.Parts = append(c.op.Parts, broker.AppendPart{})
			part := &c.op.Parts[len(c.op.Parts)-1]
			part.Partition, part.Batch, part.Err = d.admit(&request, &cursor)
			transactional = transactional || part.Err == nil && part.Batch.IsTransactional()
		}
	}
	if transactional {
		c.admission.TransactionalID, c.admission.Adds = string(request.TransactionalID), request.Version >= addsSince
		d.Broker.ProduceInTransaction(&c.admission)
		return
	}
	c.op.Start(d.Broker)
}

// admit checks everything about one partition's records that can be checked without the partition.
func (d *Desk) admit(r *kafka.ProduceRequest, at *kafka.ProduceCursor) (*broker.Partition, record.Batch, error) {
	if r.Acks < broker.AcksAll || r.Acks > 1 {
		return nil, nil, errInvalidAcks
	}
	var p *broker.Partition
	var err error
	if r.Version >= 13 {
		p, err = d.Broker.PartitionByID(metadata.TopicID(at.ID), at.Index)
	} else {
		p, err = d.Broker.PartitionNamed(at.Name, at.Index)
	}
	if err != nil {
		return nil, nil, err
	}
	if p.Internal {
		return nil, nil, errInternalTopic
	}
	batch, err := record.Single(at.Records)
	if err == nil {
		err = batch.Check()
	}
	switch {
	case err != nil:
	case batch.Codec() == record.Zstd && r.Version < zstdSince:
		err = errZstd
	case batch.IsTransactional() && r.TransactionalID == nil:
		err = errNoTransaction
	}
	if err != nil {
		return nil, nil, err
	}
	return p, batch, nil
}

// produced is called when the last part is through, on whichever goroutine that was.
func produced(op *broker.Produce) {
	c := op.Owner.(*produceCall)
	if c.request.Acks == 0 {
		c.unanswered()
	} else {
		c.reply()
	}
	c.desk.produces.put(c)
}

// unanswered ends a produce that wants no answer. A client that sent to the wrong broker would never learn it; so, as
// on Apache Kafka, an error closes the connection and makes the client ask for the metadata again.
func (c *produceCall) unanswered() {
	for i := range c.op.Parts {
		if err := c.op.Parts[i].Err; err != nil {
			c.slot.Fail("a produce with acks=0 failed: " + err.Error())
			return
		}
	}
	c.slot.Drop()
}

func (c *produceCall) reply() {
	c.out = protocol.NewReply()
	w, i := &c.response, 0
	w.Begin(&c.out, c.request.Version, c.correlationID, c.request.Topics)
	for cursor := c.request.Cursor(); cursor.NextTopic(); {
		w.Topic(cursor.Name, cursor.ID, cursor.Partitions)
		for cursor.NextPartition() {
			part := &c.op.Parts[i]
			i++
			if part.Err != nil {
				if noKey, some := errors.AsType[*plog.NoKeyError](part.Err); some {
					w.Partition(withoutKey(noKey, part, cursor.Index))
					continue
				}
				code := produceCode(part.Err, c.request.Version)
				w.Failed(cursor.Index, code, part.Err.Error(), c.leader(code, cursor.Name, cursor.ID, cursor.Index))
				continue
			}
			w.Partition(&kafka.ProducePartition{
				Index: cursor.Index, BaseOffset: part.BaseOffset,
				LogAppendTimeMs: part.LogAppendTimeMs, LogStartOffset: part.LogStartOffset,
			})
		}
	}
	w.End(0, c.hints.endpoints)
	c.hints.reset()
	c.slot.Reply(c.out)
}

// leader is whom an answer names beside an error: as on Apache Kafka only after NOT_LEADER_OR_FOLLOWER.
func (c *produceCall) leader(code protocol.Code, name []byte, id metadata.TopicID, index int32) kafka.Leader {
	if c.request.Version < 10 || code != protocol.NotLeaderOrFollower {
		return kafka.Leader{}
	}
	return c.hints.add(c.desk.Cluster, c.local, code, name, id, index)
}
