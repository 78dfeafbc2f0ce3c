package wire

import "encoding/binary"

// Reader takes Kafka's primitive types off the front of B, in their fixed forms or, with Flexible, the compact ones.
// Once a read runs past the end Bad is set, B is empty, and every further read gives zero.
type Reader struct {
	B        []byte
	Flexible bool
	Bad      bool
}

// Take gives the next n bytes, or nil when there are not so many.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.B) {
		r.B, r.Bad = nil, true
		return nil
	}
	b := r.B[:n]
	r.B = r.B[n:]
	return b
}

// Int16 reads an INT16.
func (r *Reader) Int16() int16 {
	if b := r.Take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

// Int32 reads an INT32.
func (r *Reader) Int32() int32 {
	if b := r.Take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Int64 reads an INT64.
func (r *Reader) Int64() int64 {
	if b := r.Take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// uvarint reads an UNSIGNED_VARINT that must fit an int32.
func (r *Reader) uvarint() int {
	v, n := binary.Uvarint(r.B)
	if n <= 0 || v > 1<<31-1 {
		r.B, r.Bad = nil, true
		return 0
	}
	r.B = r.B[n:]
	return int(v)
}

// Length reads the length of an array or of bytes; null is -1.
func (r *Reader) Length() int {
	if r.Flexible {
		return r.uvarint() - 1
	}
	return int(r.Int32())
}

// Count is a Length for a loop: at least 0, and never more than the bytes that are left.
func (r *Reader) Count() int { return max(min(r.Length(), len(r.B)), 0) }

// String reads a STRING; null reads as empty.
func (r *Reader) String() []byte {
	var n int
	if r.Flexible {
		n = r.uvarint() - 1
	} else {
		n = int(r.Int16())
	}
	return r.Take(max(n, 0))
}

// Bytes reads BYTES or RECORDS; null reads as empty.
func (r *Reader) Bytes() []byte { return r.Take(max(r.Length(), 0)) }

// Tags skips tagged fields, which only flexible versions have.
func (r *Reader) Tags() {
	if !r.Flexible {
		return
	}
	for n := r.uvarint(); n > 0 && !r.Bad; n-- {
		r.uvarint()
		r.Take(r.uvarint())
	}
}

// Writer appends Kafka's primitive types to B.
type Writer struct {
	B        []byte
	Flexible bool
}

// Int8 appends an INT8.
func (w *Writer) Int8(v int8) { w.B = append(w.B, byte(v)) }

// Int16 appends an INT16.
func (w *Writer) Int16(v int16) { w.B = binary.BigEndian.AppendUint16(w.B, uint16(v)) }

// Int32 appends an INT32.
func (w *Writer) Int32(v int32) { w.B = binary.BigEndian.AppendUint32(w.B, uint32(v)) }

// Int64 appends an INT64.
func (w *Writer) Int64(v int64) { w.B = binary.BigEndian.AppendUint64(w.B, uint64(v)) }

// Length appends the length of an array or of bytes; -1 is null.
func (w *Writer) Length(n int) {
	if w.Flexible {
		w.B = binary.AppendUvarint(w.B, uint64(n+1))
	} else {
		w.Int32(int32(n))
	}
}

// String appends a STRING.
func (w *Writer) String(s []byte) {
	if w.Flexible {
		w.B = binary.AppendUvarint(w.B, uint64(len(s)+1))
	} else {
		w.Int16(int16(len(s)))
	}
	w.B = append(w.B, s...)
}

// Null appends a null string.
func (w *Writer) Null() {
	if w.Flexible {
		w.B = append(w.B, 0)
	} else {
		w.Int16(-1)
	}
}

// Tags appends no tagged fields.
func (w *Writer) Tags() {
	if w.Flexible {
		w.B = append(w.B, 0)
	}
}

// Begin starts a frame with its correlation id and, in flexible versions, the header's tags. It gives where the
// frame's size stands, for End.
func (w *Writer) Begin(correlation int32) (at int) {
	at = len(w.B)
	w.Int32(0)
	w.Int32(correlation)
	w.Tags()
	return at
}

// End writes the size of the frame that was begun at the place given.
func (w *Writer) End(at int) {
	binary.BigEndian.PutUint32(w.B[at:], uint32(len(w.B)-at-4))
}
