package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
	"millrace/protocol"
)

// OffsetFetch, key 9, versions 1–10 (KIP-88, KIP-320, KIP-447, KIP-709, KIP-848).
//
// A group that nobody knows has no offsets, which is no error.
func (c *call) offsetFetch(req *kmsg.OffsetFetchRequest) {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	asked := req.Groups
	if req.Version < 8 {
		asked = []kmsg.OffsetFetchRequestGroup{onlyGroup(req)}
	}
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(asked))
	g := newGather(len(asked), func() {
		if req.Version < 8 {
			oldOffsets(req, resp)
		}
		c.answer(resp)
	})
	for i := range asked {
		c.fetchGroup(req, &asked[i], &resp.Groups[i], g.done)
	}
}

// onlyGroup is the group of a request below version 8.
func onlyGroup(req *kmsg.OffsetFetchRequest) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = req.Group
	if req.Topics == nil {
		return g
	}
	g.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
	for i, t := range req.Topics {
		g.Topics[i].Topic, g.Topics[i].Partitions = t.Topic, t.Partitions
	}
	return g
}

func (c *call) fetchGroup(req *kmsg.OffsetFetchRequest, asked *kmsg.OffsetFetchRequestGroup,
	rg *kmsg.OffsetFetchResponseGroup, done func()) {
	rg.Group = asked.Group
	e := &group.FetchOffsets{GroupID: asked.Group, All: asked.Topics == nil, RequireStable: req.RequireStable,
		MemberID: asked.MemberID, MemberEpoch: asked.MemberEpoch}
	if e.MemberID == nil && e.MemberEpoch >= 0 {
		e.MemberID = new("") // an epoch of nobody: refused
	}
	image := c.image()
	rg.Topics = make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(asked.Topics))
	var out []int // index in rg.Topics of each topic of e
	for _, t := range asked.Topics {
		rt := kmsg.OffsetFetchResponseGroupTopic{Topic: t.Topic, TopicID: t.TopicID}
		if req.Version >= 10 {
			topic := image.TopicByID(t.TopicID)
			if topic == nil {
				rt.Partitions = noOffsets(t.Partitions, protocol.UnknownTopicID)
				rg.Topics = append(rg.Topics, rt)
				continue
			}
			t.Topic = topic.Name
		}
		out = append(out, len(rg.Topics))
		rg.Topics = append(rg.Topics, rt)
		e.Topics = append(e.Topics, group.FetchTopic{Name: t.Topic, Partitions: t.Partitions})
	}
	broker.AskCoordinator(c.Broker, asked.Group, e, nil, func(r *group.OffsetsResult, err error) {
		switch {
		case err != nil:
			rg.Topics, rg.ErrorCode = nil, c.code(err)
		case e.All:
			c.allOffsets(req, rg, r)
		default:
			for i, t := range r.Topics {
				rg.Topics[out[i]].Partitions = offsets(t.Partitions)
			}
		}
		done()
	})
}

// allOffsets answers with every topic that has an offset; from version 10 on only those that have an id, too.
func (c *call) allOffsets(req *kmsg.OffsetFetchRequest, rg *kmsg.OffsetFetchResponseGroup, r *group.OffsetsResult) {
	image := c.image()
	for _, t := range r.Topics {
		rt := kmsg.OffsetFetchResponseGroupTopic{Topic: t.Name, Partitions: offsets(t.Partitions)}
		if req.Version >= 10 {
			topic := image.Topic(t.Name)
			if topic == nil {
				continue
			}
			rt.TopicID = topic.ID
		}
		rg.Topics = append(rg.Topics, rt)
	}
}

func offsets(from []group.OffsetsPartition) []kmsg.OffsetFetchResponseGroupTopicPartition {
	to := make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(from))
	for i, p := range from {
		to[i].Partition, to[i].Offset, to[i].LeaderEpoch, to[i].Metadata = p.Partition, p.Offset, p.LeaderEpoch, &p.Metadata
		to[i].ErrorCode = int16(codeOf(p.Err))
	}
	return to
}

func noOffsets(partitions []int32, code protocol.Code) []kmsg.OffsetFetchResponseGroupTopicPartition {
	to := make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(partitions))
	for i, p := range partitions {
		to[i].Partition, to[i].Offset, to[i].LeaderEpoch, to[i].Metadata = p, -1, -1, new("")
		to[i].ErrorCode = int16(code)
	}
	return to
}

// oldOffsets moves the answer for the only group to where it was before version 8. Version 1 has no place for an error
// but beside each partition.
func oldOffsets(req *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) {
	only := resp.Groups[0]
	resp.Groups, resp.ErrorCode = nil, only.ErrorCode
	if only.ErrorCode != 0 && req.Version < 2 {
		for _, t := range req.Topics {
			only.Topics = append(only.Topics, kmsg.OffsetFetchResponseGroupTopic{
				Topic: t.Topic, Partitions: noOffsets(t.Partitions, protocol.Code(only.ErrorCode)),
			})
		}
	}
	resp.Topics = make([]kmsg.OffsetFetchResponseTopic, len(only.Topics))
	for i, t := range only.Topics {
		resp.Topics[i].Topic = t.Topic
		resp.Topics[i].Partitions = make([]kmsg.OffsetFetchResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			resp.Topics[i].Partitions[j] = kmsg.OffsetFetchResponseTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
			}
		}
	}
}
