package kafka

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// Decode turns a request into kmsg's structure for it. Use ParseProduce and FetchRequest for those two; here they cost
// memory.
//
// The structure of the body is walked first, without making anything, so that no claim of it makes memory and what
// kmsg then makes is bounded (by decodedMax). The request owns its memory: nothing in it aliases the frame. Bytes
// behind the last field are ignored, as Apache Kafka ignores them.
//
// Errors, wrapped with the API's name and version: ErrTruncated, ErrMalformed, ErrTooLarge; ErrUnsupportedVersion
// where ParseHeader would have said so.
func Decode(h Header) (kmsg.Request, error) {
	if !Supported(h.Key, h.Version) {
		return nil, ErrUnsupportedVersion
	}
	r := reader{src: h.Body, room: decodedMax(len(h.Body)) - len(h.Body)}
	walk(&r, requestShape(h.Key, h.Version))
	if r.err != nil {
		return nil, fmt.Errorf("%s version %d: %w", Lookup(h.Key).Name, h.Version, r.err)
	}
	req := kmsg.RequestForKey(h.Key)
	req.SetVersion(h.Version)
	// kmsg copies strings, but bytes (a member's metadata, its assignment) alias what it reads. The copy is theirs.
	if err := req.ReadFrom(bytes.Clone(h.Body)); err != nil {
		return nil, fmt.Errorf("%s version %d: %w (%v)", Lookup(h.Key).Name, h.Version, ErrTruncated, err)
	}
	return req, nil
}

// Encode turns an answer of kmsg's into a whole frame: size, response header, body. The version is the one that the
// response carries. Texts in it must not exceed 32,767 bytes: kmsg would write a wrong length. The caller owns the
// reply.
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

// Encoded is an answer without its size and correlation id: what can be sent again to whoever asks the same. Nobody
// changes it.
type Encoded []byte

// encodedCopyMax is the largest Encoded that Reply copies: a piece of its own on the socket costs more than that.
const encodedCopyMax = 4 << 10

// EncodeShared is Encode for an answer that will be sent many times.
func EncodeShared(resp kmsg.Response) Encoded {
	const before = 8 // size, correlation id
	reply := Encode(resp, 0)
	defer reply.Release()
	return bytes.Clone(reply.Buf.B[before:])
}

// Reply is the whole frame for one request. All replies share e's memory if it is large, so that ten thousand slow
// readers of a large answer cost one of it; the caller owns the reply.
func (e Encoded) Reply(correlationID int32) protocol.Reply {
	reply := protocol.NewReply()
	start := len(reply.Buf.B)
	beginFrame(&reply, correlationID, false) // what a flexible header has more is in e
	if len(e) <= encodedCopyMax {
		reply.Buf.B = append(reply.Buf.B, e...)
		endFrame(&reply, start, 0)
		return reply
	}
	reply.View(e, nil)
	endFrame(&reply, start, int64(len(e)))
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
