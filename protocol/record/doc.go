// Package record reads, checks, patches and builds record batches of Kafka's
// message format v2 (magic 2, KIP-98). It knows bytes and nothing else: no
// partition, no clock, no request.
//
// A [Batch] is a view of exactly one batch where it lies, in a request's frame
// or in a slab of the log. [Next] cuts one off a run of batches by its
// structure alone; [Single] is the rule of a produce request (exactly one);
// [Batch.Check] verifies what a client sent as Apache Kafka's LogValidator
// does and sets a max_timestamp that is missing or wrong. Of an uncompressed
// batch every record is walked, once. A compressed one is passed through: it
// is decompressed only when its max_timestamp can't be believed.
//
// [Batch.Each], [Batch.Times], [Batch.FirstAtOrAfter], [Batch.FirstOfMaxTimestamp]
// and [Batch.TrueMaxTimestamp] look into a batch, compressed or not. They work in
// a [Scratch], which one goroutine uses at a time and reuses from batch to batch;
// nil borrows one for the call. What they hand out is valid during the call only.
//
// [Builder] makes batches: for the console's PRODUCE, the internal topics and
// the tests. [Filter] makes them smaller, for compaction.
//
// Invariants:
//   - No input panics. What a length or count only claims is never allocated: a
//     claim is believed as far as the bytes present could fulfil it.
//   - Decompressed bytes are bounded by [Scratch.MaxBytes].
//   - Next, Single, Check and Each allocate nothing for uncompressed batches.
//   - Bytes from the attributes on are covered by the CRC; every setter that
//     touches them recomputes it. Base offset and leader epoch lie before it.
//
// Errors are values to be told apart by errors.Is: ErrCorrupt, ErrInvalidRecord
// (with ErrTruncated and ErrUnsupportedMagic as kinds of it),
// ErrUnsupportedCompression and ErrTooLarge.
package record
