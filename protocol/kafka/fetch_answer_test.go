package kafka

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// What we ask as a follower are the very bytes that kmsg writes.
func TestAppendFetchAsKmsg(t *testing.T) {
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		if a.Key != keyFetch || version < 15 || version > ReplicaFetchVersion {
			return
		}
		fill.tags = false
		id := "millrace"
		for range rounds {
			req := fill.request(a.Key, version).(*kmsg.FetchRequest)
			req.ClusterID, req.ReplicaState.ID = nil, 3
			for i := range req.Topics {
				for j := range req.Topics[i].Partitions {
					p := &req.Topics[i].Partitions[j]
					p.ReplicaDirectoryID, p.HighWatermark = [16]byte{}, math.MaxInt64
				}
			}
			want := frame(req, &id, 77)
			got := AppendFetch([]byte("before"), kmsgFetch(t, req.AppendTo(nil), version), 77, id)
			if diff := cmp.Diff(append(append([]byte("before"), bytesOf(int32(len(want)))...), want...), got); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// answeredPart is one step of a FetchAnswer.
type answeredPart struct {
	ID      [16]byte
	Part    FetchedPartition
	Records []byte
}

// answered reads an answer to its end.
func answered(frame []byte) (a FetchAnswer, parts []answeredPart, err error) {
	if err := a.Parse(frame); err != nil {
		return a, nil, err
	}
	for a.Next() {
		p := answeredPart{a.TopicID, a.Partition, a.Records}
		if p.Part.Diverging.Epoch == -1 && p.Part.Diverging.EndOffset == -1 { // sent, but says nothing
			p.Part.Diverging = EpochEndOffset{}
		}
		if p.Part.Leader.ID == -1 && p.Part.Leader.Epoch == -1 {
			p.Part.Leader = Leader{}
		}
		parts = append(parts, p)
	}
	return a, parts, a.Err()
}

// kmsgAnswered is an answer as we should see it.
func kmsgAnswered(resp *kmsg.FetchResponse) (parts []answeredPart) {
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			x := answeredPart{topic.TopicID, FetchedPartition{Index: p.Partition, Code: protocol.Code(p.ErrorCode),
				HighWatermark: p.HighWatermark, LastStableOffset: p.LastStableOffset, LogStartOffset: p.LogStartOffset,
				PreferredReplica: Replica{p.PreferredReadReplica >= 0, max(0, p.PreferredReadReplica)},
				Diverging: EpochEndOffset{p.DivergingEpoch.Epoch != -1 || p.DivergingEpoch.EndOffset != -1,
					p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset},
				Leader: Leader{p.CurrentLeader.LeaderID != -1 || p.CurrentLeader.LeaderEpoch != -1,
					p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch}}, p.RecordBatches}
			if !x.Part.Diverging.Known {
				x.Part.Diverging = EpochEndOffset{}
			}
			if !x.Part.Leader.Known {
				x.Part.Leader = Leader{}
			}
			parts = append(parts, x)
		}
	}
	return parts
}

// What kmsg encodes, we read: same values, for every version with topic ids.
func TestFetchAnswerAsKmsg(t *testing.T) {
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		if a.Key != keyFetch || version < 13 {
			return
		}
		for round := range rounds {
			resp := fill.response(a.Key, version).(*kmsg.FetchResponse)
			body := wantFrame(resp, 77, true)[4:]
			got, parts, err := answered(body)
			if err != nil {
				t.Fatal(err)
			}
			if got.CorrelationID != 77 || got.Code != protocol.Code(resp.ErrorCode) || got.SessionID != resp.SessionID {
				t.Errorf("%d, %d, %d", got.CorrelationID, got.Code, got.SessionID)
			}
			if diff := cmp.Diff(kmsgAnswered(resp), parts, cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
			if _, _, err := answered(append(body, 0)); !errors.Is(err, ErrTrailing) {
				t.Errorf("with a byte more: %v", err)
			}
			for cut := range cuts(round, body) {
				if _, _, err := answered(body[:cut:cut]); err == nil {
					t.Fatalf("%d of %d bytes pass", cut, len(body))
				}
			}
		}
	})
}

func TestFetchAnswerAllocates(t *testing.T) {
	resp := newFiller(3).response(keyFetch, 17).(*kmsg.FetchResponse)
	for len(resp.Topics) == 0 {
		resp = newFiller(uint64(len(resp.Topics))).response(keyFetch, 17).(*kmsg.FetchResponse)
	}
	body := wantFrame(resp, 77, true)[4:]
	var a FetchAnswer
	if n := testing.AllocsPerRun(100, func() {
		a.Parse(body)
		for a.Next() {
		}
		if a.Err() != nil {
			t.Error(a.Err())
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzFetchAnswer(f *testing.F) {
	fill := newFiller(8)
	for v := int16(13); v <= 18; v++ {
		f.Add(wantFrame(fill.response(keyFetch, v), 1, true)[4:])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		_, parts, err := answered(frame)
		if err != nil {
			return
		}
		resp := kmsg.NewPtrFetchResponse() // what kmsg refuses and we do not are tags that we pass over
		resp.Version = ReplicaFetchVersion
		r := reader{src: frame}
		r.int32()
		r.tags()
		if resp.ReadFrom(r.src) != nil {
			return
		}
		if diff := cmp.Diff(kmsgAnswered(resp), parts, cmpopts.EquateEmpty(),
			cmpopts.IgnoreFields(FetchedPartition{}, "Diverging", "Leader")); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSnapshotAnswerAsKmsg(t *testing.T) {
	fill := newFiller(9)
	for round := range rounds {
		resp := fill.response(keyFetchSnapshot, 1).(*kmsg.FetchSnapshotResponse)
		topic, part := kmsg.NewFetchSnapshotResponseTopic(), kmsg.NewFetchSnapshotResponseTopicPartition()
		part.Partition, part.ErrorCode, part.Bytes = 3, int16(round%2)*77, []byte("content")
		topic.Topic, topic.Partitions = "t", []kmsg.FetchSnapshotResponseTopicPartition{part}
		resp.Topics, resp.ErrorCode = []kmsg.FetchSnapshotResponseTopic{topic}, 0
		body := wantFrame(resp, 77, true)[4:]
		id, code, content, err := SnapshotAnswer(body)
		if id != 77 || int16(code) != part.ErrorCode || string(content) != "content" || err != nil {
			t.Errorf("%d, %v, %q, %v", id, code, content, err)
		}
		for cut := range cuts(round, body) {
			if _, _, _, err := SnapshotAnswer(body[:cut:cut]); err == nil {
				t.Fatalf("%d of %d bytes pass", cut, len(body))
			}
		}
		resp.Topics, resp.ErrorCode = nil, 42
		if _, code, _, err := SnapshotAnswer(wantFrame(resp, 77, true)[4:]); code != 42 || err != nil {
			t.Errorf("refused: %v, %v", code, err)
		}
	}
}

func FuzzSnapshotAnswer(f *testing.F) {
	fill := newFiller(10)
	for range 10 {
		f.Add(wantFrame(fill.response(keyFetchSnapshot, 1), 1, true)[4:])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if _, _, content, err := SnapshotAnswer(frame); err == nil && len(content) > len(frame) {
			t.Fatal("more than there is")
		}
	})
}
