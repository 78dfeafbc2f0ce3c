package kafka

import "millrace/protocol"

// FetchedPartition is what was found in one partition of a Fetch request.
type FetchedPartition struct {
	Index            int32
	Code             protocol.Code
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64 // 5+
	// Aborted lists the aborted transactions among the records. nil goes out as null, which is how READ_UNCOMMITTED is
	// answered; READ_COMMITTED gets an empty list.
	Aborted []AbortedTransaction
	// PreferredReplica sends the client to a nearer replica (11+); none is −1 on the wire.
	PreferredReplica Replica
	// Diverging, Leader and Snapshot are tagged fields (12+), sent where they are known.
	Diverging EpochEndOffset
	Leader    Leader
	Snapshot  EpochEndOffset
}

// AbortedTransaction is a producer's aborted transaction: its records from FirstOffset on don't count.
type AbortedTransaction struct{ ProducerID, FirstOffset int64 }

// Replica is a broker's id. The zero Replica is none: broker 0 is a broker.
type Replica struct {
	Known bool
	ID    int32
}

// EpochEndOffset is where a leader epoch ends. The zero value is unknown and isn't sent.
type EpochEndOffset struct {
	Known     bool
	Epoch     int32
	EndOffset int64
}

// FetchResponse encodes the answer to a Fetch request, versions 4–18, into a reply: text into its buffer, records as
// views. Begin, then for each topic Topic and for each of its partitions Partition or Failed, then End. It allocates
// nothing but what the buffer and the list of views grow by. The zero FetchResponse is ready for use, again and again.
type FetchResponse struct {
	reply     *protocol.Reply
	start     int
	viewBytes int64
	version   int16
	left      countdown
}

// Begin starts an answer with this number of topics at the end of reply's buffer, which must be there. code is the
// error of the whole request and session the id of its session, 0 for none (both 7+).
func (w *FetchResponse) Begin(reply *protocol.Reply, version int16, correlationID, throttleMs int32,
	code protocol.Code, session int32, topics int) {
	w.reply, w.start, w.viewBytes, w.version = reply, len(reply.Buf.B), 0, version
	w.left = countdown{topics: topics}
	beginFrame(reply, correlationID, w.flexible())
	b := appendInt32(reply.Buf.B, throttleMs)
	if version >= 7 {
		b = appendInt16(b, int16(code))
		b = appendInt32(b, session)
	}
	reply.Buf.B = appendSize(b, topics, w.flexible())
}

func (w *FetchResponse) flexible() bool { return w.version >= 12 }

// Topic starts a topic with this number of partitions: named by name up to version 12, by id from 13 on.
func (w *FetchResponse) Topic(name []byte, id [16]byte, partitions int) {
	w.left.topic(partitions)
	w.reply.Buf.B = appendTopic(w.reply.Buf.B, w.version, name, id, partitions, w.flexible())
}

// Partition adds one partition and its records: whole batches, one behind the other, in any number of views. The
// references of the views pass to the reply; their At doesn't matter. No views are records of length 0, never null,
// which librdkafka can't read (KAFKA-18646). It keeps nothing of p.
func (w *FetchResponse) Partition(p *FetchedPartition, records []protocol.View) {
	last, flexible := w.left.partition(), w.flexible()
	b := w.reply.Buf.B
	b = appendInt32(b, p.Index)
	b = appendInt16(b, int16(p.Code))
	b = appendInt64(b, p.HighWatermark)
	b = appendInt64(b, p.LastStableOffset)
	if w.version >= 5 {
		b = appendInt64(b, p.LogStartOffset)
	}
	b = appendAborted(b, p.Aborted, flexible)
	if w.version >= 11 {
		preferred := int32(-1)
		if p.PreferredReplica.Known {
			preferred = p.PreferredReplica.ID
		}
		b = appendInt32(b, preferred)
	}
	w.reply.Buf.B = b
	w.records(records)
	if !flexible {
		return
	}
	b = appendFetchedTags(w.reply.Buf.B, p)
	if last { // the topic's own tagged fields
		b = append(b, 0)
	}
	w.reply.Buf.B = b
}

// Failed adds a partition that could not be read, as Apache Kafka does: offsets −1, no records.
func (w *FetchResponse) Failed(index int32, code protocol.Code, leader Leader) {
	w.Partition(&FetchedPartition{
		Index: index, Code: code, HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1,
		Aborted: []AbortedTransaction{}, Leader: leader,
	}, nil)
}

func (w *FetchResponse) records(views []protocol.View) {
	bytes := 0
	for i := range views {
		bytes += len(views[i].Bytes)
	}
	w.reply.Buf.B = appendSize(w.reply.Buf.B, bytes, w.flexible())
	for _, v := range views {
		w.reply.Adopt(v)
	}
	w.viewBytes += int64(bytes)
}

func appendAborted(b []byte, aborted []AbortedTransaction, flexible bool) []byte {
	n := len(aborted)
	if aborted == nil {
		n = -1
	}
	b = appendSize(b, n, flexible)
	for _, a := range aborted {
		b = appendInt64(b, a.ProducerID)
		b = appendInt64(b, a.FirstOffset)
		if flexible {
			b = append(b, 0)
		}
	}
	return b
}

// appendFetchedTags appends a partition's tagged fields, in the order of their numbers. Diverging epoch and snapshot
// id have the same fields, in different orders.
func appendFetchedTags(b []byte, p *FetchedPartition) []byte {
	n := byte(0)
	for _, known := range [...]bool{p.Diverging.Known, p.Leader.Known, p.Snapshot.Known} {
		if known {
			n++
		}
	}
	b = append(b, n)
	if p.Diverging.Known {
		b = append(b, 0, 4+8+1)
		b = appendInt32(b, p.Diverging.Epoch)
		b = appendInt64(b, p.Diverging.EndOffset)
		b = append(b, 0)
	}
	if p.Leader.Known {
		b = appendLeader(b, 1, p.Leader)
	}
	if p.Snapshot.Known {
		b = append(b, 2, 8+4+1)
		b = appendInt64(b, p.Snapshot.EndOffset)
		b = appendInt32(b, p.Snapshot.Epoch)
		b = append(b, 0)
	}
	return b
}

// End completes the frame. endpoints are those of the leaders that partitions named (sent from version 16 on).
func (w *FetchResponse) End(endpoints []Endpoint) {
	w.left.end()
	switch {
	case w.version >= 16:
		w.reply.Buf.B = appendEndpoints(w.reply.Buf.B, endpoints)
	case w.flexible():
		w.reply.Buf.B = append(w.reply.Buf.B, 0)
	}
	endFrame(w.reply, w.start, w.viewBytes)
	w.reply = nil
}
