package kafka

import "millrace/protocol"

// ProducePartition is the outcome for one partition of a Produce request.
type ProducePartition struct {
	Index      int32
	Code       protocol.Code
	BaseOffset int64
	// LogAppendTimeMs is −1 unless the topic's timestamps are the broker's.
	LogAppendTimeMs int64
	LogStartOffset  int64 // 5+
	// RecordErrors names single records that spoiled the batch; Message sums up. Both 8+, "" is sent as null.
	RecordErrors []RecordError
	Message      string
	// Leader says where to go after NOT_LEADER_OR_FOLLOWER (10+).
	Leader Leader
}

// RecordError is a record's place in its batch, counted from 0, and what is wrong with it; "" is sent as null (KIP-467).
type RecordError struct {
	Index   int32
	Message string
}

// ProduceResponse encodes the answer to a Produce request, versions 3–13, into a reply's buffer: Begin, then for each
// topic Topic and for each of its partitions Partition, then End. It allocates nothing but what the buffer grows by.
// The zero ProduceResponse is ready for use, again and again.
type ProduceResponse struct {
	reply   *protocol.Reply
	start   int
	version int16
	left    countdown
}

// Begin starts an answer with this number of topics at the end of reply's buffer, which must be there.
func (w *ProduceResponse) Begin(reply *protocol.Reply, version int16, correlationID int32, topics int) {
	w.reply, w.start, w.version = reply, len(reply.Buf.B), version
	w.left = countdown{topics: topics}
	beginFrame(reply, correlationID, w.flexible())
	reply.Buf.B = appendSize(reply.Buf.B, topics, w.flexible())
}

func (w *ProduceResponse) flexible() bool { return w.version >= 9 }

// Topic starts a topic with this number of partitions: named by name up to version 12, by id from 13 on.
func (w *ProduceResponse) Topic(name []byte, id [16]byte, partitions int) {
	w.left.topic(partitions)
	w.reply.Buf.B = appendTopic(w.reply.Buf.B, w.version, name, id, partitions, w.flexible())
}

// appendTopic is the head of a topic in the answers to Produce and Fetch, which count their versions alike.
func appendTopic(b []byte, version int16, name []byte, id [16]byte, partitions int, flexible bool) []byte {
	if version >= topicIDSince {
		b = append(b, id[:]...)
	} else {
		b = appendString(b, name, flexible)
	}
	b = appendSize(b, partitions, flexible)
	if partitions == 0 && flexible {
		b = append(b, 0)
	}
	return b
}

// topicIDSince is the version from which Produce and Fetch name topics by id (KIP-516).
const topicIDSince = 13

// Partition adds the outcome for one partition. It keeps nothing of p.
func (w *ProduceResponse) Partition(p *ProducePartition) {
	last, flexible := w.left.partition(), w.flexible()
	b := w.reply.Buf.B
	b = appendInt32(b, p.Index)
	b = appendInt16(b, int16(p.Code))
	b = appendInt64(b, p.BaseOffset)
	b = appendInt64(b, p.LogAppendTimeMs)
	if w.version >= 5 {
		b = appendInt64(b, p.LogStartOffset)
	}
	if w.version >= 8 {
		b = appendRecordErrors(b, p.RecordErrors, flexible)
		b = appendText(b, p.Message, flexible)
	}
	switch {
	case !flexible:
	case w.version >= 10 && p.Leader.Known:
		b = append(b, 1)
		b = appendLeader(b, 0, p.Leader)
	default:
		b = append(b, 0)
	}
	if last && flexible { // the topic's own tagged fields
		b = append(b, 0)
	}
	w.reply.Buf.B = b
}

// Failed adds a partition of which nothing was appended, as Apache Kafka does: all numbers −1.
func (w *ProduceResponse) Failed(index int32, code protocol.Code, message string, leader Leader) {
	w.Partition(&ProducePartition{
		Index: index, Code: code, BaseOffset: -1, LogAppendTimeMs: -1, LogStartOffset: -1,
		Message: message, Leader: leader,
	})
}

func appendRecordErrors(b []byte, errs []RecordError, flexible bool) []byte {
	b = appendSize(b, len(errs), flexible)
	for i := range errs {
		b = appendInt32(b, errs[i].Index)
		b = appendText(b, errs[i].Message, flexible)
		if flexible {
			b = append(b, 0)
		}
	}
	return b
}

// End completes the frame. endpoints are those of the leaders that partitions named (sent from version 10 on).
func (w *ProduceResponse) End(throttleMs int32, endpoints []Endpoint) {
	w.left.end()
	b := appendInt32(w.reply.Buf.B, throttleMs)
	switch {
	case w.version >= 10:
		b = appendEndpoints(b, endpoints)
	case w.flexible():
		b = append(b, 0)
	}
	w.reply.Buf.B = b
	endFrame(w.reply, w.start, 0)
	w.reply = nil
}
