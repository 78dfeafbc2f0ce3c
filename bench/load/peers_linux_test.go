package load

import (
	"testing"
)

const redisRangeAnswer = "*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nv\r\n$5\r\nhello\r\n*2\r\n$3\r\n2-7\r\n*2\r\n$1\r\nv\r\n$0\r\n\r\n"

func TestRedisReply(t *testing.T) {
	tests := []struct {
		in         string
		n, missing int
		bad        bool
	}{
		{"", 0, 0, false},
		{"+OK\r\n", 5, 0, false},
		{"+OK\r", 0, 0, false},
		{":12\r\n:13\r\n", 5, 0, false},
		{"$5\r\nhello\r\n", 11, 0, false},
		{"$5\r\nhe", 0, 5, false},
		{"$-1\r\n", 5, 0, false},
		{"*-1\r\n", 5, 0, false},
		{"*0\r\n+OK\r\n", 4, 0, false},
		{redisRangeAnswer, len(redisRangeAnswer), 0, false},
		{redisRangeAnswer[:len(redisRangeAnswer)-1], 0, 1, false},
		{"-ERR unknown\r\n", 0, 0, true},
		{"*1\r\n-ERR inside\r\n", 0, 0, true},
		{"HTTP/1.1 200 OK\r\n", 0, 0, true},
		{"$99999999999\r\n", 0, 0, true},
		{"\n\n", 0, 0, true},
	}
	for _, tt := range tests {
		n, missing, err := redisReply([]byte(tt.in))
		if n != tt.n || missing != tt.missing || (err != nil) != tt.bad {
			t.Errorf("redisReply(%q) = %d, %d, %v; want %d, %d, error %v", tt.in, n, missing, err, tt.n, tt.missing, tt.bad)
		}
	}
}

func TestRedisEntries(t *testing.T) {
	tests := []struct {
		in      string
		entries int
		last    string
	}{
		{redisRangeAnswer, 2, "2-7"},
		{"*0\r\n", 0, ""},
		{"*2\r\n*2\r\n", 0, ""},
		{"", 0, ""},
	}
	for _, tt := range tests {
		if n, last := redisEntries([]byte(tt.in)); n != tt.entries || last != tt.last {
			t.Errorf("redisEntries(%q) = %d, %q", tt.in, n, last)
		}
	}
}

func FuzzRedis(f *testing.F) {
	f.Add([]byte(redisRangeAnswer))
	f.Add([]byte("$5\r\nhello\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		n, missing, _ := redisReply(in)
		if n < 0 || n > len(in) || missing < 0 {
			t.Fatalf("%d of %d bytes, %d missing", n, len(in), missing)
		}
		if entries, _ := redisEntries(in); entries > len(in) {
			t.Fatalf("%d entries in %d bytes", entries, len(in))
		}
	})
}

func TestNATSNext(t *testing.T) {
	tests := []struct {
		in         string
		n, missing int
		sid        int
		payload    string
		bad        bool
	}{
		{"", 0, 0, 0, "", false},
		{"PING\r\n", 6, 0, 0, "", false},
		{"INFO {\"a\":1}\r\nPING\r\n", 14, 0, 0, "", false},
		{"MSG a.b 7 5\r\nhello\r\n", 20, 0, 7, "hello", false},
		{"MSG a.b 7 reply.to 5\r\nhello\r\nMSG", 29, 0, 7, "hello", false},
		{"MSG a.b 7 5\r\nhel", 0, 4, 7, "", false},
		{"HMSG a 3 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", 32, 0, 3, "NATS/1.0\r\n\r\nhi", false},
		{"MSG a.b 7", 0, 0, 0, "", false},
		{"-ERR 'Authorization Violation'\r\n", 0, 0, 0, "", true},
		{"MSG a x 5\r\n", 0, 0, 0, "", true},
		{"MSG a 1 -5\r\n", 0, 0, 1, "", true},
		{"HTTP/1.1 200 OK\r\n", 0, 0, 0, "", true},
	}
	for _, tt := range tests {
		m, n, missing, err := natsNext([]byte(tt.in))
		if n != tt.n || missing != tt.missing || string(m.payload) != tt.payload || (err != nil) != tt.bad ||
			err == nil && m.sid != tt.sid {
			t.Errorf("natsNext(%q) = %+v, %d, %d, %v", tt.in, m, n, missing, err)
		}
	}
}

func FuzzNATS(f *testing.F) {
	f.Add([]byte("MSG a.b 7 reply.to 5\r\nhello\r\n"))
	f.Add([]byte("HMSG a 3 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if m, n, missing, _ := natsNext(in); n < 0 || n > len(in) || missing < 0 || len(m.payload) > len(in) {
			t.Fatalf("%d of %d bytes, %d missing", n, len(in), missing)
		}
	})
}
