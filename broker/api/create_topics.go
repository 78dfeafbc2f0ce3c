package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
)

// CreateTopics, key 19, versions 2–7 (KIP-4, KIP-464, KIP-525, KIP-516).
//
// When the answer goes out every broker of this process already leads its partitions, so timeout_ms is never needed.
func (c *call) createTopics(req *kmsg.CreateTopicsRequest) {
	specs := make([]metadata.TopicSpec, len(req.Topics))
	for i := range req.Topics {
		specs[i] = topicSpec(&req.Topics[i])
	}
	c.Cluster.CreateTopics(specs, req.ValidateOnly, func(results []metadata.TopicResult) {
		resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
		answered := map[string]bool{}
		for i := range results {
			// A name that was sent twice was refused, and is answered once.
			if !answered[results[i].Name] {
				answered[results[i].Name] = true
				resp.Topics = append(resp.Topics, c.createdTopic(&results[i]))
			}
		}
		c.answer(resp)
	})
}

func topicSpec(t *kmsg.CreateTopicsRequestTopic) metadata.TopicSpec {
	spec := metadata.TopicSpec{Name: t.Topic, Partitions: t.NumPartitions, ReplicationFactor: t.ReplicationFactor}
	for _, a := range t.ReplicaAssignment {
		spec.Assignment = append(spec.Assignment, metadata.ReplicaAssignment{Partition: a.Partition, Replicas: a.Replicas})
	}
	for _, config := range t.Configs {
		if spec.Configs == nil {
			spec.Configs = map[string]*string{}
		}
		spec.Configs[config.Name] = config.Value
	}
	return spec
}

func (c *call) createdTopic(r *metadata.TopicResult) kmsg.CreateTopicsResponseTopic {
	rt := kmsg.NewCreateTopicsResponseTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = r.Name, -1, -1
	if r.Err != nil {
		rt.ErrorCode, rt.ErrorMessage = c.code(r.Err), message(r.Err)
		return rt
	}
	rt.TopicID = r.Topic.ID
	rt.NumPartitions, rt.ReplicationFactor = int32(len(r.Topic.Partitions)), r.Topic.ReplicationFactor()
	rt.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	for _, e := range c.Broker.Config().DescribeTopicAll(r.Topic.Configs) {
		rc := kmsg.NewCreateTopicsResponseTopicConfig()
		rc.Name, rc.Value, rc.ReadOnly = e.Name, e.Value, e.ReadOnly
		rc.Source, rc.IsSensitive = int8(e.Source), e.Sensitive
		rt.Configs = append(rt.Configs, rc)
	}
	return rt
}

// message is the text that goes beside an error's code; none beside no error.
func message(err error) *string {
	if err == nil {
		return nil
	}
	text := err.Error()
	return &text
}
