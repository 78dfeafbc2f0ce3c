package api

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
	"millrace/protocol"
)

// DescribeQuorum, key 55, versions 0–2 (KIP-595, KIP-836, KIP-853).
//
// There is no Raft log here: metadata lies in a store that all processes share. The answer puts it into the words of
// Apache Kafka's tools:
//
//   - The leader is the broker whose process was elected to decide about the cluster, or the one that clients are told is
//     the controller where there is nothing to elect. Its epoch rises whenever another process comes into office.
//   - The high watermark is the revision of the store as this broker has heard of it.
//   - Voters are the brokers that are heard of: each of them acts on what this one knows. Fenced brokers are observers,
//     and how far they are isn't known (−1).
func (c *call) describeQuorum(req *kmsg.DescribeQuorumRequest) {
	resp, image := req.ResponseKind().(*kmsg.DescribeQuorumResponse), c.image()
	about := len(req.Topics) == 1 && req.Topics[0].Topic == metadata.ClusterMetadataTopic &&
		len(req.Topics[0].Partitions) == 1 && req.Topics[0].Partitions[0].Partition == 0
	for _, t := range req.Topics {
		rt := kmsg.NewDescribeQuorumResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			var rp kmsg.DescribeQuorumResponseTopicPartition
			switch {
			case !about:
				rp = kmsg.NewDescribeQuorumResponseTopicPartition()
				rp.ErrorCode = int16(protocol.UnknownTopicOrPartition)
			case officeOf(image) == metadata.NoBroker:
				rp = kmsg.NewDescribeQuorumResponseTopicPartition()
				rp.ErrorCode, rp.LeaderID = int16(protocol.NotLeaderOrFollower), metadata.NoBroker
			default:
				rp = quorum(image)
				resp.Nodes = c.quorumNodes(image)
			}
			rp.Partition = p.Partition
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	c.answer(resp)
}

// officeOf is the broker of the process in office: the one that has the office's token for its incarnation.
func officeOf(image *metadata.Image) int32 {
	for _, b := range image.Brokers() {
		if token := image.Controller().Token; token != 0 && b.Incarnation == token && !b.Fenced {
			return b.ID
		}
	}
	return image.ControllerID()
}

func quorum(image *metadata.Image) kmsg.DescribeQuorumResponseTopicPartition {
	rp := kmsg.NewDescribeQuorumResponseTopicPartition()
	rp.LeaderID, rp.HighWatermark = officeOf(image), image.Revision()
	rp.LeaderEpoch = int32(min(image.Controller().Revision, math.MaxInt32))
	for _, b := range image.Brokers() {
		state := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		state.ReplicaID, state.LogEndOffset = b.ID, image.Revision()
		if b.Fenced {
			state.LogEndOffset = -1
			rp.Observers = append(rp.Observers, state)
		} else {
			rp.CurrentVoters = append(rp.CurrentVoters, state)
		}
	}
	return rp
}

func (c *call) quorumNodes(image *metadata.Image) (nodes []kmsg.DescribeQuorumResponseNode) {
	for _, b := range image.Brokers() {
		node := kmsg.NewDescribeQuorumResponseNode()
		node.NodeID = b.ID
		if len(b.Endpoints) > 0 {
			l := kmsg.NewDescribeQuorumResponseNodeListener()
			host, port := c.endpoint(b)
			l.Name, l.Host, l.Port = b.Endpoints[0].Name, host, uint16(port)
			node.Listeners = append(node.Listeners, l)
		}
		nodes = append(nodes, node)
	}
	return nodes
}
