package kafka

import (
	"encoding/binary"
	"errors"
)

// What can be wrong with a request. The answer to all of them but ErrUnsupportedVersion of ApiVersions is what Apache
// Kafka does: close the connection, since nothing says where the client's mistake ends.
var (
	// ErrTruncated: the request ends before it is complete, or a count or length in it claims more bytes than are left.
	ErrTruncated = errors.New("request ends early")
	// ErrUnknownKey: an API that we don't serve.
	ErrUnknownKey = errors.New("unknown api key")
	// ErrUnsupportedVersion: an API that we serve, in a version that we don't.
	ErrUnsupportedVersion = errors.New("unsupported version")
	// ErrMalformed: null where the protocol has no null, a string longer than 32,767 bytes, a number that is no varint.
	ErrMalformed = errors.New("malformed request")
	// ErrTrailing: bytes behind the last field.
	ErrTrailing = errors.New("bytes behind the end of the request")
	// ErrTooLarge: well formed, but what it decodes into is out of proportion to its size.
	ErrTooLarge = errors.New("request decodes into too much memory")
)

// stringMax is the longest string in the protocol, compact ones too (Apache Kafka checks this on both sides).
const stringMax = 1<<15 - 1

// reader takes a request apart. The first error sticks and empties src, so that callers may read a run of fields and
// check once; every value read after an error is zero. Nothing is copied: what it returns aliases src.
type reader struct {
	src []byte
	err error
	// room is how much memory may still be made for what is read; see take.
	room int
}

// decodedMax is the memory that a request of this size may decode into: sixteen times its size, and a little more so
// that small requests are never in doubt, but at most 64 MiB beyond its own bytes. Honest requests with short names
// need up to ten times their size; unbounded, a megabyte of empty structures with tags becomes sixty.
func decodedMax(body int) int {
	return body + min(64<<10+15*body, 64<<20)
}

// take accounts for memory about to be made for what was read, and reports whether there is room for it.
func (r *reader) take(bytes int) bool {
	if bytes > r.room {
		r.fail(ErrTooLarge)
		return false
	}
	r.room -= bytes
	return true
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.src = nil
}

func (r *reader) skip(n int) {
	if n < 0 || len(r.src) < n {
		r.fail(ErrTruncated)
		return
	}
	r.src = r.src[n:]
}

func (r *reader) span(n int) []byte {
	if n < 0 || len(r.src) < n {
		r.fail(ErrTruncated)
		return nil
	}
	s := r.src[:n:n]
	r.src = r.src[n:]
	return s
}

func (r *reader) int8() int8 {
	if len(r.src) < 1 {
		r.fail(ErrTruncated)
		return 0
	}
	v := int8(r.src[0])
	r.src = r.src[1:]
	return v
}

func (r *reader) int16() int16 {
	if len(r.src) < 2 {
		r.fail(ErrTruncated)
		return 0
	}
	v := int16(binary.BigEndian.Uint16(r.src))
	r.src = r.src[2:]
	return v
}

func (r *reader) int32() int32 {
	if len(r.src) < 4 {
		r.fail(ErrTruncated)
		return 0
	}
	v := int32(binary.BigEndian.Uint32(r.src))
	r.src = r.src[4:]
	return v
}

func (r *reader) int64() int64 {
	if len(r.src) < 8 {
		r.fail(ErrTruncated)
		return 0
	}
	v := int64(binary.BigEndian.Uint64(r.src))
	r.src = r.src[8:]
	return v
}

func (r *reader) uuid() (id [16]byte) {
	copy(id[:], r.span(16))
	return id
}

// uvarint reads at most five bytes, the most that 32 bits need.
func (r *reader) uvarint() uint32 {
	if len(r.src) > 0 && r.src[0] < 0x80 {
		v := uint32(r.src[0])
		r.src = r.src[1:]
		return v
	}
	return r.longUvarint()
}

func (r *reader) longUvarint() uint32 {
	var v uint64
	for i, b := range r.src {
		if i == 5 {
			break
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if v > 1<<32-1 {
				break
			}
			r.src = r.src[i+1:]
			return uint32(v)
		}
	}
	if len(r.src) < 5 {
		r.fail(ErrTruncated)
	} else {
		r.fail(ErrMalformed)
	}
	return 0
}

// size reads the length before bytes, records and arrays: −1 for null. What it returns is not checked against the
// bytes that are left.
func (r *reader) size(flexible bool) int {
	if flexible {
		return int(r.uvarint()) - 1
	}
	if n := int(r.int32()); n >= 0 {
		return n
	}
	return -1
}

// count reads an array's length, −1 for null. Elements take at least elementMin bytes each, so more of them than the
// bytes that are left can hold is an error here already, before anyone makes room for them.
func (r *reader) count(flexible bool, elementMin int) int {
	n := r.size(flexible)
	if n > 0 && n > len(r.src)/elementMin {
		r.fail(ErrTruncated)
		return 0
	}
	return n
}

// array is count where null is an error.
func (r *reader) array(flexible bool, elementMin int) int {
	n := r.count(flexible, elementMin)
	if n < 0 {
		r.fail(ErrMalformed)
		return 0
	}
	return n
}

// nullableString returns nil for null and an empty slice that is not nil for "".
func (r *reader) nullableString(flexible bool) []byte {
	var n int
	if flexible {
		n = int(r.uvarint()) - 1
	} else {
		n = int(r.int16())
	}
	switch {
	case r.err != nil || n < 0:
		return nil
	case n > stringMax:
		r.fail(ErrMalformed)
		return nil
	}
	return r.span(n)
}

// string is nullableString where null is an error.
func (r *reader) string(flexible bool) []byte {
	s := r.nullableString(flexible)
	if s == nil {
		r.fail(ErrMalformed)
	}
	return s
}

// nullableBytes returns nil for null and an empty slice that is not nil for no bytes.
func (r *reader) nullableBytes(flexible bool) []byte {
	n := r.size(flexible)
	if r.err != nil || n < 0 {
		return nil
	}
	return r.span(n)
}

// tags skips a structure's tagged fields and returns how many there were.
func (r *reader) tags() int {
	n := r.tagCount()
	for i := 0; i < n && r.err == nil; i++ {
		r.uvarint()
		r.skip(int(r.uvarint()))
	}
	return n
}

// tagCount begins a structure's tagged fields; a tag takes two bytes at least, its number and its size.
func (r *reader) tagCount() int {
	n := int(r.uvarint())
	if n < 0 || n > len(r.src)/2 {
		r.fail(ErrTruncated)
		return 0
	}
	return n
}

// tag reads one tagged field and returns a reader of its value.
func (r *reader) tag() (number uint32, value reader) {
	number = r.uvarint()
	value.src = r.span(int(r.uvarint()))
	value.err = r.err
	return number, value
}

// check takes over the error of a tagged field's reader. Bytes left in it are ignored: they belong to a later version.
func (r *reader) check(value *reader) {
	if value.err != nil {
		r.fail(value.err)
	}
}

// end is the check at the end of a body: nothing is left.
func (r *reader) end() error {
	if r.err == nil && len(r.src) > 0 {
		return ErrTrailing
	}
	return r.err
}

// bytesLike is what a name comes as: aliased from a request, or held by the metadata.
type bytesLike interface{ ~string | ~[]byte }

func appendInt16(dst []byte, v int16) []byte { return binary.BigEndian.AppendUint16(dst, uint16(v)) }
func appendInt32(dst []byte, v int32) []byte { return binary.BigEndian.AppendUint32(dst, uint32(v)) }
func appendInt64(dst []byte, v int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) }

func appendUvarint(dst []byte, v uint32) []byte { return binary.AppendUvarint(dst, uint64(v)) }

// uvarintLen is the number of bytes that appendUvarint takes.
func uvarintLen(v uint32) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// appendSize is the length before bytes, records and arrays; −1 for null.
func appendSize(dst []byte, n int, flexible bool) []byte {
	if flexible {
		return appendUvarint(dst, uint32(n+1))
	}
	return appendInt32(dst, int32(n))
}

func appendString[S bytesLike](dst []byte, s S, flexible bool) []byte {
	if len(s) > stringMax { // an answer's text, so ours to shorten: a wrong length would tear the whole frame
		s = s[:stringMax]
	}
	if flexible {
		dst = appendUvarint(dst, uint32(len(s)+1))
	} else {
		dst = appendInt16(dst, int16(len(s)))
	}
	return append(dst, s...)
}

// appendText writes a nullable string of an answer, where having nothing to say is null.
func appendText(dst []byte, s string, flexible bool) []byte {
	switch {
	case s != "":
		return appendString(dst, s, flexible)
	case flexible:
		return append(dst, 0)
	default:
		return appendInt16(dst, -1)
	}
}
