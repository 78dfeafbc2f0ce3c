package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// initProducer gets an id and an epoch for a transactional id, whose coordinator is made if need be.
func (d *desk) initProducer(id string) (producerID int64, epoch int16) {
	d.Helper()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorType, find.CoordinatorKeys = 1, []string{id}
	d.codeIs(ask[*kmsg.FindCoordinatorResponse](d, find, 6).Coordinators[0].ErrorCode, protocol.None, "FindCoordinator")
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &id, 60_000
	resp := ask[*kmsg.InitProducerIDResponse](d, req, 5)
	d.codeIs(resp.ErrorCode, protocol.None, "InitProducerId")
	return resp.ProducerID, resp.ProducerEpoch
}

func TestInitProducerIDErrors(t *testing.T) {
	d := newDesk(t, 1)
	id, _ := d.initProducer("p")
	d.initProducer("p")
	d.each(kmsg.InitProducerID, func(v int16) {
		for name, c := range map[string]struct {
			change func(*kmsg.InitProducerIDRequest)
			want   protocol.Code
			since  int16
		}{
			"empty id":          {func(r *kmsg.InitProducerIDRequest) { r.TransactionalID = new("") }, protocol.InvalidRequest, 0},
			"no timeout":        {func(r *kmsg.InitProducerIDRequest) { r.TransactionTimeoutMillis = 0 }, protocol.InvalidTransactionTimeout, 0},
			"long timeout":      {func(r *kmsg.InitProducerIDRequest) { r.TransactionTimeoutMillis = 900_001 }, protocol.InvalidTransactionTimeout, 0},
			"epoch without id":  {func(r *kmsg.InitProducerIDRequest) { r.ProducerEpoch = 0 }, protocol.InvalidRequest, 3},
			"id without epoch":  {func(r *kmsg.InitProducerIDRequest) { r.ProducerID = 0 }, protocol.InvalidRequest, 3},
			"an epoch that was": {func(r *kmsg.InitProducerIDRequest) { r.ProducerID, r.ProducerEpoch = id, 0 }, protocol.ProducerFenced, 4},
			"another's id":      {func(r *kmsg.InitProducerIDRequest) { r.ProducerID, r.ProducerEpoch = id+1, 0 }, protocol.ProducerFenced, 4},
		} {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionalID, req.TransactionTimeoutMillis = new("p"), 60_000
			c.change(req)
			if v >= c.since {
				d.codeIs(ask[*kmsg.InitProducerIDResponse](d, req, v).ErrorCode, c.want, name)
			}
		}
	})
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = new("p"), 60_000, id, 0
	d.codeIs(ask[*kmsg.InitProducerIDResponse](d, req, 3).ErrorCode, protocol.InvalidProducerEpoch, "older clients know no PRODUCER_FENCED")
}

func addRequest(id string, producerID int64, epoch int16, topic string, partitions ...int32) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = id, producerID, epoch
	t := kmsg.NewAddPartitionsToTxnRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	req.Topics = append(req.Topics, t)
	tx := kmsg.NewAddPartitionsToTxnRequestTransaction()
	tx.TransactionalID, tx.ProducerID, tx.ProducerEpoch = id, producerID, epoch
	of := kmsg.NewAddPartitionsToTxnRequestTransactionTopic()
	of.Topic, of.Partitions = topic, partitions
	tx.Topics = append(tx.Topics, of)
	req.Transactions = append(req.Transactions, tx)
	return req
}

func TestAddPartitionsToTxn(t *testing.T) {
	d := newDesk(t, 1)
	d.CreateTopic("t", 2, nil)
	id, epoch := d.initProducer("p")
	d.each(kmsg.AddPartitionsToTxn, func(v int16) {
		fenced := protocol.ProducerFenced
		if v < 2 {
			fenced = protocol.InvalidProducerEpoch
		}
		for name, c := range map[string]struct {
			req  *kmsg.AddPartitionsToTxnRequest
			want []protocol.Code
		}{
			"both":           {addRequest("p", id, epoch, "t", 0, 1), []protocol.Code{protocol.None, protocol.None}},
			"unknown":        {addRequest("p", id, epoch, "t", 0, 2), []protocol.Code{protocol.OperationNotAttempted, protocol.UnknownTopicOrPartition}},
			"unknown id":     {addRequest("q", id, epoch, "t", 0), []protocol.Code{protocol.InvalidProducerIDMapping}},
			"empty id":       {addRequest("", id, epoch, "t", 0), []protocol.Code{protocol.InvalidRequest}},
			"other producer": {addRequest("p", id+1, epoch, "t", 0), []protocol.Code{protocol.InvalidProducerIDMapping}},
			"other epoch":    {addRequest("p", id, epoch+1, "t", 0), []protocol.Code{fenced}},
		} {
			resp := ask[*kmsg.AddPartitionsToTxnResponse](d, c.req, v)
			var got []int16
			if v < 4 {
				for _, p := range resp.Topics[0].Partitions {
					got = append(got, p.ErrorCode)
				}
			} else {
				for _, p := range resp.Transactions[0].Topics[0].Partitions {
					got = append(got, p.ErrorCode)
				}
			}
			for i := range c.want {
				d.codeIs(got[i], c.want[i], name)
			}
		}
	})
	verify := addRequest("p", id, epoch, "t", 0)
	verify.Transactions[0].VerifyOnly = true
	d.codeIs(ask[*kmsg.AddPartitionsToTxnResponse](d, verify, 5).Transactions[0].Topics[0].Partitions[0].ErrorCode, protocol.None, "verify")
}

func TestEndTxnErrors(t *testing.T) {
	d := newDesk(t, 1)
	id, epoch := d.initProducer("p")
	d.each(kmsg.EndTxn, func(v int16) {
		fenced := protocol.ProducerFenced
		if v < 2 {
			fenced = protocol.InvalidProducerEpoch
		}
		for name, c := range map[string]struct {
			change func(*kmsg.EndTxnRequest)
			want   protocol.Code
		}{
			"nothing was begun": {func(*kmsg.EndTxnRequest) {}, protocol.InvalidTxnState},
			"unknown id":        {func(r *kmsg.EndTxnRequest) { r.TransactionalID = "q" }, protocol.InvalidProducerIDMapping},
			"empty id":          {func(r *kmsg.EndTxnRequest) { r.TransactionalID = "" }, protocol.InvalidRequest},
			"other producer":    {func(r *kmsg.EndTxnRequest) { r.ProducerID++ }, protocol.InvalidProducerIDMapping},
			"other epoch":       {func(r *kmsg.EndTxnRequest) { r.ProducerEpoch++ }, fenced},
		} {
			req := kmsg.NewPtrEndTxnRequest()
			req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = "p", id, epoch, true
			c.change(req)
			resp := ask[*kmsg.EndTxnResponse](d, req, v)
			d.codeIs(resp.ErrorCode, c.want, name)
			if v >= 5 && (resp.ProducerID != -1 || resp.ProducerEpoch != -1) {
				t.Errorf("%s: %+v", name, resp)
			}
		}
	})
}

func TestTxnOffsetCommit(t *testing.T) {
	d := newDesk(t, 1)
	d.CreateTopic("t", 1, nil)
	topic := d.Central.Image().Topic("t")
	d.each(kmsg.TxnOffsetCommit, func(v int16) {
		id, epoch := d.initProducer("p")
		commit := func() int16 {
			req := kmsg.NewPtrTxnOffsetCommitRequest()
			req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = "p", "g", id, epoch
			rt := kmsg.NewTxnOffsetCommitRequestTopic()
			rt.Topic, rt.TopicID = "t", topic.ID
			p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			p.Offset = int64(v)
			rt.Partitions = append(rt.Partitions, p)
			req.Topics = append(req.Topics, rt)
			return ask[*kmsg.TxnOffsetCommitResponse](d, req, v).Topics[0].Partitions[0].ErrorCode
		}
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = "p", id, epoch, "g"
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKeys = []string{"g"}
		ask[*kmsg.FindCoordinatorResponse](d, find, 6)
		if v < 5 {
			want := protocol.TransactionAbortable
			if v < 4 {
				want = protocol.InvalidTxnState
			}
			d.codeIs(commit(), want, "not added")
			d.codeIs(ask[*kmsg.AddOffsetsToTxnResponse](d, add, min(v, 4)).ErrorCode, protocol.None, "AddOffsetsToTxn")
		}
		d.codeIs(commit(), protocol.None, "commit")
		end := kmsg.NewPtrEndTxnRequest()
		end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = "p", id, epoch, true
		d.codeIs(ask[*kmsg.EndTxnResponse](d, end, 5).ErrorCode, protocol.None, "EndTxn")
	})
}

func TestDescribeAndListTransactions(t *testing.T) {
	d := newDesk(t, 1)
	d.CreateTopic("t", 2, nil)
	id, epoch := d.initProducer("p")
	d.initProducer("q")
	ask[*kmsg.AddPartitionsToTxnResponse](d, addRequest("p", id, epoch, "t", 1, 0), 3)
	describe := kmsg.NewPtrDescribeTransactionsRequest()
	describe.TransactionalIDs = []string{"p", "unknown", ""}
	states := ask[*kmsg.DescribeTransactionsResponse](d, describe, 0).TransactionStates
	d.codeIs(states[1].ErrorCode, protocol.TransactionalIDNotFound, "unknown")
	d.codeIs(states[2].ErrorCode, protocol.InvalidRequest, "empty")
	if s := states[0]; s.State != "Ongoing" || s.ProducerID != id || len(s.Topics) != 1 || len(s.Topics[0].Partitions) != 2 {
		t.Errorf("%+v", s)
	}
	list := func(v int16, change func(*kmsg.ListTransactionsRequest)) *kmsg.ListTransactionsResponse {
		req := kmsg.NewPtrListTransactionsRequest()
		change(req)
		return ask[*kmsg.ListTransactionsResponse](d, req, v)
	}
	for name, c := range map[string]struct {
		version int16
		change  func(*kmsg.ListTransactionsRequest)
		want    int
	}{
		"all":     {0, func(*kmsg.ListTransactionsRequest) {}, 2},
		"ongoing": {0, func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Ongoing", "Odd"} }, 1},
		"odd":     {0, func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Odd"} }, 0},
		"by id":   {0, func(r *kmsg.ListTransactionsRequest) { r.ProducerIDFilters = []int64{id} }, 1},
		"long":    {1, func(r *kmsg.ListTransactionsRequest) { r.DurationFilterMillis = 1 << 40 }, 1}, // what has never begun is old
		"pattern": {2, func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = new("[ab]|q") }, 1},
		"part":    {2, func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = new("") }, 2},
	} {
		if got := list(c.version, c.change); len(got.TransactionStates) != c.want || got.ErrorCode != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := list(0, func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Dead", "Odd"} }); len(got.UnknownStateFilters) != 1 {
		t.Errorf("unknown filters: %q", got.UnknownStateFilters)
	}
	d.codeIs(list(2, func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = new("(") }).ErrorCode,
		protocol.InvalidRegularExpression, "pattern")
}

func TestDescribeProducers(t *testing.T) {
	d := newDesk(t, 1)
	d.CreateTopic("t", 1, nil)
	req := kmsg.NewPtrDescribeProducersRequest()
	rt := kmsg.NewDescribeProducersRequestTopic()
	rt.Topic, rt.Partitions = "t", []int32{0, 1}
	req.Topics = append(req.Topics, rt)
	resp := ask[*kmsg.DescribeProducersResponse](d, req, 0).Topics[0]
	d.codeIs(resp.Partitions[0].ErrorCode, protocol.None, "partition 0")
	d.codeIs(resp.Partitions[1].ErrorCode, protocol.UnknownTopicOrPartition, "partition 1")
}

func TestWriteTxnMarkers(t *testing.T) {
	d := newDesk(t, 1)
	d.CreateTopic("t", 1, nil)
	d.each(kmsg.WriteTxnMarkers, func(v int16) {
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch = 7, v, true, 3
		mt := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
		mt.Topic, mt.Partitions = "t", []int32{0, 5}
		m.Topics = append(m.Topics, mt)
		fenced := m
		fenced.CoordinatorEpoch = 2
		req.Markers = append(req.Markers, m, fenced)
		resp := ask[*kmsg.WriteTxnMarkersResponse](d, req, v)
		first, second := resp.Markers[0].Topics[0].Partitions, resp.Markers[1].Topics[0].Partitions
		d.codeIs(first[0].ErrorCode, protocol.None, "marker")
		d.codeIs(first[1].ErrorCode, protocol.UnknownTopicOrPartition, "unknown partition")
		d.codeIs(second[0].ErrorCode, protocol.TransactionCoordinatorFenced, "an earlier coordinator")
	})
}
