package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// DescribeCluster, key 60, versions 0–2 (KIP-700, KIP-919, KIP-1073).
//
// Brokers are the only kind of endpoint that there is to ask for: the central server has no listener of Kafka's.
func (c *call) describeCluster(req *kmsg.DescribeClusterRequest) {
	resp, image := req.ResponseKind().(*kmsg.DescribeClusterResponse), c.image()
	resp.EndpointType = req.EndpointType
	if req.Version >= 1 && req.EndpointType != 1 {
		resp.ErrorCode = int16(protocol.MismatchedEndpointType)
		if req.EndpointType != 2 {
			resp.ErrorCode = int16(protocol.UnsupportedEndpointType)
		}
		text := "this endpoint serves brokers (endpoint type 1)"
		resp.ErrorMessage = &text
		c.answer(resp)
		return
	}
	resp.ClusterID, resp.ControllerID = image.ClusterID(), image.ControllerID()
	for _, b := range image.Brokers() {
		if b.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		rb := kmsg.NewDescribeClusterResponseBroker()
		rb.NodeID, rb.IsFenced = b.ID, b.Fenced
		rb.Host, rb.Port = c.endpoint(b)
		if b.Rack != "" {
			rb.Rack = &b.Rack
		}
		resp.Brokers = append(resp.Brokers, rb)
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	c.answer(resp)
}
