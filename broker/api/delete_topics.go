package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
	"millrace/protocol"
)

// DeleteTopics, key 20, versions 1–6 (KIP-4, KIP-516). The topic's records, its groups' committed offsets and its id are
// gone when the answer goes out.
func (c *call) deleteTopics(req *kmsg.DeleteTopicsRequest) {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	var refs []metadata.TopicRef
	for _, name := range req.TopicNames {
		refs = append(refs, metadata.TopicRef{Name: name})
	}
	for _, t := range req.Topics {
		ref := metadata.TopicRef{ID: t.TopicID}
		if t.Topic != nil {
			ref.Name = *t.Topic
			if *t.Topic == "" { // a name, if none that a topic can have: not the same as none
				resp.Topics = append(resp.Topics, deletedTopic("", t.TopicID, int16(protocol.UnknownTopicOrPartition), nil))
				continue
			}
		}
		refs = append(refs, ref)
	}
	if !c.Config.DeleteTopics {
		for _, ref := range refs {
			resp.Topics = append(resp.Topics, deletedTopic(ref.Name, ref.ID, int16(protocol.TopicDeletionDisabled), nil))
		}
		c.answer(resp)
		return
	}
	c.Cluster.DeleteTopics(refs, func(results []metadata.DeleteResult) {
		for _, r := range results {
			resp.Topics = append(resp.Topics, deletedTopic(r.Name, r.ID, c.code(r.Err), r.Err))
		}
		c.answer(resp)
	})
}

func deletedTopic(name string, id metadata.TopicID, code int16, err error) kmsg.DeleteTopicsResponseTopic {
	rt := kmsg.NewDeleteTopicsResponseTopic()
	if name != "" {
		rt.Topic = &name
	}
	rt.TopicID, rt.ErrorCode, rt.ErrorMessage = id, code, message(err)
	return rt
}
