package kafka

import (
	"encoding/binary"
	"fmt"
	"math"

	"millrace/protocol"
)

// Endpoint is where a client finds a broker, in the answers of Produce (10+) and Fetch (16+) that name new leaders
// (KIP-951). An empty Rack goes out as null.
type Endpoint struct {
	NodeID int32
	Host   string
	Port   int32
	Rack   string
}

// Leader names a partition's leader to a client that asked the wrong broker. The zero Leader is unknown and isn't sent.
type Leader struct {
	Known     bool
	ID, Epoch int32
}

// beginFrame appends room for the size and the response header. Header version 1 only adds its tagged fields, none.
func beginFrame(reply *protocol.Reply, correlationID int32, flexibleHeader bool) {
	b := append(reply.Buf.B, 0, 0, 0, 0)
	b = appendInt32(b, correlationID)
	if flexibleHeader {
		b = append(b, 0)
	}
	reply.Buf.B = b
}

// endFrame sets the size of the frame, which began at start and to which views add viewBytes. No client can read a
// frame beyond 2 GiB, and no caller may let one come so far: what Produce and Fetch answer is bounded by the request.
func endFrame(reply *protocol.Reply, start int, viewBytes int64) {
	size := int64(len(reply.Buf.B)-start-4) + viewBytes
	if size > math.MaxInt32 {
		panic(fmt.Sprintf("kafka: answer of %d bytes", size))
	}
	binary.BigEndian.PutUint32(reply.Buf.B[start:], uint32(size))
}

// appendLeader appends the tagged field of a leader: number, size, value, and the value's own empty tagged fields.
func appendLeader(b []byte, tag byte, l Leader) []byte {
	b = append(b, tag, 4+4+1)
	b = appendInt32(b, l.ID)
	b = appendInt32(b, l.Epoch)
	return append(b, 0)
}

// appendEndpoints appends the tagged fields that end an answer: none, or the endpoints under tag 0.
func appendEndpoints(b []byte, endpoints []Endpoint) []byte {
	if len(endpoints) == 0 {
		return append(b, 0)
	}
	size := uvarintLen(uint32(len(endpoints) + 1))
	for i := range endpoints {
		size += endpoints[i].size()
	}
	b = append(b, 1, 0)
	b = appendUvarint(b, uint32(size))
	b = appendSize(b, len(endpoints), true)
	for i := range endpoints {
		e := &endpoints[i]
		b = appendInt32(b, e.NodeID)
		b = appendString(b, e.Host, true)
		b = appendInt32(b, e.Port)
		b = appendText(b, e.Rack, true)
		b = append(b, 0)
	}
	return b
}

func (e *Endpoint) size() int {
	return 4 + compactLen(e.Host) + 4 + compactLen(e.Rack) + 1
}

// compactLen is what a string takes with its compact length. An empty one takes the one byte that null does.
func compactLen(s string) int {
	n := min(len(s), stringMax)
	return uvarintLen(uint32(n+1)) + n
}

// countdown holds an encoder to the numbers of topics and partitions that it announced: the counts are on the wire
// before the elements are, and a client would misread everything behind one too few.
type countdown struct{ topics, partitions int }

func (c *countdown) topic(partitions int) {
	if c.topics == 0 || c.partitions != 0 || partitions < 0 {
		panic("kafka: a topic more than announced, or the last one isn't complete")
	}
	c.topics--
	c.partitions = partitions
}

// partition reports whether the partition that now comes is its topic's last.
func (c *countdown) partition() (last bool) {
	if c.partitions == 0 {
		panic("kafka: a partition more than announced")
	}
	c.partitions--
	return c.partitions == 0
}

func (c *countdown) end() {
	if c.topics != 0 || c.partitions != 0 {
		panic("kafka: fewer topics or partitions than announced")
	}
}
