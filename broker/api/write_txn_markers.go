package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/txn"
)

// WriteTxnMarkers, key 27, versions 1–2 (KIP-98, KIP-890): a transaction coordinator has partitions' leaders append its markers.
// Apache Kafka demands CLUSTER_ACTION, or ALTER on the cluster for who cleans up hanging transactions (KIP-664); and so will we
// when there are authorizers.
func (c *call) writeTxnMarkers(req *kmsg.WriteTxnMarkersRequest) {
	resp := req.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
	resp.Markers = make([]kmsg.WriteTxnMarkersResponseMarker, len(req.Markers))
	g := newGather(len(req.Markers), func() { c.answer(resp) })
	for i := range req.Markers {
		m, rm := &req.Markers[i], &resp.Markers[i]
		rm.ProducerID = m.ProducerID
		ask := &broker.MarkerRequest{ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch, Commit: m.Committed,
			CoordinatorEpoch: m.CoordinatorEpoch, Version: m.TransactionVersion}
		for _, t := range m.Topics {
			for _, index := range t.Partitions {
				ask.Partitions = append(ask.Partitions, txn.Partition{Topic: t.Topic, Index: index})
			}
		}
		c.Broker.WriteMarkers(ask, func(errs []error) {
			for _, t := range m.Topics {
				rt := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
				rt.Topic = t.Topic
				for _, index := range t.Partitions {
					rp := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
					rp.Partition, rp.ErrorCode = index, c.code(errs[0])
					errs = errs[1:]
					rt.Partitions = append(rt.Partitions, rp)
				}
				rm.Topics = append(rm.Topics, rt)
			}
			g.done()
		})
	}
}
