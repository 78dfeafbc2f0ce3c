package record

import (
	"encoding/binary"
	"slices"
)

// Filter rebuilds batches without some of their records, as Apache Kafka's log cleaner does: the offsets of those that
// stay, the batch's first and last offset, and its producer's sequence numbers are what they were. It keeps its memory
// and its compressors from batch to batch. The zero value is ready. One goroutine at a time; each call makes what the
// one before returned invalid.
type Filter struct {
	scratch Scratch
	builder Builder
	runs    []run
}

// run is a row of records that stay, as bytes of the decompressed records.
type run struct{ from, to int }

// Retain returns b without the records that keep refuses: nil if none is left, b itself if nothing changes, otherwise a
// batch in the filter's memory, compressed with b's codec. What keep is given is valid during the call only.
//
// If a tombstone is among those that stay and b has no delete horizon yet, it gets horizonMs (KIP-534), in ms since 1970.
//
// Errors are those of Each; the batch must then be left as it is.
func (f *Filter) Retain(b Batch, horizonMs int64, keep func(Record) bool) (Batch, error) {
	p, err := f.scratch.records(b)
	if err != nil {
		return nil, err
	}
	f.runs = f.runs[:0]
	kept, maxMs, tombstones, i := int32(0), NoTimestamp, false, 0
	base, appendTime := b.BaseTimestamp(), b.IsLogAppendTime()
	for n := b.Count(); n > 0; n-- {
		var r Record
		from := i
		if f.scratch.headers, i = r.decode(p, from, base, f.scratch.headers[:0]); i < 0 {
			return nil, errRecord
		}
		if appendTime {
			r.Timestamp = b.MaxTimestamp()
		}
		if keep(r) {
			kept++
			maxMs = max(maxMs, r.Timestamp)
			tombstones = tombstones || r.Value == nil
			f.stays(from, i)
		}
	}
	if i != len(p) {
		return nil, errRemaining
	}
	_, has := b.DeleteHorizon()
	mark := tombstones && !has
	switch {
	case kept == 0:
		return nil, nil
	case kept == b.Count() && !mark:
		return b, nil
	case mark:
		return f.rebuild(b, p, kept, maxMs, &horizonMs), nil
	}
	return f.rebuild(b, p, kept, maxMs, nil), nil
}

// stays notes that p[from:to] is a record that stays.
func (f *Filter) stays(from, to int) {
	if n := len(f.runs); n > 0 && f.runs[n-1].to == from {
		f.runs[n-1].to = to
		return
	}
	f.runs = append(f.runs, run{from, to})
}

// SetDeleteHorizon returns a copy of b with a delete horizon. It is for batches that go as a whole when it has passed:
// the markers of transactions. Errors as of Retain.
func (f *Filter) SetDeleteHorizon(b Batch, horizonMs int64) (Batch, error) {
	p, err := f.scratch.records(b)
	if err != nil {
		return nil, err
	}
	i := 0
	for n := b.Count(); n > 0; n-- {
		if _, _, i = skim(p, i); i < 0 {
			return nil, errRecord
		}
	}
	if i != len(p) {
		return nil, errRemaining
	}
	f.runs = append(f.runs[:0], run{0, len(p)})
	return f.rebuild(b, p, b.Count(), b.MaxTimestamp(), &horizonMs), nil
}

// Empty returns b without any record: its header, which tells of its offsets and its producer.
func (f *Filter) Empty(b Batch) Batch {
	f.takeHeader(b)
	e := Batch(f.builder.raw)
	e[atAttributes+1] &= attrLogAppendTime | attrTransactional | attrControl
	ms := NoTimestamp
	binary.BigEndian.PutUint64(e[atBaseTimestamp:], uint64(ms))
	return finish(e, 0)
}

// rebuild makes a batch of the records in f.runs.
func (f *Filter) rebuild(b Batch, p []byte, count int32, maxMs int64, horizonMs *int64) Batch {
	f.takeHeader(b)
	w := &f.builder
	for _, r := range f.runs {
		if horizonMs == nil {
			w.raw = append(w.raw, p[r.from:r.to]...)
		} else {
			w.raw = rebase(w.raw, p[r.from:r.to], b.BaseTimestamp()-*horizonMs)
		}
	}
	out := w.raw
	if w.options.Codec = b.Codec(); w.options.Codec != None {
		out = w.compress()
	}
	e := Batch(out)
	if horizonMs != nil {
		e[atAttributes+1] |= attrDeleteHorizon
		binary.BigEndian.PutUint64(e[atBaseTimestamp:], uint64(*horizonMs))
	}
	if !b.IsLogAppendTime() {
		binary.BigEndian.PutUint64(e[atMaxTimestamp:], uint64(maxMs))
	}
	return finish(e, count)
}

// takeHeader begins a batch that has b's header. Much memory was that of one large batch.
func (f *Filter) takeHeader(b Batch) {
	w := &f.builder
	if cap(w.raw) > keepBytes {
		w.raw = nil
	}
	if cap(w.packed) > keepBytes {
		w.packed = nil
	}
	w.raw = append(w.raw[:0], b[:HeaderBytes]...)
}

// rebase appends records with the timestamps' deltas raised by diff.
func rebase(dst, records []byte, diff int64) []byte {
	for i := 0; i < len(records); {
		body, end, _ := bounds(records, i)
		time, rest := raw64(records, body+1)
		delta := zigzag64(time) + diff
		dst = appendVarint(dst, int64(1+varintBytes(delta)+end-rest))
		dst = append(dst, records[body])
		dst = appendVarint(dst, delta)
		dst = append(dst, records[rest:end]...)
		i = end
	}
	return dst
}

// finish sets what depends on the rest.
func finish(e Batch, count int32) Batch {
	e = slices.Clip(e)
	binary.BigEndian.PutUint32(e[atLength:], uint32(len(e)-lengthBytes))
	binary.BigEndian.PutUint32(e[atCount:], uint32(count))
	e.UpdateCRC()
	return e
}
