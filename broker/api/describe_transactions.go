package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/txn"
)

// DescribeTransactions, key 65, version 0 (KIP-664).
func (c *call) describeTransactions(req *kmsg.DescribeTransactionsRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	resp.TransactionStates = make([]kmsg.DescribeTransactionsResponseTransactionState, len(req.TransactionalIDs))
	g := newGather(len(req.TransactionalIDs), func() { c.answer(resp) })
	for i, id := range req.TransactionalIDs {
		rs := &resp.TransactionStates[i]
		rs.Default()
		rs.TransactionalID = id
		broker.AskTransactions(c.Broker, id, &txn.Describe{TransactionalID: id}, func(r *txn.DescribeResult, err error) {
			if err != nil {
				rs.ErrorCode = c.code(err)
			} else {
				describeTransaction(rs, r)
			}
			g.done()
		})
	}
}

func describeTransaction(rs *kmsg.DescribeTransactionsResponseTransactionState, r *txn.DescribeResult) {
	rs.State, rs.TimeoutMillis, rs.StartTimestamp = r.State.String(), r.TimeoutMs, r.StartMs
	rs.ProducerID, rs.ProducerEpoch = r.ProducerID, r.ProducerEpoch
	for _, p := range r.Partitions { // sorted
		n := len(rs.Topics)
		if n == 0 || rs.Topics[n-1].Topic != p.Topic {
			rt := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
			rt.Topic = p.Topic
			rs.Topics = append(rs.Topics, rt)
			n++
		}
		rs.Topics[n-1].Partitions = append(rs.Topics[n-1].Partitions, p.Index)
	}
}
