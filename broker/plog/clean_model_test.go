package plog

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/protocol"
	"millrace/protocol/record"
)

// kept is a batch of the model: the log as one would compact it without a care for time or memory.
type kept struct {
	base, last, producer int64
	sequence             int32
	transactional        bool
	control              bool
	aborted              bool
	horizonMs            int64 // −1: none
	records              []keptRecord
}

type keptRecord struct {
	offset, ms int64
	key, value string // "\x00" is null
}

const null = "\x00"

func text(p []byte) string {
	if p == nil {
		return null
	}
	return string(p)
}

// cleanWalker drives a log that is compacted and the model with the same random operations.
type cleanWalker struct {
	t       *testing.T
	rng     *rand.Rand
	log     *Log
	cleaner Cleaner
	rules   CleanRules
	batches []kept
	stable  []int64 // ends of operations: where the high watermark may be
	keys    int
	last    map[int64]int64 // base offset of the last batch of each producer
	next    map[int64]int32 // sequence
	views   []protocol.View
	shown   [][]byte
	passes  int
	partial int
	pass    struct { // that is under way
		nowMs, end, keepMs int64
		last               map[int64]int64
	}
}

func newCleanWalker(t *testing.T, rng *rand.Rand) *cleanWalker {
	w := &cleanWalker{t: t, rng: rng, last: map[int64]int64{}, next: map[int64]int32{}, keys: 1 << (1 + rng.IntN(9))}
	start := rng.Int64N(1000)
	w.log = New(newPool(t, 1<<30), DefaultConfig(), start)
	w.stable = []int64{start}
	w.rules = CleanRules{NowMs: testMs, UpTo: start,
		KeepEmpty: func(b record.Batch) bool { at, ok := w.pass.last[b.ProducerID()]; return ok && at == b.BaseOffset() },
		Aborted: func(b record.Batch) bool {
			i := slices.IndexFunc(w.batches, func(k kept) bool { return k.base == b.BaseOffset() })
			return i >= 0 && w.batches[i].aborted
		}}
	w.cleaner.shorter = []int{0, stepWork - 1, stepWork - 20_000}[rng.IntN(3)]
	w.configure()
	return w
}

func (w *cleanWalker) configure() {
	c := DefaultConfig()
	c.Compact = true
	c.RetentionMs = -1
	c.RetentionBytes = []int64{-1, -1, 400_000}[w.rng.IntN(3)]
	c.SegmentBytes = []int64{40_000, 130_000, 1 << 30}[w.rng.IntN(3)]
	c.SegmentMs = []int64{5_000, 1 << 40}[w.rng.IntN(2)]
	c.DeleteRetentionMs = []int64{0, 3_000, math.MaxInt64}[w.rng.IntN(3)]
	c.MinCompactionLagMs = []int64{0, 0, 2_000}[w.rng.IntN(3)]
	c.MinCleanableDirtyRatio = []float64{0, 0.3, 0.7}[w.rng.IntN(3)]
	c.MaxCompactionLagMs = []int64{4_000, math.MaxInt64}[w.rng.IntN(2)]
	w.log.SetConfig(c)
}

// append adds a batch of a producer, or of none.
func (w *cleanWalker) append(o record.Options, records []record.Record, aborted bool) {
	if o.Idempotent && !o.Control {
		o.BaseSequence = w.next[o.ProducerID]
	}
	var b record.Builder
	b.Reset(o)
	k := kept{base: w.log.EndOffset(), producer: -1, sequence: -1, transactional: o.Transactional, control: o.Control, aborted: aborted, horizonMs: -1}
	for i, r := range records {
		b.Append(r)
		k.records = append(k.records, keptRecord{k.base + int64(i), r.Timestamp, text(r.Key), text(r.Value)})
	}
	k.last = k.base + int64(len(records)) - 1
	if o.Idempotent {
		k.producer, k.sequence = o.ProducerID, o.BaseSequence
		if !o.Control {
			w.last[o.ProducerID] = k.base
			w.next[o.ProducerID] += int32(len(records))
		}
	}
	mustAppend(w.t, w.log, b.Bytes(), 0, w.rules.NowMs)
	w.batches = append(w.batches, k)
}

func (w *cleanWalker) records() []record.Record {
	out := make([]record.Record, 1+w.rng.IntN(8))
	for i := range out {
		out[i] = record.Record{Timestamp: w.rules.NowMs - w.rng.Int64N(50), Key: fmt.Appendf(nil, "key-%d", w.rng.IntN(w.keys))}
		if w.rng.IntN(5) > 0 {
			out[i].Value = bytes.Repeat([]byte{byte('a' + w.rng.IntN(26))}, w.rng.IntN(1<<w.rng.IntN(12)))
		}
	}
	return out
}

func (w *cleanWalker) options() (o record.Options) {
	if w.rng.IntN(5) == 0 {
		o.Codec = record.Codec(w.rng.IntN(5))
	}
	return o
}

func (w *cleanWalker) produce() {
	o := w.options()
	if w.rng.IntN(2) == 0 {
		o.Idempotent, o.ProducerID = true, w.rng.Int64N(4)
	}
	w.append(o, w.records(), false)
}

// transact appends a transaction, with others' batches in between.
func (w *cleanWalker) transact() {
	abort := w.rng.IntN(2) == 0
	o := w.options()
	o.Idempotent, o.Transactional, o.ProducerID = true, true, 100+w.rng.Int64N(3)
	for range 1 + w.rng.IntN(3) {
		w.append(o, w.records(), abort)
		if w.rng.IntN(3) == 0 {
			w.produce()
		}
	}
	o.Codec, o.Control, o.BaseSequence = record.None, true, -1
	marker := byte(1)
	if abort {
		marker = 0
	}
	w.append(o, []record.Record{{Timestamp: w.rules.NowMs, Key: []byte{0, 0, 0, marker}, Value: make([]byte, 6)}}, false)
}

// truncate cuts what is not committed.
func (w *cleanWalker) truncate() {
	i := slices.IndexFunc(w.stable, func(o int64) bool { return o >= w.rules.UpTo })
	if i < 0 {
		return
	}
	i += w.rng.IntN(len(w.stable) - i)
	to := w.stable[i]
	w.stable = w.stable[:i+1]
	w.log.Truncate(to)
	w.batches = slices.DeleteFunc(w.batches, func(k kept) bool { return k.last >= to })
	clear(w.last)
	for _, k := range w.batches {
		if k.producer >= 0 && !k.control {
			w.last[k.producer] = k.base
		}
	}
}

func (w *cleanWalker) advance() {
	i := slices.IndexFunc(w.stable, func(o int64) bool { return o >= w.rules.UpTo })
	w.rules.UpTo = w.stable[i+w.rng.IntN(len(w.stable)-i)]
	if w.rng.IntN(2) == 0 {
		w.rules.UpTo = w.log.EndOffset()
	}
}

// clean does some steps, and applies a pass that is over to the model.
func (w *cleanWalker) clean() {
	for range 1 + w.rng.IntN(40) {
		began, due := w.log.cleaning != nil, w.log.CleanDue(&w.rules)
		if !due {
			return
		}
		more, err := w.cleaner.Step(w.log, &w.rules)
		if err != nil {
			w.t.Fatal(err)
		}
		p := w.log.cleaning
		switch {
		case !began:
			if p == nil {
				w.t.Fatal("a pass was due and hasn't begun")
			}
			w.rules.NowMs += w.rng.Int64N(100)
			w.running(p)
		case !more:
			if p != nil {
				w.t.Fatal("a pass is over and still there")
			}
			w.applied()
			w.check()
			return
		}
		if w.rng.IntN(20) == 0 {
			w.check()
		}
	}
}

// running remembers what a pass began with, and limits the table of some passes.
func (w *cleanWalker) running(p *cleaning) {
	w.pass.nowMs, w.pass.end, w.pass.keepMs, w.pass.last = p.nowMs, p.end, p.keepMs, maps.Clone(w.last)
	if w.rng.IntN(3) == 0 {
		p.table.entries = 8
	}
}

// applied is the cleaner's rule, on the model.
func (w *cleanWalker) applied() {
	w.passes++
	mapped := w.log.cleanTo
	if mapped < w.pass.end {
		w.partial++
	}
	latest := map[string]int64{}
	for _, k := range w.batches {
		for _, r := range k.records {
			if !k.control && !k.aborted && r.offset < mapped {
				latest[r.key] = r.offset
			}
		}
	}
	running := map[int64]bool{}
	out := w.batches[:0]
	for _, k := range w.batches {
		if k.base >= w.pass.end || k.base >= mapped && w.ofUntouched(k.base) {
			out = append(out, k)
			continue
		}
		w.applyTo(&k, latest, running, mapped)
		if len(k.records) > 0 || k.last+1 == w.pass.end || k.producer >= 0 && w.pass.last[k.producer] == k.base && !k.control {
			out = append(out, k)
		}
	}
	w.batches = out
}

// ofUntouched: the segments that the pass didn't come to.
func (w *cleanWalker) ofUntouched(base int64) bool {
	for _, s := range w.log.segments.live() {
		if s.base <= base && base < s.end {
			return s.base >= w.log.cleanTo
		}
	}
	return false
}

func (w *cleanWalker) applyTo(k *kept, latest map[string]int64, running map[int64]bool, mapped int64) {
	horizon := w.pass.keepMs
	if k.control {
		switch {
		case running[k.producer]:
			running[k.producer] = false
		case len(k.records) > 0 && k.horizonMs < 0:
			k.horizonMs = horizon
		case k.horizonMs <= w.pass.nowMs:
			k.records, k.horizonMs = nil, -1
		}
		return
	}
	if k.transactional {
		running[k.producer] = true
	}
	k.records = slices.DeleteFunc(slices.Clone(k.records), func(r keptRecord) bool {
		if k.aborted {
			return true
		}
		gone := r.value == null && k.horizonMs >= 0 && k.horizonMs <= w.pass.nowMs
		return r.offset < mapped && (r.offset < latest[r.key] || gone)
	})
	if len(k.records) == 0 {
		k.horizonMs = -1
	} else if k.horizonMs < 0 && slices.ContainsFunc(k.records, func(r keptRecord) bool { return r.value == null }) {
		k.horizonMs = horizon
	}
}

// contents are what the log holds.
func (w *cleanWalker) contents(l *Log) []kept {
	out := []kept{}
	for b := range l.Batches(0, forAll) {
		k := kept{base: b.BaseOffset(), last: b.LastOffset(), producer: b.ProducerID(), sequence: b.BaseSequence(),
			transactional: b.IsTransactional(), control: b.IsControl(), horizonMs: -1}
		if ms, has := b.DeleteHorizon(); has {
			k.horizonMs = ms
		}
		if b.CRC() != b.ComputeCRC() {
			w.t.Fatalf("batch at %d: wrong CRC", k.base)
		}
		err := b.Each(nil, func(r record.Record) error {
			k.records = append(k.records, keptRecord{k.base + int64(r.OffsetDelta), r.Timestamp, text(r.Key), text(r.Value)})
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, k)
	}
	return out
}

// check compares all that is in its final place; while a pass is under way only what it leaves alone.
func (w *cleanWalker) check() {
	w.forget()
	from := int64(0)
	if w.log.cleaning != nil {
		from = w.log.cleaning.end
	}
	want := []kept{}
	for _, k := range w.batches {
		if k.last >= max(from, w.log.StartOffset()) {
			k.aborted = false
			want = append(want, k)
		}
	}
	got := slices.DeleteFunc(w.contents(w.log), func(k kept) bool { return k.last < max(from, w.log.StartOffset()) })
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(kept{}, keptRecord{}), cmp.Transformer("nil", func(r []keptRecord) []keptRecord { return append([]keptRecord{}, r...) })); diff != "" {
		w.t.Fatal(diff)
	}
	var bytes, memory int64
	end := int64(-1)
	for _, s := range w.log.segments.live() {
		if s.base < end || s.end <= s.base || s.used == 0 {
			w.t.Fatalf("segment [%d, %d) of %d bytes behind %d", s.base, s.end, s.used, end)
		}
		end = s.end
		bytes += int64(s.used)
		memory += int64(len(s.mem))
	}
	if w.log.SizeBytes() != bytes || w.log.memory != memory {
		w.t.Fatalf("%d bytes in %d, want %d in %d", w.log.SizeBytes(), w.log.memory, bytes, memory)
	}
}

// forget drops from the model what retention has.
func (w *cleanWalker) forget() {
	w.batches = slices.DeleteFunc(w.batches, func(k kept) bool { return k.last < w.log.StartOffset() })
}

// read looks at any offset, whether there is a record or not.
func (w *cleanWalker) read() {
	from := w.log.StartOffset() + w.rng.Int64N(w.log.EndOffset()-w.log.StartOffset()+1)
	upTo := w.log.StartOffset() + w.rng.Int64N(w.log.EndOffset()-w.log.StartOffset()+2)
	views, _, err := w.log.Read(from, math.MaxInt, upTo, true, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []byte
	for _, v := range views {
		got = append(got, v.Bytes...)
		w.shown = append(w.shown, bytes.Clone(v.Bytes))
	}
	w.views = append(w.views, views...)
	var want []int64
	for b := range w.log.Batches(0, forAll) {
		if b.LastOffset() >= from && b.LastOffset() < upTo {
			want = append(want, b.BaseOffset())
		}
	}
	if !slices.Equal(offsets(w.t, got), want) {
		w.t.Fatalf("Read(%d, up to %d): batches %v, want %v", from, upTo, offsets(w.t, got), want)
	}
}

func (w *cleanWalker) times() {
	target, upTo := w.rules.NowMs-w.rng.Int64N(3000), w.log.EndOffset()-w.rng.Int64N(20)
	first, most := foundNothing(), foundNothing()
	for _, k := range w.contents(w.log) {
		for _, r := range k.records {
			if r.offset < w.log.StartOffset() || r.offset >= upTo {
				continue
			}
			if !first.Found && r.ms >= target {
				first = timeFound{r.offset, r.ms, 0, true}
			}
			if r.ms > most.Ms {
				most = timeFound{r.offset, r.ms, 0, true}
			}
		}
	}
	var got timeFound
	got.Offset, got.Ms, got.Epoch, got.Found = w.log.OffsetForTime(target, upTo)
	if got != first {
		w.t.Fatalf("OffsetForTime(%d, %d) = %+v, want %+v", target, upTo, got, first)
	}
	got.Offset, got.Ms, got.Epoch, got.Found = w.log.OffsetOfMaxTimestamp(upTo)
	if got != most {
		w.t.Fatalf("OffsetOfMaxTimestamp(%d) = %+v, want %+v", upTo, got, most)
	}
}

func (w *cleanWalker) letGo() {
	for i, v := range w.views {
		if !bytes.Equal(v.Bytes, w.shown[i]) {
			w.t.Fatal("the bytes of a view changed while it was held")
		}
	}
	release(w.views)
	w.views, w.shown = nil, nil
}

// follow copies the log as a follower does.
func (w *cleanWalker) follow() {
	f := New(w.log.pool, w.log.config, w.log.StartOffset())
	defer f.Close()
	for f.EndOffset() < w.log.EndOffset() {
		sent, err := read(w.log, f.EndOffset(), 100_000, forAll, true)
		if err == nil {
			err = f.AppendReplicated(sent, w.rules.NowMs)
		}
		if err != nil || len(sent) == 0 {
			w.t.Fatalf("follower at %d of %d: %v", f.EndOffset(), w.log.EndOffset(), err)
		}
	}
	own := slices.DeleteFunc(w.contents(w.log), func(k kept) bool { return k.last < w.log.StartOffset() })
	if diff := cmp.Diff(own, w.contents(f), cmp.AllowUnexported(kept{}, keptRecord{})); diff != "" {
		w.t.Fatal(diff)
	}
}

func (w *cleanWalker) step() {
	switch w.rng.IntN(100) {
	default:
		w.rules.NowMs += w.rng.Int64N(100)
		w.produce()
		w.stable = append(w.stable, w.log.EndOffset())
	case 0, 1, 2, 3, 4:
		w.transact()
		w.stable = append(w.stable, w.log.EndOffset())
	case 5, 6, 7, 8, 9:
		w.read()
	case 10, 11:
		w.times()
	case 12:
		w.letGo()
	case 13:
		w.truncate()
	case 14, 15, 16, 17:
		w.advance()
	case 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29:
		w.clean()
	case 30:
		if w.rng.IntN(4) == 0 {
			w.configure()
		}
	case 31:
		w.log.Retain(w.rules.NowMs, w.rules.UpTo)
		w.check()
	case 32:
		if start := w.log.StartOffset(); w.rng.IntN(6) == 0 && w.rules.UpTo > start {
			if err := w.log.DeleteRecords(start + w.rng.Int64N(w.rules.UpTo-start)/4); err != nil {
				w.t.Fatal(err)
			}
		}
	case 33:
		w.follow()
	}
}

func TestCleanAgainstModel(t *testing.T) {
	rng := seeded(t)
	passes, partial := 0, 0
	for range 6 {
		w := newCleanWalker(t, rng)
		for range 400 {
			w.step()
		}
		w.check()
		w.letGo()
		if got, want := w.log.MemoryBytes(), w.log.pool.Stats().UsedTotal(); got != want {
			t.Errorf("the log holds %d bytes of slabs, the pool says %d", got, want)
		}
		w.log.Close()
		passes, partial = passes+w.passes, partial+w.partial
	}
	t.Logf("%d passes, %d of them over a part", passes, partial)
}
