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

// skim reads a record's deltas at p[i:] and steps over the rest, checking all
// lengths: a third of the cost of decoding it, and what Check, time look-ups and
// ranges need. next is −1 for a malformed record.
func skim(p []byte, i int) (offsetDelta int32, timestampDelta int64, next int) {
	size, i := varint(p, i)
	if i < 0 || size < minRecordBytes-1 || int(size) > len(p)-i {
		return 0, 0, -1
	}
	end := i + int(size)
	p = p[:end]
	if timestampDelta, i = varlong(p, i+1); i < 0 { // behind the unused attributes
		return 0, 0, -1
	}
	if offsetDelta, i = varint(p, i); i < 0 {
		return 0, 0, -1
	}
	if i = skip(p, i); i < 0 { // key
		return 0, 0, -1
	}
	if i = skip(p, i); i < 0 { // value
		return 0, 0, -1
	}
	headers, i := varint(p, i)
	if i < 0 || headers < 0 || int(headers) > end-i {
		return 0, 0, -1
	}
	for ; headers > 0; headers-- {
		if n, j := varint(p, i); j < 0 || n < 0 {
			return 0, 0, -1
		}
		if i = skip(p, i); i < 0 {
			return 0, 0, -1
		}
		if i = skip(p, i); i < 0 {
			return 0, 0, -1
		}
	}
	if i != end {
		return 0, 0, -1
	}
	return offsetDelta, timestampDelta, end
}

// skip steps over a length and its bytes. Any negative length means null, as in
// Kafka.
func skip(p []byte, i int) int {
	n, i := varint(p, i)
	if i < 0 || n <= 0 {
		return i
	}
	if int(n) > len(p)-i {
		return -1
	}
	return i + int(n)
}

// field reads what skip steps over: nil for null, else not nil.
func field(p []byte, i int) ([]byte, int) {
	n, i := varint(p, i)
	if i < 0 || n < 0 {
		return nil, i
	}
	end := i + int(n)
	if int(n) > len(p)-i {
		return nil, -1
	}
	return p[i:end:end], end
}

// decode reads the whole record at p[i:] into r. headers is the space for its
// headers and comes back, grown if need be. next is −1 for a malformed record.
func (r *Record) decode(p []byte, i int, baseTimestamp int64, headers []Header) (_ []Header, next int) {
	size, i := varint(p, i)
	if i < 0 || size < minRecordBytes-1 || int(size) > len(p)-i {
		return headers, -1
	}
	end := i + int(size)
	p = p[:end]
	delta, i := varlong(p, i+1)
	if i < 0 {
		return headers, -1
	}
	r.Timestamp = baseTimestamp + delta
	if r.OffsetDelta, i = varint(p, i); i < 0 {
		return headers, -1
	}
	if r.Key, i = field(p, i); i < 0 {
		return headers, -1
	}
	if r.Value, i = field(p, i); i < 0 {
		return headers, -1
	}
	count, i := varint(p, i)
	if i < 0 || count < 0 || int(count) > end-i {
		return headers, -1
	}
	for ; count > 0; count-- {
		var h Header
		if h.Key, i = field(p, i); i < 0 || h.Key == nil {
			return headers, -1
		}
		if h.Value, i = field(p, i); i < 0 {
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
