package kafka

import "millrace/protocol"

// FetchAnswer reads the answer to a Fetch request, versions 13–18, in place. Parse reads what is said of the whole;
// Next then goes through the partitions, and Err tells at the end whether it was all well formed: what Next has given
// before an error is not to be trusted. Nothing is allocated.
//
//	if err := a.Parse(frame, version); err != nil { … }
//	for a.Next() { … a.TopicID, a.Partition, a.Records … }
//	if err := a.Err(); err != nil { … }
type FetchAnswer struct {
	CorrelationID int32
	Code          protocol.Code // of the whole request
	SessionID     int32

	// What Next has come to. Aborted transactions, and where a new leader is found, are passed over.
	TopicID   [16]byte
	Partition FetchedPartition
	Records   []byte // whole batches, one behind the other; they alias the frame

	r                  reader
	topics, partitions int // to come
}

// The least that the parts of an answer take on the wire.
const (
	answeredTopicMin     = 16 + 1 + 1
	answeredPartitionMin = 4 + 2 + 8 + 8 + 8 + 1 + 4 + 1 + 1
	answeredAbortedMin   = 8 + 8 + 1
)

// Parse begins with a frame, without its size. Errors: ErrTruncated, ErrMalformed.
func (a *FetchAnswer) Parse(frame []byte) error {
	*a = FetchAnswer{r: reader{src: frame}}
	r := &a.r
	a.CorrelationID = r.int32()
	r.tags()
	r.int32() // throttle time
	a.Code = protocol.Code(r.int16())
	a.SessionID = r.int32()
	a.topics = r.array(true, answeredTopicMin)
	return r.err
}

// Next goes on to the next partition, and reports whether there is one.
func (a *FetchAnswer) Next() bool {
	r := &a.r
	for a.partitions == 0 {
		if a.topics == 0 || r.err != nil {
			return false
		}
		a.topics--
		a.TopicID = r.uuid()
		a.partitions = r.array(true, answeredPartitionMin)
		if a.partitions == 0 {
			r.tags()
		}
	}
	a.partition(r)
	if a.partitions--; a.partitions == 0 {
		r.tags()
	}
	return r.err == nil
}

func (a *FetchAnswer) partition(r *reader) {
	p := &a.Partition
	*p = FetchedPartition{Index: r.int32(), Code: protocol.Code(r.int16()), HighWatermark: r.int64(),
		LastStableOffset: r.int64(), LogStartOffset: r.int64()}
	for range r.count(true, answeredAbortedMin) {
		r.skip(8 + 8)
		r.tags()
	}
	if preferred := r.int32(); preferred >= 0 {
		p.PreferredReplica = Replica{Known: true, ID: preferred}
	}
	a.Records = r.nullableBytes(true)
	for range r.tagCount() {
		tag, value := r.tag()
		switch tag {
		case 0:
			p.Diverging = EpochEndOffset{Known: true, Epoch: value.int32(), EndOffset: value.int64()}
		case 1:
			p.Leader = Leader{Known: true, ID: value.int32(), Epoch: value.int32()}
		}
		r.check(&value)
	}
}

// Err ends the reading: it tells what was wrong with the frame, if Next has ended because of that, or what is behind the
// last partition. Errors: ErrTruncated, ErrMalformed, ErrTrailing.
func (a *FetchAnswer) Err() error {
	if a.r.err == nil {
		a.r.tags()
	}
	return a.r.end()
}

// SnapshotAnswer reads the answer to a FetchSnapshot request, version 1, that asked for one partition; an answer without
// one has the code of the whole request. content aliases the frame, which comes without its size. Errors: ErrTruncated,
// ErrMalformed, ErrTrailing.
func SnapshotAnswer(frame []byte) (correlationID int32, code protocol.Code, content []byte, err error) {
	r := reader{src: frame}
	correlationID = r.int32()
	r.tags()
	r.int32() // throttle time
	code = protocol.Code(r.int16())
	switch topics := r.array(true, snapshotTopicMin); {
	case topics == 1:
		r.string(true)
		if r.array(true, snapshotPartitionMin) != 1 {
			r.fail(ErrMalformed)
		}
		r.int32() // index
		if of := protocol.Code(r.int16()); code == protocol.None {
			code = of
		}
		r.skip(8 + 4) // the snapshot's id
		r.tags()
		r.skip(8 + 8) // size, position: it is all there
		if content = r.nullableBytes(true); content == nil {
			r.fail(ErrMalformed)
		}
		r.tags()
		r.tags()
	case topics > 1 || code == protocol.None:
		r.fail(ErrMalformed)
	}
	r.tags()
	return correlationID, code, content, r.end()
}

// The least that the parts of a FetchSnapshot answer take on the wire.
const (
	snapshotPartitionMin = 4 + 2 + 8 + 4 + 1 + 8 + 8 + 1 + 1
	snapshotTopicMin     = 1 + 1 + 1
)
