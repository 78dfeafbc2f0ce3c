package protocol

import (
	"strings"
	"testing"

	"millrace/slab"

	"github.com/valyala/bytebufferpool"
)

func newSlab(t *testing.T, text string) *slab.Slab {
	t.Helper()
	p := slab.NewPool(slab.Options{LimitBytes: 1 << 20})
	s, err := p.Get(len(text), slab.UseRecords)
	if err != nil {
		t.Fatal(err)
	}
	copy(s.Bytes(), text)
	return s
}

// build makes a reply out of a script: words in < > are views, the others text.
func build(script string, s *slab.Slab) Reply {
	r := NewReply()
	for _, word := range strings.Fields(script) {
		if view, ok := strings.CutPrefix(word, "<"); ok {
			n := len(strings.TrimSuffix(view, ">"))
			at := strings.Index(string(s.Bytes()), strings.TrimSuffix(view, ">"))
			r.View(s.Bytes()[at:at+n], s)
		} else {
			_, _ = r.Buf.WriteString(word)
		}
	}
	return r
}

func TestReplyOrder(t *testing.T) {
	s := newSlab(t, "onetwothree")
	for _, c := range []struct{ script, want string }{
		{"", ""},
		{"text", "text"},
		{"<one>", "one"},
		{"head <one>", "head|one"},
		{"<one> tail", "one|tail"},
		{"a <one> b <two> <three> c", "a|one|b|two|three|c"},
		{"a <> <one> <> b", "a|one|b"},
	} {
		r := build(c.script, s)
		var pieces []string
		for _, b := range r.Chunks(nil) {
			pieces = append(pieces, string(b))
		}
		if got := strings.Join(pieces, "|"); got != c.want {
			t.Errorf("%q: chunks %q, want %q", c.script, got, c.want)
		}
		flat := strings.ReplaceAll(c.want, "|", "")
		if got := string(r.AppendTo([]byte(">"))); got != ">"+flat {
			t.Errorf("%q: AppendTo %q, want %q", c.script, got, flat)
		}
		if r.Len() != len(flat) {
			t.Errorf("%q: Len %d, want %d", c.script, r.Len(), len(flat))
		}
		r.Release()
	}
	if s.Refs() != 1 {
		t.Errorf("%d references are left, want the test's own", s.Refs())
	}
}

func TestReplyReferences(t *testing.T) {
	s := newSlab(t, "abc")
	r := NewReply()
	r.View(s.Bytes()[:1], s) // a reference of its own
	s.Retain()
	r.Adopt(View{At: 99, Bytes: s.Bytes()[1:3], Slab: s}) // ours
	r.View([]byte("plain"), nil)
	if s.Refs() != 3 {
		t.Fatalf("%d references, want 3", s.Refs())
	}
	if r.Views[1].At != 0 {
		t.Errorf("the adopted view is at %d, want 0", r.Views[1].At)
	}
	r.Release()
	if s.Refs() != 1 {
		t.Fatalf("%d references after Release, want 1", s.Refs())
	}
	r.Release()
	if s.Refs() != 1 || r.Len() != 0 {
		t.Fatalf("a second Release changed something: %d references", s.Refs())
	}
}

func TestZeroReplyAndLiteral(t *testing.T) {
	var zero Reply
	if zero.Len() != 0 || len(zero.Chunks(nil)) != 0 {
		t.Error("the zero reply isn't empty")
	}
	zero.View([]byte("x"), nil)
	if got := string(zero.AppendTo(nil)); got != "x" {
		t.Errorf("a view alone: %q", got)
	}
	zero.Release()

	buf := bytebufferpool.Get()
	_, _ = buf.WriteString("ad")
	literal := Reply{Buf: buf, Views: []View{{At: 1, Bytes: []byte("b")}, {At: 1, Bytes: []byte("c")}}}
	if got := string(literal.AppendTo(nil)); got != "abcd" {
		t.Errorf("literal: %q", got)
	}
	literal.Release()
}

func TestManyViews(t *testing.T) {
	s := newSlab(t, "x")
	for _, n := range []int{1, 16, 17, boxViewsMax, boxViewsMax + 1, 5000} {
		r := NewReply()
		for range n {
			r.View(s.Bytes()[:1], s)
		}
		if r.Len() != n || int(s.Refs()) != n+1 {
			t.Errorf("%d views: %d bytes, %d references", n, r.Len(), s.Refs())
		}
		r.Release()
		if s.Refs() != 1 {
			t.Errorf("%d views: %d references after Release", n, s.Refs())
		}
	}
}

// TestReplyAllocations reuses one reply's views, so that it holds with the race
// detector too, where pools forget on purpose.
func TestReplyAllocations(t *testing.T) {
	s := newSlab(t, "x")
	r := Reply{Buf: &bytebufferpool.ByteBuffer{B: make([]byte, 0, 64)}, Views: make([]View, 0, 4)}
	dst := make([][]byte, 0, 8)
	if n := testing.AllocsPerRun(100, func() {
		r.Buf.B, r.Views = r.Buf.B[:0], r.Views[:0]
		_, _ = r.Buf.WriteString("head")
		r.View(s.Bytes()[:1], s)
		dst = r.Chunks(dst[:0])
		s.Release()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkReply(b *testing.B) {
	p := slab.NewPool(slab.Options{LimitBytes: 1 << 20})
	s, _ := p.Get(1, slab.UseRecords)
	b.ReportAllocs()
	for b.Loop() {
		r := NewReply()
		for range 4 {
			_, _ = r.Buf.WriteString("partition header")
			r.View(s.Bytes()[:1], s)
		}
		r.Release()
	}
}
