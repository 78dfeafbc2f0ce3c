package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
	"millrace/broker/txn"
	"millrace/metadata"
	"millrace/protocol"
)

// TxnOffsetCommit, key 28, versions 0–6 (KIP-98, KIP-447, KIP-890, KIP-848). From version 5 on the group's partition is added
// to the transaction here, which AddOffsetsToTxn does for older clients.
func (c *call) txnOffsetCommit(req *kmsg.TxnOffsetCommitRequest) {
	o := &txnOffsetCommit{call: c, req: req, resp: req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)}
	o.event = &group.TxnCommit{ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch, Commit: group.Commit{
		GroupID: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation, RetentionMs: -1}}
	o.prepare()
	if len(o.event.Topics) == 0 {
		c.answer(o.resp)
		return
	}
	c.Broker.CommitInTransaction(&broker.TxnOffsets{TransactionalID: req.TransactionalID, Event: o.event, Adds: req.Version >= 5,
		Ready: o.stillThere, Done: o.committed})
}

// txnOffsetCommit is a commit on its way, as offsetCommit is.
type txnOffsetCommit struct {
	*call
	req    *kmsg.TxnOffsetCommitRequest
	resp   *kmsg.TxnOffsetCommitResponse
	event  *group.TxnCommit
	topics []*metadata.Topic
	out    [][]*kmsg.TxnOffsetCommitResponseTopicPartition
}

// prepare sorts out what does not exist; the coordinator never hears of it.
func (o *txnOffsetCommit) prepare() {
	image := o.image()
	o.resp.Topics = make([]kmsg.TxnOffsetCommitResponseTopic, len(o.req.Topics))
	for i, t := range o.req.Topics {
		rt := &o.resp.Topics[i]
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		rt.Partitions = make([]kmsg.TxnOffsetCommitResponseTopicPartition, len(t.Partitions))
		topic, unknown := image.Topic(t.Topic), protocol.UnknownTopicOrPartition
		if o.req.Version >= 6 {
			topic, unknown = image.TopicByID(t.TopicID), protocol.UnknownTopicID
		}
		commit := group.CommitTopic{}
		var out []*kmsg.TxnOffsetCommitResponseTopicPartition
		for j, p := range t.Partitions {
			rp := &rt.Partitions[j]
			rp.Partition = p.Partition
			switch {
			case topic == nil:
				rp.ErrorCode = int16(unknown)
			case p.Partition < 0 || int(p.Partition) >= len(topic.Partitions):
				rp.ErrorCode = int16(protocol.UnknownTopicOrPartition)
			default:
				cp := group.CommitPartition{Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}
				if p.Metadata != nil {
					cp.Metadata = *p.Metadata
				}
				commit.Partitions = append(commit.Partitions, cp)
				out = append(out, rp)
			}
		}
		if len(out) > 0 {
			commit.Name = topic.Name
			o.event.Topics = append(o.event.Topics, commit)
			o.topics, o.out = append(o.topics, topic), append(o.out, out)
		}
	}
}

// stillThere looks again, on the coordinator's worker; see offsetCommit.
func (o *txnOffsetCommit) stillThere() bool {
	image, kept := o.image(), 0
	for i, topic := range o.topics {
		if now := image.Topic(topic.Name); now != nil && now.ID == topic.ID {
			o.event.Topics[kept], o.out[kept] = o.event.Topics[i], o.out[i]
			kept++
			continue
		}
		for _, rp := range o.out[i] {
			rp.ErrorCode = int16(protocol.UnknownTopicOrPartition)
		}
	}
	o.event.Topics, o.out = o.event.Topics[:kept], o.out[:kept]
	if kept == 0 {
		o.answer(o.resp)
	}
	return kept > 0
}

func (o *txnOffsetCommit) committed(r *group.CommitResult, err error) {
	if errors.Is(err, txn.ErrTransactionAbortable) && o.req.Version < 4 { // which doesn't know it
		err = txn.ErrInvalidTxnState
	}
	for i, out := range o.out {
		for j, rp := range out {
			if err != nil {
				rp.ErrorCode = o.codeFenced(err, false) // its clients take INVALID_PRODUCER_EPOCH for being fenced
			} else {
				rp.ErrorCode = o.code(r.Topics[i].Partitions[j].Err)
			}
		}
	}
	o.answer(o.resp)
}
