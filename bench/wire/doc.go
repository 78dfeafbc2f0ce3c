// Package wire is the little of Kafka's protocol that a load needs: requests encoded once and stamped for each sending,
// answers read where they lie, and a plain connection for the errands around a run (topics, leaders, offsets).
//
// It is on purpose not the broker's own codec: a harness that shares code with what it measures shares its mistakes.
// Everything off the measured path goes through kmsg.
//
// # The measured path
//
//	f, _ := wire.NewProduceFrame(topic, partition, acks, batch)   encoded once for each connection
//	f.Stamp(head, correlation, sequence)                          12 to 20 bytes change; head and f.Tail are sent
//	a, _ := wire.ParseAck(response)                               correlation, error code, base offset
//
//	q := wire.NewFetchFrame(spec); q.Stamp(correlation); q.SetOffset(i, offset)
//	var r wire.FetchReader; r.Reset(response); for r.Next() { … r.Records … }
//
// Produce is spoken at version 9 and Fetch at version 12, which every broker since Apache Kafka 2.8 answers: newer
// versions change nothing that costs a server time. Nothing on this path allocates.
//
// An idempotent producer's sequence number stands under the batch's CRC. CRC32C is linear, so the checksum of a batch
// with another sequence is the old one with up to 32 precomputed words mixed in, whatever the batch's size: that keeps
// idempotence as cheap for the client as everything else here.
//
// # Memory
//
// A frame and a batch own their bytes and belong to one goroutine. Readers give views of the response, which are valid
// as long as the caller leaves the response alone.
//
// # Invariants
//
//   - A response from a socket never panics a reader: what doesn't fit sets Bad or becomes an error.
//   - An array's count bounds a loop only after it was held against the bytes that are left.
package wire
