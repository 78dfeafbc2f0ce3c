package reactor

import (
	"encoding/binary"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
)

// What is no Kafka closes its connection, with one line that says what it looked like.
func TestGarbage(t *testing.T) {
	u32 := func(n int32, rest ...byte) string {
		return string(append(binary.BigEndian.AppendUint32(nil, uint32(n)), rest...))
	}
	const limit = 1 << 20
	for _, tc := range []struct{ name, bytes, want string }{
		{"http get", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "an HTTP request"},
		{"http post", "POST /topics HTTP/1.1\r\n", "an HTTP request"},
		{"http delete", "DELETE /x HTTP/1.1\r\n", "an HTTP request"},
		{"http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "an HTTP/2 preface"},
		{"tls 1.0 record", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "a TLS hello"},
		{"tls 1.2 record", "\x16\x03\x03\x00\x10\x01\x00\x00", "a TLS hello"},
		{"ssh", "SSH-2.0-OpenSSH_9.9\r\n", "an SSH client"},
		{"proxy v1", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", "a PROXY protocol header"},
		{"proxy v2", "\r\n\r\n\x00\r\nQUIT\n", "a PROXY protocol header"},
		{"redis", "*1\r\n$4\r\nPING\r\n", "a Redis client"},
		{"amqp", "AMQP\x00\x00\x09\x01", "an AMQP client"},
		{"text", "hello, is this the broker?\n", "text"},
		{"negative size", u32(-5, 0, 0, 0, 0), "a frame of negative size (-5)"},
		{"least size", u32(-1 << 31), "a frame of negative size (-2147483648)"},
		{"huge size", u32(1<<31 - 1), "a frame of 2147483647 bytes, of which 1048576 are allowed"},
		{"a byte too long", u32(limit + 1), "a frame of 1048577 bytes, of which 1048576 are allowed"},
		{"empty", u32(0), "a frame too short for a request (0 bytes)"},
		{"too short", u32(7, 1, 2, 3, 4), "a frame too short for a request (7 bytes)"},
		{"random high bytes", "\xfa\x11\x92\x03\x77\xe8\x01\x5c", "a frame of negative size (-99511805)"},
		{"fitting size, random rest", u32(500, 0x81, 0x12, 0x93, 0x34), "random bytes (API key -32494, version -27852)"},
		{"no such key", u32(500, 0x7f, 0x12, 0, 0), "random bytes (API key 32530, version 0)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := start(t, Options{})
			h := &funcs{}
			ln := f.listen(ListenerOptions{Handler: h, FrameBytesMax: limit})
			c := dial(t, ln)
			c.send([]byte(tc.bytes))
			c.wantEnd()
			eventually(t, "it is gone", func() bool { return h.closes.Load() == 1 })
			oneLine(t, f, tc.want)

			// Behind a good request, and byte by byte.
			c = dial(t, ln)
			c.send(request(1, 1, 20))
			c.want(request(1, 1, 20))
			for i := range len(tc.bytes) {
				if _, err := c.Write([]byte(tc.bytes[i : i+1])); err != nil {
					break // closed before it was all sent
				}
			}
			c.wantEnd()
			eventually(t, "it is gone", func() bool { return h.closes.Load() == 2 })
			if n := f.logs.Len(); n != 2 {
				t.Errorf("%d lines, want 2", n)
			}
		})
	}
}

func oneLine(t *testing.T, f *fixture, want string) {
	t.Helper()
	lines := f.logs.All()
	if len(lines) != 1 {
		t.Fatalf("%d lines: %v", len(lines), lines)
	}
	fields := lines[0].ContextMap()
	if fields["looks_like"] != want || lines[0].Level != zapcore.WarnLevel ||
		!strings.Contains(lines[0].Message, "not a Kafka request") {
		t.Errorf("%v %q %v, want %q", lines[0].Level, lines[0].Message, fields, want)
	}
	for _, field := range []string{"client", "listener", "first_bytes", "as_text"} {
		if fields[field] == nil {
			t.Errorf("the line has no %s", field)
		}
	}
}

// Good requests aren't taken for garbage at their limits.
func TestNoGarbage(t *testing.T) {
	const limit = 1 << 20
	for _, tc := range []struct {
		key, version int16
		size         int32
	}{{0, 0, 8}, {apiKeyMax, 0, 8}, {18, 32767, 8}, {0, 0, limit}, {3, 12, 1000}} {
		head := binary.BigEndian.AppendUint32(nil, uint32(tc.size))
		head = binary.BigEndian.AppendUint16(head, uint16(tc.key))
		head = binary.BigEndian.AppendUint16(head, uint16(tc.version))
		if what := garbage(head, limit); what != "" {
			t.Errorf("%+v was taken for %s", tc, what)
		}
	}
}
