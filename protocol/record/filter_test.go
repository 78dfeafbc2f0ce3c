package record

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What stays after a filter is what was there, byte for byte, with the batch's offsets and sequence numbers.
func TestFilterRetain(t *testing.T) {
	rng := seeded(t)
	var f Filter
	for _, codec := range codecs {
		for round := range 40 {
			records := randomRecords(rng, 1+rng.IntN(40))
			o := Options{BaseOffset: rng.Int64N(1 << 40), Codec: codec, Idempotent: true, ProducerID: 7, ProducerEpoch: 3,
				BaseSequence: 11, Transactional: round%3 == 0, LogAppendTime: round%5 == 0, AppendTimeMs: testMs + 9}
			b := Batch(bytes.Clone(buildOf(o, records)))
			b.SetPartitionLeaderEpoch(5)
			var want []Record
			keep := map[int32]bool{}
			tombstones := false
			for _, r := range all(t, b) {
				if keep[r.OffsetDelta] = rng.IntN(3) > 0 || round == 0; keep[r.OffsetDelta] {
					want = append(want, r)
					tombstones = tombstones || r.Value == nil
				}
			}
			before := bytes.Clone(b)
			got, err := f.Retain(b, testMs+77, func(r Record) bool { return keep[r.OffsetDelta] })
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, b) {
				t.Fatal("the batch itself has changed")
			}
			checkFiltered(t, b, got, want, tombstones)
		}
	}
}

func buildOf(o Options, records []Record) Batch {
	var b Builder
	b.Reset(o)
	for _, r := range records {
		b.Append(r)
	}
	return b.Bytes()
}

func checkFiltered(t *testing.T, b, got Batch, want []Record, tombstones bool) {
	t.Helper()
	if len(want) == 0 {
		if got != nil {
			t.Fatal("a batch of no record")
		}
		return
	}
	if diff := cmp.Diff(want, all(t, got), asBytes); diff != "" {
		t.Fatal(diff)
	}
	horizon, has := got.DeleteHorizon()
	if has != tombstones || has && horizon != testMs+77 {
		t.Errorf("delete horizon %d, %v; tombstones: %v", horizon, has, tombstones)
	}
	if got.CRC() != got.ComputeCRC() || int(got.Count()) != len(want) || got.Codec() != b.Codec() {
		t.Errorf("CRC %x of %x, %d records of %d, codec %v of %v", got.CRC(), got.ComputeCRC(), got.Count(), len(want), got.Codec(), b.Codec())
	}
	if one, rest, err := Next(got); err != nil || len(rest) != 0 || len(one) != len(got) {
		t.Errorf("length field: %v", err)
	}
	maxMs := NoTimestamp
	for _, r := range want {
		maxMs = max(maxMs, r.Timestamp)
	}
	if got.MaxTimestamp() != maxMs {
		t.Errorf("max timestamp %d, want %d", got.MaxTimestamp(), maxMs)
	}
	sameHeader(t, b, got)
}

func sameHeader(t *testing.T, b, got Batch) {
	t.Helper()
	type header struct {
		base, last, producer       int64
		epoch, first, lastSequence int32
		producerEpoch              int16
		transactional, appendTime  bool
	}
	of := func(b Batch) header {
		return header{b.BaseOffset(), b.LastOffset(), b.ProducerID(), b.PartitionLeaderEpoch(), b.BaseSequence(),
			b.LastSequence(), b.ProducerEpoch(), b.IsTransactional(), b.IsLogAppendTime()}
	}
	if of(b) != of(got) {
		t.Errorf("header %+v, want %+v", of(got), of(b))
	}
}

// A batch that has a delete horizon keeps it, and another codec's bytes are never invented.
func TestFilterKeepsHorizon(t *testing.T) {
	var f Filter
	b := buildOf(Options{Codec: Lz4}, []Record{{Timestamp: testMs, Key: []byte("a")}, {Timestamp: testMs + 5, Key: []byte("b"), Value: []byte("x")}})
	everything := func(Record) bool { return true }
	marked, err := f.Retain(b, testMs+100, everything)
	if err != nil {
		t.Fatal(err)
	}
	marked = bytes.Clone(marked)
	again, err := f.Retain(marked, testMs+900, everything)
	if err != nil || &again[0] != &marked[0] {
		t.Errorf("rebuilt although nothing changes: %v", err)
	}
	valued, err := f.Retain(marked, testMs+900, func(r Record) bool { return r.Value != nil })
	if ms, has := valued.DeleteHorizon(); err != nil || !has || ms != testMs+100 {
		t.Errorf("horizon %d, %v, %v", ms, has, err)
	}
	if got := all(t, valued); len(got) != 1 || got[0].Timestamp != testMs+5 || got[0].OffsetDelta != 1 {
		t.Errorf("%+v", got)
	}
}

func TestFilterEmpty(t *testing.T) {
	var f Filter
	b := buildOf(Options{BaseOffset: 40, Codec: Zstd, Idempotent: true, ProducerID: 9, BaseSequence: 5}, randomRecords(seeded(t), 4))
	e := f.Empty(b)
	if len(e) != HeaderBytes || e.Count() != 0 || e.Codec() != None || e.CRC() != e.ComputeCRC() || e.MaxTimestamp() != b.MaxTimestamp() {
		t.Errorf("%x", []byte(e))
	}
	sameHeader(t, b, e)
	if got := all(t, e); len(got) != 0 {
		t.Errorf("%d records", len(got))
	}
}

func TestWithoutKey(t *testing.T) {
	rng := seeded(t)
	for _, codec := range codecs {
		for range 40 {
			records, want := randomRecords(rng, 1+rng.IntN(20)), []int32(nil)
			for i := range records {
				if records[i].Key == nil && len(want) < 3 {
					want = append(want, int32(i))
				}
			}
			if got, err := buildOf(Options{Codec: codec}, records).WithoutKey(nil, nil, 3); !slices.Equal(got, want) || err != nil {
				t.Fatalf("%d (%v), want %d", got, err, want)
			}
		}
	}
	if _, err := patched(build(t, Options{}, testMs), func(b Batch) { b[atCount+3] = 2 }).WithoutKey(nil, nil, 1); err == nil {
		t.Error("more records than there are")
	}
}

func TestFilterMarker(t *testing.T) {
	var f Filter
	b := buildOf(Options{Control: true, Transactional: true, Idempotent: true, ProducerID: 9}, []Record{{Timestamp: testMs, Key: []byte{0, 0, 0, 1}, Value: []byte{0, 0}}})
	got, err := f.SetDeleteHorizon(b, testMs+3)
	if err != nil {
		t.Fatal(err)
	}
	if ms, has := got.DeleteHorizon(); !has || ms != testMs+3 || !got.IsControl() || got.CRC() != got.ComputeCRC() {
		t.Errorf("horizon %d %v", ms, has)
	}
	if diff := cmp.Diff(all(t, b), all(t, got), asBytes); diff != "" {
		t.Error(diff)
	}
}

// Bytes that are no records are refused and left alone, never looped over.
func TestFilterRefuses(t *testing.T) {
	var f Filter
	good := build(t, Options{}, testMs, testMs+1)
	for name, bad := range map[string]Batch{
		"more records than there are": patched(good, func(b Batch) { b[atCount+3] = 3 }),
		"fewer":                       patched(good, func(b Batch) { b[atCount+3] = 1 }),
		"garbage":                     patched(good, func(b Batch) { b[HeaderBytes] = 0xff }),
		"not compressed":              patched(good, func(b Batch) { b[atAttributes+1] = byte(Zstd) }),
	} {
		if _, err := f.Retain(bad, 0, func(Record) bool { return true }); err == nil {
			t.Errorf("%s: Retain took it", name)
		}
		if _, err := f.SetDeleteHorizon(bad, 0); err == nil {
			t.Errorf("%s: SetDeleteHorizon took it", name)
		}
	}
}
