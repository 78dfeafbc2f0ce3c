package plog

import (
	"math"
	"testing"

	"millrace/protocol/record"
)

type epochEnd struct {
	epoch int32
	end   int64
}

func TestEpochs(t *testing.T) {
	l := newLog(t, DefaultConfig())
	ask := func(name string, epoch int32, want epochEnd) {
		t.Helper()
		var got epochEnd
		if got.epoch, got.end = l.EpochEnd(epoch); got != want {
			t.Errorf("%s: EpochEnd(%d) = %v, want %v", name, epoch, got, want)
		}
	}
	at := func(name string, offset int64, want int32) {
		t.Helper()
		if got := l.EpochAt(offset); got != want {
			t.Errorf("%s: EpochAt(%d) = %d, want %d", name, offset, got, want)
		}
	}
	ask("empty", 0, epochEnd{-1, -1})
	at("empty", 0, -1)
	if l.LastEpoch() != -1 {
		t.Errorf("empty: last epoch %d", l.LastEpoch())
	}
	one := batch(record.None, testMs)
	mustAppend(t, l, one, 2, testMs)
	mustAppend(t, l, one, 2, testMs)
	l.BeginEpoch(3) // gets no record
	mustAppend(t, l, one, 5, testMs)
	l.BeginEpoch(5)
	mustAppend(t, l, one, 7, testMs) // 2: 0 1 | 5: 2 | 7: 3
	for epoch, want := range map[int32]epochEnd{
		-1: {-1, -1}, 0: {0, 0}, 1: {1, 0}, 2: {2, 2}, 3: {2, 2}, 4: {2, 2}, 5: {5, 3}, 6: {5, 3}, 7: {7, 4}, 8: {-1, -1},
		math.MinInt32: {-1, -1}, math.MaxInt32: {-1, -1},
	} {
		ask("full", epoch, want)
	}
	for offset, want := range map[int64]int32{0: 2, 1: 2, 2: 5, 3: 7, 4: 7} {
		at("full", offset, want)
	}
	if err := l.DeleteRecords(2); err != nil {
		t.Fatal(err)
	}
	ask("deleted to 2", 2, epochEnd{2, 2})
	ask("deleted to 2", 5, epochEnd{5, 3})
	at("deleted to 2", 1, -1)
	if err := l.DeleteRecords(3); err != nil {
		t.Fatal(err)
	}
	ask("deleted to an epoch's start", 5, epochEnd{5, 3})
	ask("deleted to an epoch's start", 6, epochEnd{6, 3})
	if err := l.DeleteRecords(4); err != nil {
		t.Fatal(err)
	}
	ask("deleted to the end", 5, epochEnd{5, 4})
	ask("deleted to the end", 7, epochEnd{7, 4})
	if l.LastEpoch() != 7 {
		t.Errorf("last epoch %d", l.LastEpoch())
	}
}
