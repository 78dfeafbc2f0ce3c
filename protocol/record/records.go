package record

// Record is one record of a batch. Its slices point into the batch or into the
// Scratch it was decompressed in, and are valid as long as those.
type Record struct {
	OffsetDelta int32  // offset − the batch's base offset
	Timestamp   int64  // ms; the batch's MaxTimestamp if it is LogAppendTime; NoTimestamp if there is none
	Key         []byte // nil: null
	Value       []byte // nil: null
	Headers     []Header
}

// Header is one header of a record. A key is never null.
type Header struct {
	Key   []byte
	Value []byte // nil: null
}

// In skim and decode an index that went wrong, −1 or beyond the record, is found
// by the next reading of it: out says so.
func out(p []byte, i int) bool { return uint(i) >= uint(len(p)) }

// bounds finds the limits of the record at p[i:]: it is p[body:end].
func bounds(p []byte, i int) (body, end int, ok bool) {
	if out(p, i) {
		return 0, 0, false
	}
	u, body := raw32(p, i)
	size := int(u >> 1)
	if body < 0 || u&1 != 0 || size > len(p)-body {
		return 0, 0, false
	}
	return body, body + size, true
}

// skim reads a record's deltas at p[i:] and steps over the rest, checking all
// lengths: less than half of the cost of decoding it, and what Check and time
// look-ups need. next is −1 for a malformed record.
func skim(p []byte, i int) (offsetDelta int32, timestampDelta int64, next int) {
	i, end, ok := bounds(p, i)
	if !ok {
		return 0, 0, -1
	}
	p = p[:end]
	i++ // attributes: none are defined
	if out(p, i) {
		return 0, 0, -1
	}
	time, i := raw64(p, i)
	if out(p, i) {
		return 0, 0, -1
	}
	offset, i := raw32(p, i)
	i = skip(p, skip(p, i)) // key and value
	if out(p, i) {
		return 0, 0, -1
	}
	headers, i := raw32(p, i)
	if headers != 0 {
		i = skipHeaders(p, i, headers)
	}
	if i != end {
		return 0, 0, -1
	}
	return zigzag32(offset), zigzag64(time), end
}

// skip steps over a length and its bytes. Any negative length means null, as in
// Kafka.
func skip(p []byte, i int) int {
	if out(p, i) {
		return -1
	}
	u, i := raw32(p, i)
	if u&1 != 0 || i < 0 {
		return i
	}
	return i + int(u>>1)
}

// skipHeaders steps over headers, of which raw is the raw count.
func skipHeaders(p []byte, i int, raw uint32) int {
	count := int(raw >> 1)
	if i < 0 || raw&1 != 0 || count > len(p)-i {
		return -1
	}
	for ; count > 0; count-- {
		if out(p, i) || p[i]&1 != 0 { // a key is never null
			return -1
		}
		i = skip(p, skip(p, i))
	}
	return i
}

// field reads what skip steps over: nil for null, else not nil.
func field(p []byte, i int) ([]byte, int) {
	if out(p, i) {
		return nil, -1
	}
	u, i := raw32(p, i)
	if u&1 != 0 || i < 0 {
		return nil, i
	}
	n := int(u >> 1)
	if n > len(p)-i {
		return nil, -1
	}
	return p[i : i+n : i+n], i + n
}

// decode reads the whole record at p[i:] into r. headers is the space for its
// headers and comes back, grown if need be. next is −1 for a malformed record.
func (r *Record) decode(p []byte, i int, baseTimestamp int64, headers []Header) (_ []Header, next int) {
	i, end, ok := bounds(p, i)
	if !ok {
		return headers, -1
	}
	p = p[:end]
	if i++; out(p, i) { // behind the attributes
		return headers, -1
	}
	time, i := raw64(p, i)
	if out(p, i) {
		return headers, -1
	}
	offset, i := raw32(p, i)
	r.Timestamp, r.OffsetDelta = baseTimestamp+zigzag64(time), zigzag32(offset)
	r.Key, i = field(p, i)
	r.Value, i = field(p, i)
	if out(p, i) {
		return headers, -1
	}
	raw, i := raw32(p, i)
	count := int(raw >> 1)
	if i < 0 || raw&1 != 0 || count > end-i {
		return headers, -1
	}
	for ; count > 0; count-- {
		var h Header
		h.Key, i = field(p, i)
		h.Value, i = field(p, i)
		if i < 0 || h.Key == nil {
			return headers, -1
		}
		headers = append(headers, h)
	}
	if i != end {
		return headers, -1
	}
	r.Headers = headers
	return headers, end
}

// Each calls f with each record, in order, until f returns an error, which Each
// returns. The record and all that it refers to are valid during the call only.
// Gaps in the offset deltas are no error (a compacted batch has them). Errors
// besides f's: ErrInvalidRecord, ErrUnsupportedCompression, ErrTooLarge; f may
// have been called before they show. With a nil s one is borrowed from a pool.
func (b Batch) Each(s *Scratch, f func(Record) error) error {
	if s == nil {
		s = borrow()
		defer s.giveBack()
	}
	p, err := s.records(b)
	if err != nil {
		return err
	}
	base, appendTime := b.BaseTimestamp(), b.IsLogAppendTime()
	i := 0
	for n := b.Count(); n > 0; n-- {
		var r Record
		if s.headers, i = r.decode(p, i, base, s.headers[:0]); i < 0 {
			return errRecord
		}
		if appendTime {
			r.Timestamp = b.MaxTimestamp()
		}
		if err := f(r); err != nil {
			return err
		}
	}
	if i != len(p) {
		return errRemaining
	}
	return nil
}

// Times calls f with offset and timestamp of each record, in order, until f says
// false. It costs a third of Each. Errors are those of Each. With a nil s one is
// borrowed from a pool if the batch is compressed.
func (b Batch) Times(s *Scratch, f func(offset, timestampMs int64) (more bool)) error {
	p := b.Records()
	if b.Codec() != None {
		if s == nil {
			s = borrow()
			defer s.giveBack()
		}
		var err error
		if p, err = s.records(b); err != nil {
			return err
		}
	}
	offset, base, appendTime := b.BaseOffset(), b.BaseTimestamp(), b.IsLogAppendTime()
	i := 0
	for n := b.Count(); n > 0; n-- {
		o, t, next := skim(p, i)
		if next < 0 {
			return errRecord
		}
		i = next
		t += base
		if appendTime {
			t = b.MaxTimestamp()
		}
		if !f(offset+int64(o), t) {
			return nil
		}
	}
	return nil
}

// WithoutKey appends the indexes of the first records that have no key, count of them at most. Errors and s are as of Times.
func (b Batch) WithoutKey(s *Scratch, to []int32, count int) (_ []int32, err error) {
	p := b.Records()
	if b.Codec() != None {
		if s == nil {
			s = borrow()
			defer s.giveBack()
		}
		if p, err = s.records(b); err != nil {
			return to, err
		}
	}
	i := 0
	for n := range b.Count() {
		_, _, next := skim(p, i)
		if next < 0 {
			return to, errRecord
		}
		at, _, _ := bounds(p, i)
		_, at = raw64(p, at+1) // skim has seen that all of it is there
		_, at = raw32(p, at)
		if raw, _ := raw32(p, at); raw&1 != 0 && count > 0 {
			to = append(to, n)
			count--
		}
		i = next
	}
	return to, nil
}

// FirstAtOrAfter finds the first record with a timestamp ≥ timestampMs and an
// offset in [from, upTo): the answer to ListOffsets by time is a record, not a
// batch (KIP-79). Records need not be ordered by time.
func (b Batch) FirstAtOrAfter(s *Scratch, timestampMs, from, upTo int64) (offset, recordMs int64, found bool, err error) {
	err = b.Times(s, func(o, t int64) bool {
		if o >= from && o < upTo && t >= timestampMs {
			offset, recordMs, found = o, t, true
		}
		return !found
	})
	return offset, recordMs, found, err
}

// FirstOfMaxTimestamp finds the largest timestamp of the records with an offset
// in [from, upTo), and the first record that has it (KIP-734).
func (b Batch) FirstOfMaxTimestamp(s *Scratch, from, upTo int64) (offset, recordMs int64, found bool, err error) {
	err = b.Times(s, func(o, t int64) bool {
		if o >= from && o < upTo && (!found || t > recordMs) {
			offset, recordMs, found = o, t, true
		}
		return true
	})
	return offset, recordMs, found, err
}

// TrueMaxTimestamp is the largest timestamp of the records, whatever the header
// says; NoTimestamp if there is none.
func (b Batch) TrueMaxTimestamp(s *Scratch) (maxMs int64, err error) {
	maxMs = NoTimestamp
	err = b.Times(s, func(_, t int64) bool {
		maxMs = max(maxMs, t)
		return true
	})
	return maxMs, err
}
