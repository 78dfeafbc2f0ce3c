package plog

import (
	"testing"

	"millrace/protocol/record"
)

func TestBatchStart(t *testing.T) {
	l := newLog(t, DefaultConfig())
	if got := l.BatchStart(0); got != 0 {
		t.Errorf("of an empty log: %d", got)
	}
	for range 3 {
		mustAppend(t, l, batch(record.None, 1, 2, 3), 0, 1)
	}
	if err := l.DeleteRecords(1); err != nil {
		t.Fatal(err)
	}
	for offset, want := range []int64{0, 1, 1, 3, 3, 3, 6, 6, 6, 9, 10} {
		if got := l.BatchStart(int64(offset)); got != want {
			t.Errorf("BatchStart(%d) = %d, want %d", offset, got, want)
		}
	}
}
