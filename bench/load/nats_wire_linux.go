package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"
)

// natsConnect is how a client begins (https://docs.nats.io/reference/reference-protocols/nats-protocol).
const natsConnect = `CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"lang":"go",` +
	`"version":"1","protocol":1}` + "\r\n"

// natsMessage is one thing that a server says. Only messages have a sid.
type natsMessage struct {
	sid     int
	payload []byte // headers included
	headers bool   // it has headers, as status messages do
	ping    bool
}

// natsNext reads what b begins with; n is 0 if there is more to come.
func natsNext(b []byte) (m natsMessage, n, missing int, err error) {
	eol := bytes.IndexByte(b, '\n')
	if eol < 0 {
		if len(b) > 64<<10 {
			return m, 0, 0, fmt.Errorf("not NATS: %q", b[:40])
		}
		return m, 0, 0, nil
	}
	line := bytes.TrimRight(b[:eol], "\r")
	n = eol + 1
	word, rest, _ := bytes.Cut(line, []byte(" "))
	switch string(word) {
	case "PING":
		m.ping = true
		return m, n, 0, nil
	case "PONG", "+OK", "INFO":
		return m, n, 0, nil
	case "-ERR":
		return m, 0, 0, fmt.Errorf("nats: %s", rest)
	case "HMSG":
		m.headers = true
	case "MSG":
	default:
		return m, 0, 0, fmt.Errorf("not NATS: %q", line[:min(len(line), 40)])
	}
	// subject sid [reply] [header bytes] bytes
	_, rest, _ = bytes.Cut(rest, []byte(" "))
	sid, rest, _ := bytes.Cut(rest, []byte(" "))
	size := rest[bytes.LastIndexByte(rest, ' ')+1:]
	m.sid, err = strconv.Atoi(string(sid))
	bytesDue, err2 := strconv.Atoi(string(size))
	if err != nil || err2 != nil || bytesDue < 0 || bytesDue > 1<<29 {
		return m, 0, 0, fmt.Errorf("not NATS: %q", line[:min(len(line), 80)])
	}
	if end := n + bytesDue + 2; end > len(b) {
		return m, 0, end - len(b), nil
	}
	m.payload = b[n : n+bytesDue]
	return m, n + bytesDue + 2, 0, nil
}

func natsStream(i int) string  { return "bench" + strconv.Itoa(i) }
func natsSubject(i int) string { return "bench." + strconv.Itoa(i) }

// natsAsk sends one request and gives the answer.
func natsAsk(addr, subject, body string) ([]byte, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := fmt.Fprintf(c, "%sSUB r 1\r\nPUB %s r %d\r\n%s\r\n", natsConnect, subject, len(body), body); err != nil {
		return nil, err
	}
	in := bufio.NewReader(c)
	var b []byte
	for {
		part := make([]byte, 4096)
		k, err := in.Read(part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", subject, err)
		}
		b = append(b, part[:k]...)
		for len(b) > 0 {
			m, n, _, err := natsNext(b)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				break
			}
			if m.sid == 1 {
				return bytes.Clone(m.payload), nil
			}
			b = b[n:]
		}
	}
}

// natsStreams makes a stream for each connection, empty.
func natsStreams(s *Spec) error {
	for i := range s.Connections {
		if _, err := natsAsk(s.Bootstrap, "$JS.API.STREAM.DELETE."+natsStream(i), ""); err != nil {
			return err
		}
		keep := int64(-1)
		if s.RetainBytes > 0 {
			keep = max(s.RetainBytes/int64(s.Connections), 1<<20)
		}
		body := fmt.Sprintf(`{"name":%q,"subjects":[%q],"storage":"memory","retention":"limits","discard":"old",`+
			`"num_replicas":1,"max_bytes":%d}`, natsStream(i), natsSubject(i), keep)
		answer, err := natsAsk(s.Bootstrap, "$JS.API.STREAM.CREATE."+natsStream(i), body)
		if err != nil {
			return err
		}
		if bytes.Contains(answer, []byte(`"error"`)) {
			return fmt.Errorf("nats: stream: %s", answer)
		}
	}
	return nil
}

// natsMessages is how many messages a stream holds.
func natsMessages(addr string, i int) (int, error) {
	answer, err := natsAsk(addr, "$JS.API.STREAM.INFO."+natsStream(i), "")
	if err != nil {
		return 0, err
	}
	var info struct {
		State struct{ Messages int }
	}
	if err := json.Unmarshal(answer, &info); err != nil || info.State.Messages == 0 {
		return 0, fmt.Errorf("nats: stream: %s", answer)
	}
	return info.State.Messages, nil
}

// NATSHello is CONNECT and PING, as a client begins.
func NATSHello() []byte { return []byte(natsConnect + "PING\r\n") }
