package plog

import (
	"testing"

	"millrace/protocol/record"
)

// A11: batches whose timestamps overlap and run backwards, compressed and not;
// each time is compared with a scan.
func TestOffsetForTimeFindsTheRecord(t *testing.T) {
	for _, codec := range []record.Codec{record.None, record.Gzip, record.Snappy, record.Lz4, record.Zstd} {
		l := newLog(t, DefaultConfig())
		stamps := [][]int64{{100, 50, 200}, {10, 300, 20}, {150}, {250, 5}}
		var flat []int64
		for _, s := range stamps {
			flat = append(flat, s...)
			mustAppend(t, l, batch(codec, s...), 6, testMs)
		}
		for target := int64(0); target <= 310; target++ {
			want := foundNothing()
			for o, ms := range flat {
				if ms >= target {
					want = timeFound{int64(o), ms, 6, true}
					break
				}
			}
			var got timeFound
			got.Offset, got.Ms, got.Epoch, got.Found = l.OffsetForTime(target, forAll)
			if got != want {
				t.Errorf("%s, %d: got %+v, want %+v", codec, target, got, want)
			}
		}
	}
}

// A13: nothing late enough, nothing at all, and nothing below the bound.
func TestOffsetForTimeFindsNothing(t *testing.T) {
	l := newLog(t, DefaultConfig())
	check := func(name string, target, upTo int64) {
		t.Helper()
		var got, largest timeFound
		got.Offset, got.Ms, got.Epoch, got.Found = l.OffsetForTime(target, upTo)
		if got != foundNothing() {
			t.Errorf("%s: got %+v", name, got)
		}
		largest.Offset, largest.Ms, largest.Epoch, largest.Found = l.OffsetOfMaxTimestamp(upTo)
		if wantFound := l.EndOffset() > 0 && upTo > 0 && l.StartOffset() < l.EndOffset(); largest.Found != wantFound {
			t.Errorf("%s: largest is %+v", name, largest)
		}
	}
	check("empty", 0, forAll)
	mustAppend(t, l, batch(record.None, 10, 20), 0, testMs)
	mustAppend(t, l, batch(record.None, 30), 0, testMs)
	check("tomorrow", 31, forAll)
	check("above the last stable offset", 21, 2)
	check("last stable offset 0", 0, 0)
	if err := l.DeleteRecords(3); err != nil {
		t.Fatal(err)
	}
	check("all deleted", 0, forAll)
}

// KIP-734: the first of the records with the largest timestamp.
func TestOffsetOfMaxTimestamp(t *testing.T) {
	l := newLog(t, DefaultConfig())
	for _, s := range [][]int64{{5, 90, 7}, {90}, {3, 80}} {
		mustAppend(t, l, batch(record.Lz4, s...), 0, testMs)
	}
	for _, c := range []struct{ start, upTo, offset, ms int64 }{
		{0, forAll, 1, 90}, {0, 1, 0, 5}, {2, forAll, 3, 90}, {4, forAll, 5, 80}, {4, 5, 4, 3},
	} {
		if err := l.DeleteRecords(c.start); err != nil {
			t.Fatal(err)
		}
		if o, ms, _, found := l.OffsetOfMaxTimestamp(c.upTo); o != c.offset || ms != c.ms || !found {
			t.Errorf("[%d, %d): got %d, %d, %v, want %d, %d", c.start, c.upTo, o, ms, found, c.offset, c.ms)
		}
	}
}

// Through segments and index entries: each time that a record has, and those
// between. Every other record is a step back.
func TestOffsetForTimeInALongLog(t *testing.T) {
	l := newLog(t, DefaultConfig())
	for i := range int64(3000) {
		mustAppend(t, l, sized(record.None, 500, testMs+i*10-i%2*15), 0, testMs+30_000)
	}
	for i := int64(0); i < 3000; i += 2 {
		want := timeFound{i, testMs + i*10, 0, true}
		for back := range int64(20) { // down to the record two before
			var got timeFound
			got.Offset, got.Ms, got.Epoch, got.Found = l.OffsetForTime(testMs+i*10-back, forAll)
			if got != want {
				t.Fatalf("%d: got %+v, want %+v", i*10-back, got, want)
			}
		}
	}
}

// Of records with the same time in several segments the first is meant.
func TestOffsetOfMaxTimestampInALongLog(t *testing.T) {
	l := newLog(t, DefaultConfig())
	for i := range int64(300) {
		mustAppend(t, l, sized(record.None, 500, testMs+i%100), 0, testMs)
	}
	for _, c := range []struct{ start, upTo, want int64 }{{0, forAll, 99}, {100, 250, 199}, {100, 150, 149}, {250, forAll, 299}} {
		if err := l.DeleteRecords(c.start); err != nil {
			t.Fatal(err)
		}
		if o, _, _, found := l.OffsetOfMaxTimestamp(c.upTo); o != c.want || !found {
			t.Errorf("[%d, %d): got %d, %v, want %d", c.start, c.upTo, o, found, c.want)
		}
	}
}

// A compressed batch whose header lies upwards is looked into and passed over;
// one that can't be read answers with its first offset.
func TestOffsetForTimeDistrustsHeaders(t *testing.T) {
	l := newLog(t, DefaultConfig())
	liar := batch(record.Gzip, 10, 20)
	liar.SetMaxTimestamp(1000, false)
	mustAppend(t, l, liar, 0, testMs)
	mustAppend(t, l, batch(record.Gzip, 500), 0, testMs)
	broken := batch(record.Gzip, 700, 800)
	for i := range broken.Records() {
		broken.Records()[i] = 0xee
	}
	broken.UpdateCRC()
	mustAppend(t, l, broken, 0, testMs)
	for _, c := range []struct{ target, offset, ms int64 }{{15, 1, 20}, {100, 2, 500}, {600, 3, 800}, {750, 3, 800}} {
		if o, ms, _, found := l.OffsetForTime(c.target, forAll); o != c.offset || ms != c.ms || !found {
			t.Errorf("%d: got %d, %d, %v, want %d, %d", c.target, o, ms, found, c.offset, c.ms)
		}
	}
	if err := l.DeleteRecords(3); err != nil {
		t.Fatal(err)
	}
	if o, ms, _, found := l.OffsetOfMaxTimestamp(forAll); o != 3 || ms != 800 || !found {
		t.Errorf("largest: got %d, %d, %v", o, ms, found)
	}
}

// Any number of lying headers costs a few decompressions.
func TestOffsetForTimeGivesUp(t *testing.T) {
	l := newLog(t, DefaultConfig())
	for range 100 {
		liar := batch(record.Gzip, 10, 20)
		liar.SetMaxTimestamp(1000, false)
		mustAppend(t, l, liar, 3, testMs)
	}
	o, ms, epoch, found := l.OffsetForTime(500, forAll)
	if want := int64(openedInVain-1) * 2; o != want || ms != 1000 || epoch != 3 || !found {
		t.Errorf("got %d, %d, %d, %v, want offset %d", o, ms, epoch, found, want)
	}
}
