package group

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// reader takes a record apart. After the first thing that does not fit, bad is set and all else is zero. Nothing is allocated
// for a length that is only claimed; what it returns is copied.
type reader struct {
	b        []byte
	flexible bool // compact strings and arrays, tagged fields
	bad      bool
}

func (r *reader) err(what string) error {
	if r.bad {
		return fmt.Errorf("%w: %s", ErrCorruptRecord, what)
	}
	return nil
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// version reads the version that a value starts with. A flexible one may be newer than we know: Kafka promises that only
// tagged fields are added (KIP-915).
func (r *reader) version() int16 {
	v := r.int16()
	if v < 0 || v > lastVersion {
		r.bad = true
	}
	r.flexible = v >= lastVersion
	return v
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 || v > 1<<31 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// length of a string, -1 for null.
func (r *reader) length() int {
	if r.flexible {
		return int(r.uvarint()) - 1
	}
	return int(r.int16())
}

func (r *reader) string() string {
	return string(r.take(r.stringLength()))
}

// stringLength refuses what a writer couldn't write back: compact strings have no bound of their own.
func (r *reader) stringLength() int {
	n := r.length()
	r.bad = r.bad || n > maxString
	return n
}

func (r *reader) nullableString() *string {
	n := r.stringLength()
	if n == -1 {
		return nil
	}
	s := string(r.take(n))
	return &s
}

func (r *reader) arrayLength() int {
	if r.flexible {
		return int(r.uvarint()) - 1
	}
	return int(r.int32())
}

func (r *reader) bytes() []byte {
	return bytes.Clone(r.take(r.arrayLength()))
}

// tags skips the tagged fields at the end of a structure.
func (r *reader) tags() {
	if !r.flexible {
		return
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		r.uvarint()
		r.take(int(r.uvarint()))
	}
}
