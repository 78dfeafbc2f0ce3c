package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A value is one byte of version and then its fields: numbers as (u)varint,
// strings and lists with their length before them. A release that adds something
// to a kind of value writes its next version, and goes on reading those before
// it. Nothing may follow the last field.
const (
	codecVersion     = 1 // of all kinds but these:
	brokerVersion    = 2 // 1 had no flags
	topicVersion     = 2 // 1 knew broker ids only
	partitionVersion = 2 // 1 knew broker ids only, and no ELR, offsets or reassignment
)

var errValue = errors.New("metadata: malformed value")

// reader takes a value apart. After the first fault it reads zeros; done
// tells about it. Lengths are checked against the bytes that are there, so
// that a value can't claim memory that it doesn't bring.
type reader struct {
	b       []byte
	version byte
	bad     bool
}

// newReader reads versions 1 to newest.
func newReader(b []byte, newest byte) *reader {
	r := &reader{b: b}
	r.version = r.byte()
	if r.version < 1 || r.version > newest {
		r.bad = true
	}
	return r
}

func (r *reader) done() error {
	if r.bad || len(r.b) != 0 {
		return errValue
	}
	return nil
}

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	head := r.b[:n]
	r.b = r.b[n:]
	return head
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// uvarint reads a number up to limit.
func (r *reader) uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 || v > limit {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) uint64() uint64 {
	if raw := r.take(8); raw != nil {
		return binary.LittleEndian.Uint64(raw)
	}
	return 0
}

func (r *reader) int32() int32 { return int32(r.uvarint(math.MaxInt32)) }
func (r *reader) int64() int64 { return int64(r.uvarint(math.MaxInt64)) }

// len reads the length of a list whose elements take at least size bytes each.
func (r *reader) len(size int) int {
	n := r.uvarint(math.MaxInt32)
	if n > uint64(len(r.b)/size) {
		r.bad = true
		return 0
	}
	return int(n)
}

// id reads a broker id or NoBroker.
func (r *reader) id() int32 {
	id, n := binary.Varint(r.b)
	if r.bad || n <= 0 || id < int64(NoBroker) || id > math.MaxInt32 {
		r.bad = true
		return NoBroker
	}
	r.b = r.b[n:]
	return int32(id)
}

func (r *reader) string() string { return string(r.take(uint64(r.len(1)))) }

// ids reads a list of broker ids, nil if it is empty.
func (r *reader) ids() []int32 {
	n := r.len(1)
	if n == 0 {
		return nil
	}
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = r.int32()
	}
	return ids
}

// members reads a list of ids, each with an incarnation.
func (r *reader) members() (ids []int32, incarnations []uint64) {
	n := r.len(1 + 8)
	if n == 0 {
		return nil, nil
	}
	ids, incarnations = make([]int32, n), make([]uint64, n)
	for i := range ids {
		ids[i], incarnations[i] = r.int32(), r.uint64()
	}
	return ids, incarnations
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendIDs(b []byte, ids []int32) []byte {
	b = binary.AppendUvarint(b, uint64(len(ids)))
	for _, id := range ids {
		b = appendInt32(b, id)
	}
	return b
}

func appendMembers(b []byte, ids []int32, incarnations []uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(ids)))
	for i, id := range ids {
		b = appendInt32(b, id)
		b = binary.LittleEndian.AppendUint64(b, incarnations[i])
	}
	return b
}

func appendInt32(b []byte, v int32) []byte { return appendInt64(b, int64(v)) }

func appendInt64(b []byte, v int64) []byte {
	if v < 0 {
		panic(fmt.Sprintf("metadata: %d can't be stored, it is negative", v))
	}
	return binary.AppendUvarint(b, uint64(v))
}
