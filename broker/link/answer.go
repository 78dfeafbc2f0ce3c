package link

import (
	"io"

	"millrace/broker"
	"millrace/broker/replica"
	"millrace/protocol"
	"millrace/protocol/kafka"
)

// answer is the memory of one answer: its bytes, and the views of records in them. Answers are used again, so a follower
// that keeps up makes no garbage. One belongs to the reader that fills it, then to the ReplicaFetch until its Release.
type answer struct {
	bytes []byte
	views []protocol.View // one for each partition
	free  func()
	small int // how often in a row it was much larger than what came
}

const (
	bytesGrownMin = 16 << 10
	// An answer that is large gives its memory back when this many in a row needed less than a quarter of it.
	smallMax = 64
)

// read takes size bytes from in. Memory is made as they arrive, whatever size claims. progress is called before each
// wait.
func (a *answer) read(in io.Reader, size int, progress func()) error {
	a.bytes = a.bytes[:0]
	for len(a.bytes) < size {
		if len(a.bytes) == cap(a.bytes) {
			grown := make([]byte, len(a.bytes), max(bytesGrownMin, min(size, 2*cap(a.bytes))))
			copy(grown, a.bytes)
			a.bytes = grown
		}
		progress()
		n, err := in.Read(a.bytes[len(a.bytes):min(size, cap(a.bytes))])
		a.bytes = a.bytes[:len(a.bytes)+n]
		if err != nil {
			return err
		}
	}
	return nil
}

// parse finds what the bytes say, and adds the partitions to found. The errors are those of kafka.FetchAnswer.
func (a *answer) parse(found []broker.ReplicaFound) (_ []broker.ReplicaFound, code protocol.Code, session int32, err error) {
	var in kafka.FetchAnswer
	if err := in.Parse(a.bytes); err != nil {
		return found, 0, 0, err
	}
	first := len(found)
	a.views = a.views[:0]
	for in.Next() {
		p := &in.Partition
		f := broker.ReplicaFound{PartitionKey: broker.PartitionKey{Topic: in.TopicID, Index: p.Index}, Err: errorOf(p.Code),
			Answer: replica.Answer{HighWatermark: p.HighWatermark, LogStart: p.LogStartOffset, DivergingEpoch: -1, DivergingEnd: -1}}
		if p.Diverging.Known {
			f.Answer.DivergingEpoch, f.Answer.DivergingEnd = p.Diverging.Epoch, p.Diverging.EndOffset
		}
		found, a.views = append(found, f), append(a.views, protocol.View{Bytes: in.Records})
	}
	if err := in.Err(); err != nil {
		return found[:first], 0, 0, err
	}
	for i := range a.views { // they have come to rest
		if len(a.views[i].Bytes) > 0 {
			found[first+i].Records = a.views[i : i+1 : i+1]
		}
	}
	return found, in.Code, in.SessionID, nil
}

// rest empties an answer that nobody uses any more, for its next use.
func (a *answer) rest() {
	a.small++
	if 4*len(a.bytes) >= cap(a.bytes) || cap(a.bytes) <= bytesGrownMin {
		a.small = 0
	}
	clear(a.views)
	if a.small > smallMax {
		a.bytes, a.views, a.small = nil, nil, 0
	}
	a.bytes, a.views = a.bytes[:0], a.views[:0]
}
