package api

import (
	"net/netip"
	"time"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/kafka"
)

// Fetch, key 1, versions 4–18 (KIP-98, KIP-227, KIP-320, KIP-392, KIP-516, KIP-951).
//
// Records go out as views of the slabs they lie in. Sessions are in fetch_session.go, followers in fetch_follower.go.

// fetchCall is the one fetch that a connection has at a time, kept by its session and used again.
type fetchCall struct {
	op            broker.Fetch
	desk          *Desk
	slot          Slot
	request       kafka.FetchRequest
	correlationID int32
	response      kafka.FetchResponse
	out           protocol.Reply // here, since response points to it while it writes
	session       *fetchSession  // nil: the fetch stands alone

	local     netip.AddrPort // by which the client reached us
	hints     leaderHints
	topicName []byte // of the topic whose partitions are being answered
	topicID   metadata.TopicID
}

func (d *Desk) fetch(s *Session, h kafka.Header, slot Slot) {
	if s.fetch == nil {
		s.fetch = &fetchCall{desk: d, local: s.Local}
		s.fetch.op.Owner, s.fetch.op.Done = s.fetch, fetched
	}
	c := s.fetch
	if err := c.request.Parse(h); err != nil {
		d.refuse(h, slot, err)
		return
	}
	c.slot, c.correlationID = slot, h.CorrelationID
	c.op.From = followerOf(&c.request)
	c.op.Committed = c.request.IsolationLevel == readCommitted
	s.follows = c.follower()
	if code := c.join(s); code != protocol.None {
		c.replyFailed(code)
		return
	}
	op := &c.op
	op.MaxWait = time.Duration(c.request.MaxWaitMs) * time.Millisecond
	bytesMax := d.Config.FetchMaxBytes
	if s.follows {
		bytesMax = followerBytesMax
	}
	op.BytesMax = int(max(0, min(c.request.MaxBytes, bytesMax)))
	op.BytesMin = min(int(c.request.MinBytes), op.BytesMax)
	op.Parts, op.Set = op.Parts[:0], nil
	if c.session != nil {
		op.Set = &c.session.set
	} else {
		c.single()
	}
	op.Start(d.Broker)
}

// join finds or makes the session that a fetch belongs to, if any, and brings it up to date.
func (c *fetchCall) join(s *Session) protocol.Code {
	r, cache := &c.request, &c.desk.fetchSessions
	now := time.Now()
	if r.SessionEpoch > 0 || r.SessionEpoch < -1 {
		session, code := cache.begin(r, now)
		if code != protocol.None {
			return code
		}
		session.update(r)
		if len(session.parts) == 0 { // as on Apache Kafka: nothing left to watch, and the fetch stands alone
			cache.end(session)
			cache.close(r.SessionID)
			return protocol.None
		}
		c.session, c.op.All = session, false
		return protocol.None
	}
	if r.SessionID != 0 { // a full fetch ends the session it names
		cache.close(r.SessionID)
	}
	if r.SessionEpoch < 0 {
		return protocol.None
	}
	size := 0
	for i := range r.Topics {
		size += len(r.Topics[i].Partitions)
	}
	session, evicted := cache.open(s, size, r.Version >= 13, c.follower(), now)
	evicted.drop()
	if session != nil {
		s.sessions = true
		session.update(r)
		c.session, c.op.All = session, true
	}
	return protocol.None
}

// single makes the parts of a fetch that stands alone.
func (c *fetchCall) single() {
	d, op := c.desk, &c.op
	for i := range c.request.Topics {
		t := &c.request.Topics[i]
		for j := range t.Partitions {
			asked := &t.Partitions[j]
			op.Parts = append(op.Parts, broker.FetchPart{
				LeaderEpoch: asked.CurrentLeaderEpoch, Offset: asked.FetchOffset, BytesMax: int(asked.MaxBytes),
				LastEpoch: asked.LastFetchedEpoch, DivergingEpoch: -1,
			})
			part := &op.Parts[len(op.Parts)-1]
			if c.request.Version >= 13 {
				part.Partition, part.Err = d.Broker.PartitionByID(metadata.TopicID(t.ID), asked.Index)
			} else {
				part.Partition, part.Err = d.Broker.PartitionNamed(t.Name, asked.Index)
			}
		}
	}
}

// fetched is called when the fetch is through, on whichever goroutine that was.
func fetched(op *broker.Fetch) {
	c := op.Owner.(*fetchCall)
	c.out = protocol.NewReply()
	if c.session != nil {
		c.replySession()
	} else {
		c.replySingle()
	}
	clear(op.Views) // the references are the reply's now
	op.Views = op.Views[:0]
	c.answer()
}

func (c *fetchCall) replySingle() {
	w, i := &c.response, 0
	w.Begin(&c.out, c.request.Version, c.correlationID, 0, protocol.None, 0, len(c.request.Topics))
	for t := range c.request.Topics {
		topic := &c.request.Topics[t]
		c.topic(topic.Name, topic.ID, len(topic.Partitions))
		for p := range topic.Partitions {
			c.partition(topic.Partitions[p].Index, &c.op.Parts[i])
			i++
		}
	}
	c.end()
}

// topic begins the answer for a topic with so many partitions.
func (c *fetchCall) topic(name []byte, id metadata.TopicID, partitions int) {
	c.topicName, c.topicID = name, id
	c.response.Topic(name, id, partitions)
}

// end ends the answer.
func (c *fetchCall) end() {
	c.response.End(c.hints.endpoints)
	c.hints.reset()
	c.topicName = nil
}

// leader is whom an answer names beside an error.
func (c *fetchCall) leader(code protocol.Code, index int32) kafka.Leader {
	if c.request.Version < 16 {
		return kafka.Leader{}
	}
	return c.hints.add(c.desk.Cluster, c.local, code, c.topicName, c.topicID, index)
}

// answer lets go of the call before it is answered: once it is, the connection's next fetch may begin.
func (c *fetchCall) answer() {
	slot, out := c.slot, c.out
	if c.session != nil {
		c.desk.fetchSessions.end(c.session)
	}
	c.release()
	slot.Reply(out)
}

func (c *fetchCall) partition(index int32, part *broker.FetchPart) {
	if part.Err != nil {
		c.failed(index, part)
		return
	}
	fetched := kafka.FetchedPartition{
		Index: index, HighWatermark: part.HighWatermark, LastStableOffset: part.LastStableOffset,
		LogStartOffset: part.LogStartOffset, Diverging: c.diverging(part),
	}
	if c.request.IsolationLevel != 0 {
		fetched.Aborted = make([]kafka.AbortedTransaction, 0, len(part.Aborted))
		for _, a := range part.Aborted {
			fetched.Aborted = append(fetched.Aborted, kafka.AbortedTransaction{ProducerID: a.ProducerID, FirstOffset: a.First})
		}
	}
	c.response.Partition(&fetched, c.op.Views[part.ViewFrom:part.ViewTo])
}

func (c *fetchCall) replyFailed(code protocol.Code) {
	c.out = protocol.NewReply()
	c.response.Begin(&c.out, c.request.Version, c.correlationID, 0, code, 0, 0)
	c.response.End(nil)
	c.answer()
}

// fetchPartsKept is the size up to which a connection keeps the arrays of its fetches.
const fetchPartsKept = 1024

// release lets go of the request.
func (c *fetchCall) release() {
	if cap(c.op.Parts) > fetchPartsKept {
		c.op.Parts = nil
	}
	clear(c.op.Parts)
	c.op.Parts = c.op.Parts[:0]
	c.op.Set, c.session = nil, nil
	c.slot, c.out = nil, protocol.Reply{}
	c.request.Reset()
}
