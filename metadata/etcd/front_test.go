//go:build !noembed

package etcd

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
)

// TestFront: ours is answered, the rest is passed on as it is, and closing cuts both.
func TestFront(t *testing.T) {
	backend := filepath.Join(t.TempDir(), "s")
	b, err := net.Listen("unix", backend)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	go func() {
		for {
			c, err := b.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := startFront(l, backend, func(method, path string, body []byte) (int, any) {
		return http.StatusTeapot, method + " " + path + " " + string(body)
	})
	tests := []struct{ sent, want string }{
		{"GET /millrace/x HTTP/1.1\r\nHost: h\r\n\r\n", `418 "GET x "`},
		{"POST /millrace/x/y HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", `418 "POST x/y abc"`},
		{"GET /raft/stream HTTP/1.1\r\n\r\n", "GET /raft/stream HTTP/1.1\r\n\r\n"},
		{"\x16\x03\x01 no HTTP at all, but long", "\x16\x03\x01 no HTTP at all, but long"},
		{"short", ""},
		{"GET /millrace/ and then nothing sensible\r\n\r\n", ""},
	}
	for _, test := range tests {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, test.sent)
		c.(*net.TCPConn).CloseWrite()
		text, _ := io.ReadAll(c)
		got := string(text)
		if resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), nil); err == nil {
			body, _ := io.ReadAll(resp.Body)
			got = resp.Status[:3] + " " + string(body)
		}
		if got != test.want {
			t.Errorf("%q is answered with %q, want %q", test.sent, got, test.want)
		}
		c.Close()
	}
	open, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	hello := "GET /raft/stream/hello"
	io.WriteString(open, hello)
	if _, err := io.ReadFull(open, make([]byte, len(hello))); err != nil {
		t.Error(err)
	}
	f.close()
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("a connection is open after close")
	}
}

// FuzzAnswer: whatever a stranger sends to a member, it answers.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{"", "{}", `{"Name":"b","Nonce":"x"}`, `{"Name":"a"}`, `{"Name":["b"]}`, "null"} {
		f.Add("POST", "join", []byte(body))
		f.Add("GET", "status", []byte(body))
	}
	e := &Embedded{log: zap.NewNop(), options: EmbeddedOptions{Name: "a", Cluster: map[string]string{"a": "h:1", "b": "h:2"}}, ctx: f.Context()}
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		code, reply := e.answer(method, path, body)
		if path == "join" && code == http.StatusOK {
			t.Errorf("%s %s %q is %d %v", method, path, body, code, reply)
		}
	})
}
