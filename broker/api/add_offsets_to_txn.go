package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/txn"
	"millrace/metadata"
	"millrace/protocol"
)

// AddOffsetsToTxn, key 25, versions 0–4 (KIP-98): the partition of __consumer_offsets that has the group's offsets is added.
func (c *call) addOffsetsToTxn(req *kmsg.AddOffsetsToTxnRequest) {
	if p, ok := c.Broker.OffsetsPartitionOf(req.Group); ok {
		c.addOffsets(req, p)
		return
	}
	// Nobody has asked for a group's coordinator yet; that creates the topic.
	c.Broker.FindCoordinators([]string{req.Group}, func([]*metadata.Broker, error) {
		if p, ok := c.Broker.OffsetsPartitionOf(req.Group); ok {
			c.addOffsets(req, p)
			return
		}
		resp := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
		resp.ErrorCode = int16(protocol.CoordinatorNotAvailable)
		c.answer(resp)
	})
}

func (c *call) addOffsets(req *kmsg.AddOffsetsToTxnRequest, p txn.Partition) {
	resp := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	e := &txn.Add{TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch,
		Partitions: []txn.Partition{p}}
	broker.AskTransactions(c.Broker, e.TransactionalID, e, func(_ *txn.AddResult, err error) {
		resp.ErrorCode = c.codeFenced(err, req.Version >= 2)
		c.answer(resp)
	})
}
