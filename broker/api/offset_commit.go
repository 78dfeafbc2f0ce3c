package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/group"
	"millrace/metadata"
	"millrace/protocol"
)

// OffsetCommit, key 8, versions 2–10 (KIP-211, KIP-320, KIP-345, KIP-848).
func (c *call) offsetCommit(req *kmsg.OffsetCommitRequest) {
	o := &offsetCommit{call: c, req: req, resp: req.ResponseKind().(*kmsg.OffsetCommitResponse)}
	o.event = &group.Commit{
		GroupID: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation,
		RetentionMs: -1, GroupNotFound: req.Version >= 9, UnsupportedEpochs: req.Version < 9,
	}
	if req.Version <= 4 {
		o.event.RetentionMs = req.RetentionTimeMillis
	}
	o.prepare()
	if len(o.event.Topics) == 0 {
		c.answer(o.resp)
		return
	}
	broker.AskCoordinator(c.Broker, req.Group, o.event, o.stillThere, o.committed)
}

// offsetCommit is a commit on its way. What of it goes to the coordinator is in event.Topics; topics[i] is the topic
// and out[i][j] the place in the answer of its j-th partition.
type offsetCommit struct {
	*call
	req    *kmsg.OffsetCommitRequest
	resp   *kmsg.OffsetCommitResponse
	event  *group.Commit
	topics []*metadata.Topic
	out    [][]*kmsg.OffsetCommitResponseTopicPartition
}

// prepare sorts out what does not exist; the coordinator never hears of it.
func (o *offsetCommit) prepare() {
	image := o.image()
	o.resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(o.req.Topics))
	for i, t := range o.req.Topics {
		rt := &o.resp.Topics[i]
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		rt.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		topic, unknown := image.Topic(t.Topic), protocol.UnknownTopicOrPartition
		if o.req.Version >= 10 {
			topic, unknown = image.TopicByID(t.TopicID), protocol.UnknownTopicID
		}
		commit := group.CommitTopic{}
		var out []*kmsg.OffsetCommitResponseTopicPartition
		for j, p := range t.Partitions {
			rp := &rt.Partitions[j]
			rp.Partition = p.Partition
			switch {
			case topic == nil:
				rp.ErrorCode = int16(unknown)
			case p.Partition < 0 || int(p.Partition) >= len(topic.Partitions):
				rp.ErrorCode = int16(protocol.UnknownTopicOrPartition)
			default:
				commit.Partitions = append(commit.Partitions, committedPartition(&p))
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

func committedPartition(p *kmsg.OffsetCommitRequestTopicPartition) group.CommitPartition {
	c := group.CommitPartition{Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}
	if p.Metadata != nil {
		c.Metadata = *p.Metadata
	}
	return c
}

// stillThere looks again, on the coordinator's worker. A topic that was deleted since must not get an offset: the
// coordinator has dropped those it had, and one that is made again under the name would begin with it.
func (o *offsetCommit) stillThere() bool {
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

func (o *offsetCommit) committed(r *group.CommitResult, err error) {
	for i, out := range o.out {
		for j, rp := range out {
			if err != nil {
				rp.ErrorCode = o.code(err)
			} else {
				rp.ErrorCode = o.code(r.Topics[i].Partitions[j].Err)
			}
		}
	}
	o.answer(o.resp)
}
