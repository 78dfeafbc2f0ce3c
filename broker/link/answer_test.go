package link

import (
	"bytes"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol/kafka"
)

// answerOf is an answer on the wire, without its size, with this many partitions that have records.
func answerOf(partitions int) []byte {
	resp, topic := kmsg.NewPtrFetchResponse(), kmsg.NewFetchResponseTopic()
	resp.Version = kafka.ReplicaFetchVersion
	for i := range partitions {
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.RecordBatches = int32(i), bytes.Repeat([]byte{byte(i)}, i)
		topic.Partitions = append(topic.Partitions, p)
	}
	resp.Topics = append(resp.Topics, topic)
	return resp.AppendTo([]byte{0, 0, 0, 1, 0})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte{})
	f.Add(answerOf(0))
	f.Add(answerOf(5))
	f.Fuzz(func(t *testing.T, b []byte) {
		a := answer{bytes: b}
		found, _, _, err := a.parse(nil)
		if err != nil && len(found) > 0 {
			t.Fatal("something is found in an answer that can't be read")
		}
		records := 0
		for i := range found {
			for _, v := range found[i].Records {
				records += len(v.Bytes)
			}
		}
		if records+len(found) > len(b) {
			t.Fatalf("%d partitions with %d bytes in %d", len(found), records, len(b))
		}
	})
}

// Found partitions have their own records however the lists grow, behind what was found before.
func TestAnswerParse(t *testing.T) {
	a := answer{bytes: answerOf(100)}
	before := make([]broker.ReplicaFound, 1, 2)
	found, _, _, err := a.parse(before)
	if err != nil || len(found) != 101 {
		t.Fatalf("%d found, %v", len(found), err)
	}
	for i := range found[1:] {
		x := &found[1+i]
		if x.Index != int32(i) || i == 0 != (x.Records == nil) ||
			i > 0 && !bytes.Equal(x.Records[0].Bytes, bytes.Repeat([]byte{byte(i)}, i)) {
			t.Errorf("%d: %+v", i, x)
		}
	}
}

// Memory grows with what arrives, is kept while it is of use, and then given back.
func TestAnswerMemory(t *testing.T) {
	nothing := func() {}
	a := &answer{}
	if err := a.read(bytes.NewReader(make([]byte, 100)), 1<<30, nothing); err != io.EOF || cap(a.bytes) > bytesGrownMin {
		t.Errorf("%v, %d bytes for 100", err, cap(a.bytes))
	}
	const large = 1 << 20
	for range 3 {
		if err := a.read(iotest.HalfReader(bytes.NewReader(make([]byte, large))), large, nothing); err != nil || len(a.bytes) != large {
			t.Fatalf("%v, %d bytes", err, len(a.bytes))
		}
		a.rest()
	}
	was := cap(a.bytes)
	if was < large || was > 2*large {
		t.Errorf("%d bytes are kept for %d", was, large)
	}
	for i := range 2 * smallMax {
		if err := a.read(bytes.NewReader(make([]byte, 100)), 100, nothing); err != nil {
			t.Fatal(err)
		}
		if a.rest(); i < smallMax/2 && cap(a.bytes) != was {
			t.Fatalf("given back after %d", i)
		}
	}
	if cap(a.bytes) > bytesGrownMin {
		t.Errorf("%d bytes are kept", cap(a.bytes))
	}
}

// A session's epochs, as the leader counts them.
func TestSessionEpochs(t *testing.T) {
	s := session{positions: map[broker.PartitionKey]broker.ReplicaPosition{}}
	over, r := &conn{}, &broker.ReplicaFetch{}
	r.Changed = []broker.ReplicaPosition{{Offset: 1}}
	next := func(id, epoch int32, partitions int) {
		t.Helper()
		q := s.ask(over, metadata.Member{}, r)
		r.Changed = nil
		named := 0
		for i := range q.Topics {
			named += len(q.Topics[i].Partitions)
		}
		if q.SessionID != id || q.SessionEpoch != epoch || named != partitions {
			t.Errorf("session %d, epoch %d, %d partitions; want %d, %d, %d", q.SessionID, q.SessionEpoch, named, id, epoch, partitions)
		}
	}
	next(0, 0, 1)
	s.answered(0) // no session
	next(0, 0, 1)
	s.answered(7)
	next(7, 1, 0)
	s.answered(7)
	next(7, 2, 0)
	s.epoch = math.MaxInt32
	next(7, math.MaxInt32, 0)
	s.answered(7)
	next(7, 1, 0)
	s.answered(0) // the leader has ended it
	next(0, 0, 1)
	s.answered(8)
	next(8, 1, 0)
	s.answered(9) // never heard of
	next(0, 0, 1)
	s.answered(10)
	over = &conn{}
	next(0, 0, 1)
	s.answered(11)
	s.failed()
	next(11, 0, 0) // ends the old one
}
