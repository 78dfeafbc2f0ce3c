package reactor

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"millrace/protocol"
)

func text(s string) protocol.Reply {
	p := protocol.NewReply()
	p.Buf.B = append(p.Buf.B, s...)
	return p
}

// upper answers each line in brackets.
var brackets = &funcs{serve: func(r *Request) { r.Reply(text(fmt.Sprintf("[%s]\n", r.Frame()))) }}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, tc := range []struct {
		name string
		in   []string // writes
		want string
	}{
		{"one", []string{"HELP\n"}, "[HELP]\n"},
		{"crlf", []string{"HELP\r\n"}, "[HELP]\n"},
		{"empty", []string{"\n\r\n"}, "[]\n[]\n"},
		{"several", []string{"a\nb\r\nc\n"}, "[a]\n[b]\n[c]\n"},
		{"split", []string{"HE", "L", "P\r", "\nx", "\n"}, "[HELP]\n[x]\n"},
		{"korean", []string{"안녕 하", "세요\n"}, "[안녕 하세요]\n"},
		{"split rune", []string{"\xec\x95", "\x88\n"}, "[안]\n"},
		{"cr inside", []string{"a\rb\n"}, "[a\rb]\n"},
		{"longest", []string{long + "\n" + long + "\r\n"}, "[" + long + "]\n[" + long + "]\n"},
		{"too long", []string{"a\n" + long + "x\nb\n"}, "[a]\nERROR a line is at most 100 bytes long\n[b]\n"},
		{"much too long, split", []string{long, long, long, "\nb\n"}, "ERROR a line is at most 100 bytes long\n[b]\n"},
		{"not utf-8", []string{"a\xff\nb\n"}, "ERROR a line must be UTF-8\n[b]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := start(t, Options{})
			c := dial(t, f.listen(ListenerOptions{Framing: Lines, FrameBytesMax: 100, Handler: brackets}))
			for _, s := range tc.in {
				c.send([]byte(s))
			}
			var got strings.Builder
			for range strings.Count(tc.want, "\n") {
				s, err := c.in.ReadString('\n')
				if err != nil {
					t.Fatalf("%q, %v", s, err)
				}
				got.WriteString(s)
			}
			if got.String() != tc.want {
				t.Errorf("got %q, want %q", got.String(), tc.want)
			}
		})
	}
}

func TestLinesGarbage(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "an HTTP request"},
		{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "a TLS hello"},
		{string(request(18, 1, 40)), "a Kafka request"},
		{"ab\x00cd\n", "random bytes"},
	} {
		f := start(t, Options{})
		c := dial(t, f.listen(ListenerOptions{Framing: Lines, Handler: brackets}))
		c.send([]byte(tc.in))
		c.wantEnd()
		lines := f.logs.FilterMessageSnippet("not a console command").All()
		if len(lines) != 1 || lines[0].ContextMap()["looks_like"] != tc.want {
			t.Errorf("%q: %v, want %q", tc.in, lines, tc.want)
		}
	}
}

// FuzzLines: whatever way a text is split, the lines are the same.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\n\nbcd\ne"), []byte{1, 2})
	f.Add([]byte("\xff\n"+strings.Repeat("y", 200)+"\nz\n"), []byte{0x85, 3})
	f.Fuzz(func(t *testing.T, in, splits []byte) {
		const limit = 64
		g := newRig(ListenerOptions{Framing: Lines, FrameBytesMax: limit})
		runSplits(g, in, splits)
		g.end(t)
		whole := newRig(ListenerOptions{Framing: Lines, FrameBytesMax: limit})
		runSplits(whole, in, []byte{0x7c})
		whole.end(t)
		if g.doomed != whole.doomed {
			t.Fatalf("doomed %v and %v", g.doomed, whole.doomed)
		}
		if !slices.EqualFunc(g.got, whole.got, slices.Equal[[]byte]) {
			t.Fatalf("%q and %q", g.got, whole.got)
		}
	})
}

// A request that pushes until the next line comes in, as WATCH does.
func TestPush(t *testing.T) {
	f := start(t, Options{})
	watches := make(chan *Request, 10)
	var mu sync.Mutex
	var watching *Request
	h := &funcs{
		overlaps: func(any, []byte) bool {
			mu.Lock()
			defer mu.Unlock()
			if watching != nil {
				watching.Reply(text("end\n"))
				watching = nil
			}
			return false
		},
		serve: func(r *Request) {
			if string(r.Frame()) != "WATCH" {
				r.Reply(text("[" + string(r.Frame()) + "]\n"))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			watching = r
			watches <- r
		}}
	c := dial(t, f.listen(ListenerOptions{Framing: Lines, Handler: h}))
	want := func(s string) {
		t.Helper()
		if got, err := c.in.ReadString('\n'); got != s {
			t.Fatalf("got %q, %v, want %q", got, err, s)
		}
	}
	for range 50 {
		c.send([]byte("A\nWATCH\n"))
		want("[A]\n")
		r := <-watches
		for i := range 20 {
			if !r.Push(text(fmt.Sprintf("state %d\n", i))) {
				t.Fatal("a push was refused")
			}
		}
		for i := range 20 {
			want(fmt.Sprintf("state %d\n", i))
		}
		c.send([]byte("B\n"))
		want("end\n")
		want("[B]\n")
	}
}

// Push refuses what would be too much, and says so when the connection is gone.
func TestPushBounded(t *testing.T) {
	f := start(t, Options{ConnOutboundBytesMax: 100 << 10})
	watches := make(chan *Request, 1)
	ln := f.listen(ListenerOptions{Framing: Lines, SendBufferBytes: 64 << 10,
		Handler: &funcs{serve: func(r *Request) { watches <- r }}})
	c := dial(t, ln)
	c.send([]byte("WATCH\n"))
	r := <-watches
	part := strings.Repeat("s", 9999) + "\n"
	taken := 0
	for r.Push(text(part)) {
		if taken++; taken > 100000 {
			t.Fatal("all pushes are taken")
		}
	}
	in := bufio.NewReader(c.in)
	for range taken {
		if s, err := in.ReadString('\n'); s != part {
			t.Fatalf("%d bytes, %v", len(s), err)
		}
	}
	eventually(t, "there is room again", func() bool { return r.Push(text("again\n")) })
	if s, err := in.ReadString('\n'); s != "again\n" {
		t.Fatalf("%q, %v", s, err)
	}
	c.Close()
	eventually(t, "the connection is gone", func() bool { return !r.Push(text(part)) })
	eventually(t, "all is gone", func() bool { return ln.Connections() == 0 })
	if r.Push(text(part)) {
		t.Error("a push was taken for a closed connection")
	}
	r.Drop()
}
