package plog

import (
	"testing"

	"millrace/protocol"
	"millrace/protocol/record"
)

// In steady state, with retention dropping what is appended, nothing allocates.
func TestAllocatesNothing(t *testing.T) {
	c := DefaultConfig()
	c.RetentionBytes = 3 << 20
	l := newLog(t, c)
	small, large := sized(record.None, 800, testMs, testMs+1), sized(record.None, 300_000, testMs)
	views := make([]protocol.View, 0, 64)
	grow := func(b record.Batch) {
		if _, err := l.Append(b, 1, testMs); err != nil {
			t.Fatal(err)
		}
		l.Retain(testMs, forAll)
	}
	readFrom := func(from int64, maxBytes int) {
		var err error
		if views, _, err = l.Read(from, maxBytes, forAll, true, views[:0]); err != nil || len(views) == 0 {
			t.Fatal(len(views), err)
		}
		release(views)
	}
	for range 20_000 { // three times round the retention
		grow(small)
	}
	for name, f := range map[string]func(){
		"append and retain": func() {
			for range 50 {
				grow(small)
			}
			grow(large)
		},
		"append time": func() {
			c.TimestampType = LogAppendTime
			l.SetConfig(c)
			grow(small)
			c.TimestampType = CreateTime
			l.SetConfig(c)
		},
		"read the last batch": func() { readFrom(l.EndOffset()-1, 1) },
		"read everything":     func() { readFrom(l.StartOffset(), 1<<30) },
		"read in the middle":  func() { readFrom((l.StartOffset()+l.EndOffset())/2, 100_000) },
		"by time": func() {
			if _, _, _, found := l.OffsetForTime(testMs+1, forAll); !found {
				t.Fatal("nothing found")
			}
			if _, _, _, found := l.OffsetOfMaxTimestamp(l.EndOffset() - 1); !found {
				t.Fatal("nothing found")
			}
		},
		"refuse": func() {
			if _, err := l.Append(small, 1, testMs-1<<40); err != ErrInvalidTimestamp {
				t.Fatal(err)
			}
		},
	} {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
