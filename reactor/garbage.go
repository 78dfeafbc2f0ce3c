package reactor

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// apiKeyMax is far above Kafka's keys; what is above it has no meaning in any version
// to come, and random bytes nearly always are.
const apiKeyMax = 1000

// garbage says what the first 4 to 8 bytes of a frame look like if they can't be the
// start of a request: https://kafka.apache.org/protocol#protocol_messages.
func garbage(head []byte, frameBytesMax int) string {
	// Text and TLS would be sizes of over 200 MB; what is below needs no closer look.
	if head[0] >= '\n' {
		for _, s := range signatures {
			if len(s.magic) >= 3 && bytes.HasPrefix(head, []byte(s.magic)) {
				return s.name
			}
		}
	}
	switch size := frameSize(head); {
	case size < 0, size > frameBytesMax, size < frameBytesMin:
		if what := describe(head); what != unknown {
			return what
		}
		return sizeText(size, frameBytesMax)
	}
	if len(head) < headBytes {
		return ""
	}
	key := int16(binary.BigEndian.Uint16(head[4:]))
	version := int16(binary.BigEndian.Uint16(head[6:]))
	if key < 0 || key > apiKeyMax || version < 0 {
		return fmt.Sprintf("random bytes (API key %d, version %d)", key, version)
	}
	return ""
}

func sizeText(size, limit int) string {
	switch {
	case size < 0:
		return fmt.Sprintf("a frame of negative size (%d)", size)
	case size < frameBytesMin:
		return fmt.Sprintf("a frame too short for a request (%d bytes)", size)
	}
	return fmt.Sprintf("a frame of %d bytes, of which %d are allowed", size, limit)
}

// signatures are how other protocols begin.
var signatures = []struct{ magic, name string }{
	{"GET ", "an HTTP request"},
	{"POST", "an HTTP request"},
	{"PUT ", "an HTTP request"},
	{"HEAD", "an HTTP request"},
	{"DELE", "an HTTP request"},
	{"OPTI", "an HTTP request"},
	{"PATC", "an HTTP request"},
	{"CONN", "an HTTP request"},
	{"TRAC", "an HTTP request"},
	{"PRI ", "an HTTP/2 preface"},
	{"\x16\x03\x00", "a TLS hello"},
	{"\x16\x03\x01", "a TLS hello"},
	{"\x16\x03\x02", "a TLS hello"},
	{"\x16\x03\x03", "a TLS hello"},
	{"\x16\x03\x04", "a TLS hello"},
	{"SSH-", "an SSH client"},
	{"PROX", "a PROXY protocol header"},
	{"\r\n\r\n", "a PROXY protocol header"},
	{"AMQP", "an AMQP client"},
	{"*", "a Redis client"},
	{"\x10", "an MQTT client"},
}

const unknown = "random bytes"

// describe says what bytes that are no request look like.
func describe(b []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(b, []byte(s.magic)) {
			return s.name
		}
	}
	for _, x := range b {
		if (x < ' ' || x > '~') && x != '\r' && x != '\n' && x != '\t' {
			return unknown
		}
	}
	return "text"
}

// describeLine says what bytes that are no console line look like.
func describeLine(b []byte) string {
	if len(b) >= headBytes && garbage(b[:headBytes], frameBytesDefault) == "" {
		return "a Kafka request"
	}
	return describe(b)
}

// httpRequestLine says whether a line is the first of an HTTP request.
func httpRequestLine(line []byte) bool {
	words := bytes.Fields(line)
	return len(words) == 3 && bytes.HasPrefix(words[2], []byte("HTTP/"))
}
