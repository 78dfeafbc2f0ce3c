// Package plog is the log of one partition, in memory outside the Go heap.
//
// A [Log] is a row of segments, oldest first. A segment is one slab: batches lie
// in it one behind the other from the front, its sparse index grows from the end
// towards them. So a segment costs the heap a few words, the collector never sees
// records or index, and the slab pool's limit covers both. Only the last segment
// is written to.
//
// Slabs start at 4 KiB and grow ×4 with what the log holds up to 1 MiB (4 MiB
// where batches are above 256 KiB), so that ten thousand quiet partitions stay
// cheap. Segments are the unit of retention, as on Apache Kafka, only smaller:
// memory is dear, and one segment is what a log may hold beyond its retention. A
// segment is full at its slab's end or at segment.bytes, whichever comes first,
// and at a quarter of retention.bytes; none of these below 4 KiB.
//
// Ownership: a Log belongs to one worker; nothing in it is safe for concurrent
// use. A leader's log grows by Append, a follower's by AppendReplicated, which
// copy the batches, and Truncate cuts it where it differs from its leader's. Read
// hands out views that hold a reference on their slab each; whoever gets them must
// release them, and may do so anywhere, also after the log has dropped the slab or
// was closed: what a slab holds is not changed while someone holds it, so a new
// slab is begun after Truncate. Batches from Batches and records from Records are
// valid until the log is touched next.
//
// A [Cleaner] compacts logs, as Apache Kafka's does, in small steps: segments are
// copied without the records that newer ones of the same key have replaced, and
// the copies take their places. Offsets stay; what is left of a batch keeps its
// first and last offset and its sequence numbers, and is left out wholly if nothing
// needs it. So there are gaps: in batches, between them, and between segments. A
// look-up at an offset that is gone finds what is next.
//
// Invariants:
//   - StartOffset ≤ EndOffset; the log holds every batch with an offset in
//     between, but for what was compacted, and nothing with an offset at or above
//     EndOffset.
//   - Leader epochs rise with the offsets, and begin at StartOffset or above.
//   - A refused Append has changed nothing, least of all the batch handed in.
//   - Stored batches carry their offsets, the leader's epoch, and a
//     max_timestamp and CRC that are right, as far as record.Batch.Check sees.
//   - The index narrows a look-up and never decides it: the answer is always
//     read from a batch header, or from the records where it is about a record.
//   - Append, AppendReplicated, Read, Retain and time look-ups in uncompressed
//     batches allocate nothing in steady state.
package plog
