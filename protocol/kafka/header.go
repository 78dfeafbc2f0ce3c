package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Header is what stands before a request's body, and the body itself.
type Header struct {
	Key           int16
	Version       int16
	CorrelationID int32
	// ClientID is nil where the client sent null. It aliases the frame, up to 32,767 bytes of any content: shorten and
	// quote it before it goes to a log.
	ClientID []byte
	// Body aliases the frame.
	Body []byte
}

// ParseHeader reads the header of a request; frame comes without its four bytes of size. It allocates nothing.
//
// Errors, with what is then known in the Header:
//   - ErrTruncated, ErrMalformed: Key, Version and CorrelationID if the frame is long enough; nothing can be answered.
//   - ErrUnknownKey: Key, Version, CorrelationID. Apache Kafka closes the connection.
//   - ErrUnsupportedVersion: Key, Version, CorrelationID, and ClientID where it could be read. For ApiVersions the
//     answer is UnsupportedVersion (KIP-511) and the connection stays; for others Apache Kafka closes it.
//
// The header's own version follows from key and version: 2 (with tagged fields, which are skipped) where the API's
// version is flexible, 1 otherwise. The client id keeps its old two-byte length in both, so that a broker can read the
// header of an ApiVersions request from the future. Version 0 belonged to ControlledShutdown, which is gone.
// Source: https://kafka.apache.org/protocol#protocol_messages
func ParseHeader(frame []byte) (Header, error) {
	r := reader{src: frame}
	h := Header{Key: r.int16(), Version: r.int16(), CorrelationID: r.int32()}
	if r.err != nil {
		return h, r.err
	}
	a := Lookup(h.Key)
	if a == nil {
		return h, ErrUnknownKey
	}
	h.ClientID = r.nullableString(false)
	if !a.serves(h.Version) {
		return h, ErrUnsupportedVersion
	}
	if a.flexible(h.Version) {
		r.tags()
	}
	h.Body = r.src
	return h, r.err
}

// Flexible reports whether the body has compact types and tagged fields.
func (h *Header) Flexible() bool {
	a := Lookup(h.Key)
	return a != nil && a.flexible(h.Version)
}

// clientIDShown bounds what of a client id goes into a line of text.
const clientIDShown = 64

// String describes the request in one line, for logs: a client id may hold anything, so it is quoted and shortened.
func (h Header) String() string {
	name := fmt.Sprintf("api key %d", h.Key)
	if a := Lookup(h.Key); a != nil {
		name = a.Name
	} else if known := kmsg.NameForKey(h.Key); known != "Unknown" {
		name = fmt.Sprintf("%s (api key %d)", known, h.Key)
	}
	id, more := h.ClientID, ""
	if len(id) > clientIDShown {
		id, more = id[:clientIDShown], "…"
	}
	return fmt.Sprintf("%s version %d, correlation id %d, client id %q%s", name, h.Version, h.CorrelationID, id, more)
}
