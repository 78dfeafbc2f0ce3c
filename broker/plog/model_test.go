package plog

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"millrace/protocol"
	"millrace/protocol/record"
)

// model is the log as one would write it without a care for time or memory.
type model struct {
	start, end int64
	config     Config
	batches    []modelBatch
}

type modelBatch struct {
	bytes   []byte
	base    int64
	records []int64 // timestamps, one per offset
	epoch   int32
	nowMs   int64 // when it was appended
}

func (b *modelBatch) end() int64 { return b.base + int64(len(b.records)) }

func (m *model) append(b record.Batch, timestamps []int64, epoch int32, nowMs int64) {
	stored := record.Batch(bytes.Clone(b))
	stored.SetBaseOffset(m.end)
	stored.SetPartitionLeaderEpoch(epoch)
	timestamps = append([]int64(nil), timestamps...)
	if m.config.TimestampType == LogAppendTime {
		stored.SetMaxTimestamp(nowMs, true)
		for i := range timestamps {
			timestamps[i] = nowMs
		}
	}
	m.batches = append(m.batches, modelBatch{stored, m.end, timestamps, epoch, nowMs})
	m.end += int64(len(timestamps))
}

// replicate takes a batch as it is.
func (m *model) replicate(b record.Batch, timestamps []int64, nowMs int64) {
	m.batches = append(m.batches, modelBatch{b, b.BaseOffset(), timestamps, b.PartitionLeaderEpoch(), nowMs})
	m.end = b.LastOffset() + 1
}

func (m *model) truncate(to int64) {
	m.end = to
	for i, b := range m.batches {
		if b.end() > to {
			m.batches = m.batches[:i]
			return
		}
	}
}

// lastEnd is where the last batch ends; the log may end behind it.
func (m *model) lastEnd() int64 {
	if len(m.batches) == 0 {
		return 0
	}
	return m.batches[len(m.batches)-1].end()
}

func (m *model) read(from int64, maxBytes int, upTo int64, atLeastOne bool) []byte {
	var out []byte
	for _, b := range m.batches {
		if b.end() <= from {
			continue
		}
		if b.end() > upTo || len(out)+len(b.bytes) > maxBytes && !(atLeastOne && len(out) == 0) {
			break
		}
		out = append(out, b.bytes...)
	}
	return out
}

type timeFound struct {
	Offset, Ms int64
	Epoch      int32
	Found      bool
}

func foundNothing() timeFound { return timeFound{-1, -1, -1, false} }

func (m *model) records(upTo int64, f func(offset, ms int64, epoch int32) bool) {
	for _, b := range m.batches {
		for i, ms := range b.records {
			if o := b.base + int64(i); o >= m.start && o < upTo && !f(o, ms, b.epoch) {
				return
			}
		}
	}
}

func (m *model) byTime(target, upTo int64) timeFound {
	found := foundNothing()
	m.records(upTo, func(offset, ms int64, epoch int32) bool {
		if ms >= target {
			found = timeFound{offset, ms, epoch, true}
		}
		return !found.Found
	})
	return found
}

func (m *model) ofMaxTimestamp(upTo int64) timeFound {
	found := foundNothing()
	m.records(upTo, func(offset, ms int64, epoch int32) bool {
		if ms > found.Ms {
			found = timeFound{offset, ms, epoch, true}
		}
		return true
	})
	return found
}

// forget drops the batches of whole segments below the start; ends are the
// segments' end offsets.
func (m *model) forget(ends []int64) {
	for _, end := range ends {
		if end > m.start {
			break
		}
		for len(m.batches) > 0 && m.batches[0].end() <= end {
			m.batches = m.batches[1:]
		}
	}
}

// retain is Kafka's rule, segment by segment.
func (m *model) retain(ends []int64, nowMs, highWatermark int64) (freed int64) {
	size := m.sizeBytes()
	i := 0
	for _, end := range ends {
		segment, largest, last := int64(0), int64(-1), int64(0)
		for ; i < len(m.batches) && m.batches[i].end() <= end; i++ {
			segment += int64(len(m.batches[i].bytes))
			largest = max(largest, record.Batch(m.batches[i].bytes).MaxTimestamp())
			last = m.batches[i].nowMs
		}
		bySize := m.config.RetentionBytes >= 0 && size-segment >= m.config.RetentionBytes
		byTime := m.config.RetentionMs >= 0 && nowMs-largest > m.config.RetentionMs &&
			nowMs-last >= min(m.config.RetentionMs, m.config.RetentionCheckMs)
		if end > highWatermark || !bySize && !byTime {
			break
		}
		size -= segment
		freed += segment
		m.start = max(m.start, end)
	}
	m.forget(ends)
	return freed
}

func (m *model) sizeBytes() (n int64) {
	for _, b := range m.batches {
		n += int64(len(b.bytes))
	}
	return n
}

func segmentEnds(l *Log) (ends []int64) {
	for _, s := range l.segments.live() {
		ends = append(ends, s.end)
	}
	return ends
}

// walker drives a log and the model with the same random operations.
type walker struct {
	t     *testing.T
	rng   *rand.Rand
	log   *Log
	model model
	nowMs int64
	epoch int32
	views []protocol.View // held for a while, with what they showed
	shown [][]byte
}

// boundary is a random offset at which a batch begins, or the end.
func (w *walker) boundary() int64 {
	i := w.rng.IntN(len(w.model.batches) + 1)
	if i == len(w.model.batches) || w.rng.IntN(3) == 0 {
		return w.model.end
	}
	return w.model.batches[i].base
}

func (w *walker) offset() int64 {
	return w.model.start + w.rng.Int64N(w.model.end-w.model.start+1)
}

func (w *walker) batch() (b record.Batch, stamps []int64) {
	codec := record.Codec(w.rng.IntN(5))
	if w.rng.IntN(4) > 0 {
		codec = record.None // the others are slow to build
	}
	stamps = make([]int64, 1+w.rng.IntN(8))
	for i := range stamps {
		stamps[i] = w.nowMs - w.rng.Int64N(1+w.rng.Int64N(20_000))
	}
	return sized(codec, w.rng.IntN(1<<w.rng.IntN(14)), stamps...), stamps
}

func (w *walker) append() {
	b, stamps := w.batch()
	a, err := w.log.Append(b, w.epoch, w.nowMs)
	if err != nil {
		w.t.Fatal(err)
	}
	if a.BaseOffset != w.model.end || a.LastOffset != w.model.end+int64(len(stamps))-1 {
		w.t.Fatalf("appended at %d–%d, want %d and %d records", a.BaseOffset, a.LastOffset, w.model.end, len(stamps))
	}
	w.model.append(b, stamps, w.epoch, w.nowMs)
}

// replicate appends what a leader might send, with an end that is damaged at
// times.
func (w *walker) replicate() {
	var sent []byte
	for range 1 + w.rng.IntN(3) {
		if w.rng.IntN(8) == 0 {
			w.epoch++
		}
		b, stamps := w.batch()
		b = bytes.Clone(b)
		b.SetBaseOffset(w.model.end)
		if w.model.start == w.model.end {
			b.SetBaseOffset(max(0, w.model.end-w.rng.Int64N(int64(len(stamps)))))
		}
		b.SetPartitionLeaderEpoch(w.epoch)
		sent = append(sent, b...)
		w.model.replicate(b, stamps, w.nowMs)
	}
	bad := w.rng.IntN(4) == 0
	if bad {
		b, _ := w.batch()
		b.SetBaseOffset(w.model.end + 1)
		sent = append(sent, b...)
	}
	if err := w.log.AppendReplicated(sent, w.nowMs); bad != errors.Is(err, record.ErrCorrupt) || !bad && err != nil {
		w.t.Fatalf("AppendReplicated, bad %v: %v", bad, err)
	}
}

// truncate cuts little, most of the time, and at a batch.
func (w *walker) truncate() {
	n := len(w.model.batches)
	if n == 0 {
		return
	}
	to := w.model.batches[w.rng.IntN(n)].base
	switch w.rng.IntN(8) {
	case 0:
	case 1:
		to = w.offset()
	default:
		to = w.model.batches[n-1-w.rng.IntN(min(n, 30))].base
	}
	to = max(to, w.model.start)
	ends := segmentEnds(w.log)
	w.log.Truncate(to)
	w.model.truncate(to)
	for i := range ends { // where those that are left end now
		ends[i] = min(ends[i], w.model.lastEnd())
	}
	w.model.forget(ends)
	if s := w.log.segments.last(); s != nil { // its time of the last append stays
		w.model.batches[len(w.model.batches)-1].nowMs = s.lastMs
	}
}

// epochs compares the epoch cache with the batches.
func (w *walker) epochs() {
	for _, b := range w.model.batches {
		if got := w.log.EpochAt(b.end() - 1); b.end() > w.model.start && got != b.epoch {
			w.t.Fatalf("EpochAt(%d) = %d, want %d", b.end()-1, got, b.epoch)
		}
		if _, end := w.log.EpochEnd(b.epoch); end < b.end() {
			w.t.Fatalf("epoch %d ends at %d, and has a batch that ends at %d", b.epoch, end, b.end())
		}
	}
	for _, e := range w.log.Epochs() {
		if e.Offset < w.model.start || e.Offset > w.model.end {
			w.t.Fatalf("epoch %d begins at %d, of [%d, %d)", e.Epoch, e.Offset, w.model.start, w.model.end)
		}
	}
}

func (w *walker) read() {
	from, upTo, atLeastOne := w.offset(), w.boundary(), w.rng.IntN(2) == 0
	maxBytes := w.rng.IntN(1<<w.rng.IntN(22)) - 1
	views, _, err := w.log.Read(from, maxBytes, upTo, atLeastOne, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []byte
	for _, v := range views {
		got = append(got, v.Bytes...)
		w.shown = append(w.shown, bytes.Clone(v.Bytes))
	}
	w.views = append(w.views, views...)
	if want := w.model.read(from, maxBytes, upTo, atLeastOne); !bytes.Equal(got, want) {
		w.t.Fatalf("Read(%d, %d, %d, %v): batches %v, want %v", from, maxBytes, upTo, atLeastOne,
			offsets(w.t, got), offsets(w.t, want))
	}
}

// letGo releases the views held, after a look whether they still show the same.
func (w *walker) letGo() {
	for i, v := range w.views {
		if !bytes.Equal(v.Bytes, w.shown[i]) {
			w.t.Fatal("the bytes of a view changed while it was held")
		}
	}
	release(w.views)
	w.views, w.shown = nil, nil
}

func (w *walker) times() {
	upTo := w.boundary()
	target := w.nowMs - w.rng.Int64N(200_000) + 10_000
	var got timeFound
	got.Offset, got.Ms, got.Epoch, got.Found = w.log.OffsetForTime(target, upTo)
	if want := w.model.byTime(target, upTo); got != want {
		w.t.Fatalf("OffsetForTime(%d, %d) = %+v, want %+v", target, upTo, got, want)
	}
	got.Offset, got.Ms, got.Epoch, got.Found = w.log.OffsetOfMaxTimestamp(upTo)
	if want := w.model.ofMaxTimestamp(upTo); got != want {
		w.t.Fatalf("OffsetOfMaxTimestamp(%d) = %+v, want %+v", upTo, got, want)
	}
}

func (w *walker) deleteRecords() {
	before := w.offset()
	if w.rng.IntN(3) > 0 {
		before = w.model.start + (before-w.model.start)/8
	}
	ends := segmentEnds(w.log)
	if err := w.log.DeleteRecords(before); err != nil {
		w.t.Fatal(err)
	}
	w.model.start = max(w.model.start, before)
	w.model.forget(ends)
}

func (w *walker) retain() {
	ends, high := segmentEnds(w.log), w.boundary()
	got := w.log.Retain(w.nowMs, high)
	if want := w.model.retain(ends, w.nowMs, high); got != want {
		w.t.Fatalf("Retain freed %d, want %d", got, want)
	}
}

func (w *walker) configure() {
	c := DefaultConfig()
	c.RetentionMs = []int64{-1, 20_000, 100_000}[w.rng.IntN(3)]
	c.RetentionCheckMs = []int64{0, 1000, 50_000}[w.rng.IntN(3)]
	c.RetentionBytes = []int64{-1, 50_000, 2_000_000}[w.rng.IntN(3)]
	c.SegmentBytes = []int64{130_000, 1 << 30}[w.rng.IntN(2)]
	c.SegmentMs = []int64{5_000, 1 << 40}[w.rng.IntN(2)]
	if w.rng.IntN(4) == 0 {
		c.TimestampType = LogAppendTime
	}
	w.log.SetConfig(c)
	w.model.config = c
}

func (w *walker) step() {
	switch w.rng.IntN(100) {
	default:
		w.nowMs += w.rng.Int64N(500)
		w.append()
	case 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19:
		w.read()
	case 20, 21, 22, 23, 24, 25, 26, 27, 28, 29:
		w.times()
	case 30, 31:
		w.letGo()
	case 32:
		w.deleteRecords()
	case 33, 34:
		w.retain()
	case 35:
		w.configure()
	case 36:
		w.epoch++
		w.log.BeginEpoch(w.epoch)
	case 37, 38, 39, 40:
		w.replicate()
	case 41, 42:
		w.truncate()
	case 43:
		w.epochs()
	}
	if w.log.StartOffset() != w.model.start || w.log.EndOffset() != w.model.end || w.log.SizeBytes() != w.model.sizeBytes() {
		w.t.Fatalf("the log is [%d, %d) with %d bytes, want [%d, %d) with %d", w.log.StartOffset(), w.log.EndOffset(),
			w.log.SizeBytes(), w.model.start, w.model.end, w.model.sizeBytes())
	}
}

func TestAgainstModel(t *testing.T) {
	rng := seeded(t)
	for range 8 {
		w := walker{t: t, rng: rng, nowMs: testMs}
		start := rng.Int64N(1000)
		pool := newPool(t, 1<<30)
		w.log = New(pool, DefaultConfig(), start)
		w.model = model{start: start, end: start, config: DefaultConfig()}
		w.configure()
		for range 1500 {
			w.step()
		}
		if got, want := w.log.MemoryBytes(), pool.Stats().UsedTotal(); len(w.views) == 0 && got != want {
			t.Errorf("the log holds %d bytes of slabs, the pool says %d", got, want)
		}
		w.log.Close()
		w.letGo()
	}
}
