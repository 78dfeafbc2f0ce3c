package api

import (
	"net/netip"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/kafka"
)

// Metadata, key 3, versions 0–13.
//
// A topic that is created by the request (auto.create.topics.enable, and from version 4 the request's own flag) is in
// the answer at once, with its leaders; Apache Kafka answers with a retriable error first. Topics are created before
// the answer is written, so that no client sees one half made.
func (c *call) metadata(req *kmsg.MetadataRequest) {
	for i := range req.Topics {
		if t := &req.Topics[i]; t.TopicID != [16]byte{} {
			t.Topic = nil // an id is what counts; Java's clients send an empty name beside it
		}
	}
	image := c.image()
	missing := c.missingTopics(image, req)
	if len(missing) == 0 {
		known := kafka.EncodeShared(c.describeTopics(image, req, nil))
		c.answers.keep(image.Revision(), metadataKeyOf(c.session, c.header), c.header.Body, known)
		c.slot.Reply(known.Reply(c.header.CorrelationID))
		return
	}
	c.Cluster.CreateTopics(missing, false, func(results []metadata.TopicResult) {
		failed := map[string]error{}
		for _, r := range results {
			if r.Err != nil {
				failed[r.Name] = r.Err
			}
		}
		c.answer(c.describeTopics(c.image(), req, failed))
	})
}

// missingTopics are the topics that this request asks to be created.
func (c *call) missingTopics(image *metadata.Image, req *kmsg.MetadataRequest) (specs []metadata.TopicSpec) {
	if !c.Config.AutoCreateTopics || req.Version >= 4 && !req.AllowAutoTopicCreation {
		return nil
	}
	seen := map[string]bool{}
	for _, t := range req.Topics {
		if t.Topic == nil || seen[*t.Topic] || image.Topic(*t.Topic) != nil {
			continue
		}
		seen[*t.Topic] = true
		specs = append(specs, broker.AutoTopic(*t.Topic, c.Config))
	}
	return specs
}

// describeTopics is a function of the image, the request, the address by which the client reached us, and failed;
// metadataCache relies on that.
func (c *call) describeTopics(
	image *metadata.Image, req *kmsg.MetadataRequest, failed map[string]error,
) *kmsg.MetadataResponse {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	for _, b := range image.Brokers() {
		if b.Fenced {
			continue // clients would wait for it in vain
		}
		rb := kmsg.NewMetadataResponseBroker()
		rb.NodeID = b.ID
		rb.Host, rb.Port = c.endpoint(b)
		if b.Rack != "" {
			rb.Rack = &b.Rack
		}
		resp.Brokers = append(resp.Brokers, rb)
	}
	resp.ControllerID = image.ControllerID()
	id := image.ClusterID()
	resp.ClusterID = &id
	if req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = clusterOperations
	}

	ops := req.IncludeTopicAuthorizedOperations
	if all := req.Topics == nil || req.Version == 0 && len(req.Topics) == 0; all {
		resp.Topics = make([]kmsg.MetadataResponseTopic, 0, image.TopicCount())
		for _, t := range image.Topics() {
			resp.Topics = append(resp.Topics, topicMetadata(image, t, ops))
		}
		return resp
	}
	seen, seenIDs := map[string]bool{}, map[metadata.TopicID]bool{}
	for _, asked := range req.Topics {
		var t *metadata.Topic
		if asked.Topic != nil {
			if seen[*asked.Topic] {
				continue
			}
			seen[*asked.Topic] = true
			t = image.Topic(*asked.Topic)
		} else {
			if seenIDs[asked.TopicID] {
				continue
			}
			seenIDs[asked.TopicID] = true
			t = image.TopicByID(asked.TopicID)
		}
		if t != nil {
			resp.Topics = append(resp.Topics, topicMetadata(image, t, ops))
			continue
		}
		resp.Topics = append(resp.Topics, c.unknownTopic(asked, failed))
	}
	return resp
}

// unknownTopic answers for a topic that isn't there and could not be created.
func (c *call) unknownTopic(asked kmsg.MetadataRequestTopic, failed map[string]error) kmsg.MetadataResponseTopic {
	rt := kmsg.NewMetadataResponseTopic()
	rt.Topic, rt.TopicID = asked.Topic, asked.TopicID
	rt.Partitions = []kmsg.MetadataResponseTopicPartition{}
	switch {
	case asked.Topic == nil:
		rt.ErrorCode = int16(protocol.UnknownTopicID)
	case failed[*asked.Topic] != nil:
		rt.ErrorCode = c.code(failed[*asked.Topic])
	case metadata.ValidateTopicName(*asked.Topic) != nil:
		rt.ErrorCode = int16(protocol.InvalidTopicException)
	default:
		rt.ErrorCode = int16(protocol.UnknownTopicOrPartition)
	}
	return rt
}

func topicMetadata(image *metadata.Image, t *metadata.Topic, operations bool) kmsg.MetadataResponseTopic {
	rt := kmsg.NewMetadataResponseTopic()
	rt.Topic, rt.TopicID, rt.IsInternal = &t.Name, t.ID, t.Internal
	if operations {
		rt.AuthorizedOperations = topicOperations
	}
	rt.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(t.Partitions))
	for i := range t.Partitions {
		p, rp := &t.Partitions[i], &rt.Partitions[i]
		rp.Default()
		rp.Partition, rp.Leader, rp.LeaderEpoch = int32(i), image.LeaderOf(p), p.LeaderEpoch
		rp.Replicas, rp.ISR, rp.OfflineReplicas = p.Replicas, image.LiveISR(p), image.Offline(p)
		if rp.Leader == metadata.NoBroker {
			rp.ErrorCode = int16(protocol.LeaderNotAvailable)
		}
	}
	return rt
}

// endpoint is the address of a broker as this client should dial it. A listener on all addresses has none of its own:
// then it is the address by which the client reached us, since a meta-address on the wire would send the client to
// its own machine.
func (c *call) endpoint(b *metadata.Broker) (host string, port int32) {
	return endpointFor(b, c.session.Local)
}

func endpointFor(b *metadata.Broker, local netip.AddrPort) (host string, port int32) {
	if len(b.Endpoints) == 0 {
		return "", -1
	}
	e := b.Endpoints[0]
	if a, err := netip.ParseAddr(e.Host); e.Host == "" || err == nil && a.IsUnspecified() {
		return local.Addr().Unmap().String(), e.Port
	}
	return e.Host, e.Port
}
