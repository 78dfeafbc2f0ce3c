package txn

import (
	"encoding/binary"
	"slices"
)

// reader takes a record apart. After the first thing that does not fit, bad is set and all else is zero. Nothing is allocated
// for a length that is only claimed; what it returns is copied.
type reader struct {
	b        []byte
	flexible bool // compact strings and arrays, tagged fields
	bad      bool
}

var zeros [8]byte

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// fixed is n bytes, zero if they are not there.
func (r *reader) fixed(n int) []byte {
	if b := r.take(n); b != nil {
		return b
	}
	return zeros[:n]
}

func (r *reader) int8() int8   { return int8(r.fixed(1)[0]) }
func (r *reader) int16() int16 { return int16(binary.BigEndian.Uint16(r.fixed(2))) }
func (r *reader) int32() int32 { return int32(binary.BigEndian.Uint32(r.fixed(4))) }
func (r *reader) int64() int64 { return int64(binary.BigEndian.Uint64(r.fixed(8))) }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 || v > 1<<31 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// size of an array, -1 for null.
func (r *reader) size() int {
	if r.flexible {
		return int(r.uvarint()) - 1
	}
	return int(r.int32())
}

func (r *reader) string() string {
	n := 0
	if r.flexible {
		n = int(r.uvarint()) - 1
	} else {
		n = int(r.int16())
	}
	r.bad = r.bad || n > maxString
	return string(r.take(n))
}

// partitions reads the list of a value, sorted.
func (r *reader) partitions() (all []Partition) {
	for n := r.size(); n > 0 && !r.bad; n-- {
		topic := r.string()
		for k := r.size(); k > 0 && !r.bad; k-- {
			all = append(all, Partition{topic, r.int32()})
		}
		r.tags(func(uint64, reader) {})
	}
	slices.SortFunc(all, Partition.compare)
	return slices.Compact(all)
}

// tags calls f with each tagged field.
func (r *reader) tags(f func(tag uint64, field reader)) {
	if !r.flexible {
		return
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		tag := r.uvarint()
		field := reader{b: r.take(int(r.uvarint())), flexible: true}
		if !r.bad {
			f(tag, field)
		}
	}
}
