package record

import (
	"bytes"
	"testing"
)

func TestMarker(t *testing.T) {
	var b Builder
	for _, m := range []Marker{{Commit: true, CoordinatorEpoch: 7}, {CoordinatorEpoch: 1 << 30}} {
		batch := b.Marker(m, 5, 3, 1000)
		if !batch.IsControl() || !batch.IsTransactional() || batch.ProducerID() != 5 || batch.ProducerEpoch() != 3 ||
			batch.BaseSequence() != -1 || batch.Count() != 1 || batch.ComputeCRC() != batch.CRC() {
			t.Errorf("% x", []byte(batch))
		}
		if got, ok := batch.Marker(); !ok || got != m {
			t.Errorf("got %+v, %v, want %+v", got, ok, m)
		}
	}
	// The records of Apache Kafka: attributes, deltas, then a key of 4 and a value of 6 bytes.
	want := []byte("\x20\x00\x00\x00\x08\x00\x00\x00\x01\x0c\x00\x00\x00\x00\x00\x07\x00")
	if got := b.Marker(Marker{Commit: true, CoordinatorEpoch: 7}, 5, 3, 1000).Records(); !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
}

func TestNoMarker(t *testing.T) {
	var b Builder
	b.Reset(Options{Idempotent: true, Transactional: true})
	b.Append(Record{Key: []byte("\x00\x00\x00\x01"), Value: []byte("\x00\x00\x00\x00\x00\x07")})
	if _, ok := b.Bytes().Marker(); ok {
		t.Error("a data batch is taken for a marker")
	}
	b.Reset(Options{Idempotent: true, Transactional: true, Control: true})
	b.Append(Record{Key: []byte("\x00\x00\x00\x09"), Value: []byte("\x00\x00\x00\x00\x00\x07")})
	if _, ok := b.Bytes().Marker(); ok {
		t.Error("another control record is taken for a marker")
	}
}
