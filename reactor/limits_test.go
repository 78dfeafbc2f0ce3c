package reactor

import (
	"net"
	"testing"
	"time"

	"millrace/protocol"
)

func TestConnectionCaps(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    ListenerOptions
		line string
	}{
		{"in all", ListenerOptions{ConnectionsMax: 3}, "more than 3 connections"},
		{"per address", ListenerOptions{ConnectionsPerIPMax: 3}, "more than 3 connections from one address"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := start(t, Options{})
			tc.o.Handler = &funcs{}
			ln := f.listen(tc.o)
			var cs []*client
			for i := range 3 {
				c := dial(t, ln)
				c.send(request(0, i, 8))
				c.want(request(0, i, 8))
				cs = append(cs, c)
			}
			for range 10 {
				dial(t, ln).wantEnd()
			}
			lines := f.logs.FilterMessageSnippet(tc.line).All()
			if len(lines) == 0 || len(lines) > 5 {
				t.Errorf("%d lines about 10 refused connections", len(lines))
			}
			cs[0].Close()
			eventually(t, "the closed one is gone", func() bool { return ln.Connections() < 3 })
			c := dial(t, ln)
			c.send(request(0, 9, 8))
			c.want(request(0, 9, 8))
		})
	}
}

// Another address has a count of its own.
func TestCapIsPerAddress(t *testing.T) {
	f := start(t, Options{})
	ln := f.listen(ListenerOptions{Handler: &funcs{}, ConnectionsPerIPMax: 1})
	c := dial(t, ln)
	c.send(request(0, 1, 8))
	c.want(request(0, 1, 8))
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	nc, err := d.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Skip("no second address on this system: ", err)
	}
	defer nc.Close()
	if _, err := nc.Write(request(0, 1, 8)); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Read(make([]byte, 1)); err != nil {
		t.Errorf("refused: %v", err)
	}
}

// Each timeout closes what it is for, and nothing else.
func TestTimeouts(t *testing.T) {
	const short = 400 * time.Millisecond
	never := ListenerOptions{IdleTimeout: -1, FirstRequestTimeout: -1, HalfRequestTimeout: -1}
	idle, first, half := never, never, never
	idle.IdleTimeout, first.FirstRequestTimeout, half.HalfRequestTimeout = short, short, short

	nothing := func(*client) {}
	some := func(c *client) { c.send(request(0, 1, 8)); c.want(request(0, 1, 8)) }
	part := func(c *client) { some(c); c.send(request(0, 2, 100)[:50]) }
	headPart := func(c *client) { some(c); c.send(request(0, 2, 100)[:3]) }
	for _, tc := range []struct {
		name string
		o    ListenerOptions
		do   func(*client)
		ends bool
		line string
	}{
		{"idle, nothing sent", idle, nothing, true, ""},
		{"idle, request served", idle, some, true, ""},
		{"first, nothing sent", first, nothing, true, "never sent a request"},
		{"first, half a request sent", first, func(c *client) { c.send(request(0, 1, 9)[:5]) }, true, "never sent"},
		{"first, request served", first, some, false, ""},
		{"half, nothing sent", half, nothing, false, ""},
		{"half, request served", half, some, false, ""},
		{"half, half a request", half, part, true, "in the middle of a request"},
		{"half, half a head", half, headPart, true, "in the middle of a request"},
		{"never, half a request", never, part, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := start(t, Options{})
			tc.o.Handler = &funcs{}
			c := dial(t, f.listen(tc.o))
			tc.do(c)
			if !tc.ends {
				_ = c.SetReadDeadline(time.Now().Add(3 * short))
				if _, err := c.tryNext(); err == nil || !isTimeout(err) {
					t.Fatalf("got %v, want it to stay open", err)
				}
				return
			}
			c.wantEnd()
			if tc.line != "" && f.logs.FilterMessageSnippet(tc.line).Len() != 1 {
				t.Errorf("want one line %q, have %v", tc.line, f.logs.All())
			}
		})
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

// A connection whose request is being worked on isn't idle; one that doesn't take its
// answers is.
func TestIdleWhileBusy(t *testing.T) {
	const short = 400 * time.Millisecond
	f := start(t, Options{})
	p := newPile()
	c := dial(t, f.listen(ListenerOptions{IdleTimeout: short, Handler: &funcs{serve: p.add}}))
	c.send(request(0, 1, 8))
	r := p.take(1)[0]
	time.Sleep(3 * short)
	r.Reply(echo(r.Frame()))
	c.want(request(0, 1, 8))

	stuck := dial(t, f.listen(ListenerOptions{IdleTimeout: short, Handler: &funcs{
		serve: func(r *Request) {
			r.Reply(protocol.Reply{Views: []protocol.View{{Bytes: make([]byte, 64<<20)}}})
		}}}))
	stuck.send(request(0, 1, 8))
	eventually(t, "it is closed", func() bool { return f.logs.FilterMessageSnippet("doesn't read").Len() == 1 })
}
