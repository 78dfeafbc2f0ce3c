package kafka

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// Decode turns a request into its kmsg structure, for every API but the hot ones. The request owns its memory.
func Decode(h Header) (kmsg.Request, error) {
	if !Supported(h.Key, h.Version) {
		return nil, ErrUnsupportedVersion
	}
	req := kmsg.RequestForKey(h.Key)
	req.SetVersion(h.Version)
	if err := req.ReadFrom(bytes.Clone(h.Body)); err != nil {
		return nil, fmt.Errorf("%w: %s version %d", ErrTruncated, kmsg.NameForKey(h.Key), h.Version)
	}
	return req, nil
}

// Encode turns an answer of kmsg's into a whole frame: size, response header, body. The caller owns the reply.
//
// The response header has tagged fields where the body is flexible, but for ApiVersions, whose answer a client must be
// able to read before it knows what the broker speaks (KIP-511).
func Encode(resp kmsg.Response, correlationID int32) protocol.Reply {
	reply := protocol.NewReply()
	start := len(reply.Buf.B)
	beginFrame(&reply, correlationID, resp.IsFlexible() && resp.Key() != keyApiVersions)
	reply.Buf.B = resp.AppendTo(reply.Buf.B)
	endFrame(&reply, start, 0)
	return reply
}

// UnsupportedVersion answers an ApiVersions request of a version that we don't know: in the layout of version 0, which
// every client can read, with the versions of ApiVersions alone, so that the client asks again (KIP-511).
func UnsupportedVersion(correlationID int32) protocol.Reply {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = int16(protocol.UnsupportedVersion)
	a := Lookup(keyApiVersions)
	resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: a.Key, MinVersion: a.Min, MaxVersion: a.Max}}
	return Encode(resp, correlationID)
}
