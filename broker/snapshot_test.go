package broker

import (
	"bytes"
	"testing"

	"millrace/broker/plog"
)

func testSnapshot() *snapshot {
	return &snapshot{start: 100, epochs: []plog.EpochStart{{Epoch: 0, Offset: 3}, {Epoch: 2, Offset: 100}},
		producers: map[int64]*producerState{7: {epoch: 3, count: 2, seenAtMs: 99, spans: [sequencesKept]sequenceSpan{
			{first: 0, last: 4, baseOffset: 10}, {first: 5, last: 9, baseOffset: 20}}},
			8: {epoch: 1, coordinatorEpoch: 4, open: true, first: 30}}}
}

func TestSnapshotComesBack(t *testing.T) {
	want := testSnapshot()
	got, err := decodeSnapshot(want.encode())
	if err != nil || got.start != 100 || len(got.epochs) != 2 || got.epochs[1] != want.epochs[1] || *got.producers[7] != *want.producers[7] ||
		*got.producers[8] != *want.producers[8] {
		t.Errorf("%+v, %v", got, err)
	}
	whole := want.encode()
	for n := range whole {
		if _, err := decodeSnapshot(whole[:n]); err == nil {
			t.Errorf("%d bytes of %d are a snapshot", n, len(whole))
		}
	}
}

// FuzzSnapshot: no bytes panic or allocate what they only claim, and what is read is written as it was.
func FuzzSnapshot(f *testing.F) {
	f.Add(testSnapshot().encode())
	f.Add((&snapshot{}).encode())
	f.Add([]byte{snapshotVersion, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeSnapshot(b)
		if err != nil {
			return
		}
		again := s.encode()
		if len(s.producers) < 2 && !bytes.Equal(again, b) { // more of them are in no order, and may be named twice
			if _, err := decodeSnapshot(again); err != nil {
				t.Errorf("%x was read and is written as %x", b, again)
			}
		}
	})
}
