// Package kafka is the Kafka wire protocol as a broker needs it: which APIs there are, request headers, bodies, answers.
// It does no I/O, starts no goroutine and decides nothing: it turns bytes into values and values into bytes.
//
// # The files
//
//   - table.go: the API table. One line per API; ApiVersions, version checks and docs/api.md all come from it.
//   - header.go: ParseHeader, what stands before every request's body.
//   - produce.go, produce_response.go: Produce, read in place and answered without a structure in between.
//   - fetch.go, fetch_response.go: Fetch, decoded into structures that are used again, answered with views of the log.
//   - fetch_ask.go, fetch_answer.go: the other side of a Fetch, as a follower's broker asks and reads it.
//   - codec.go: every other API, by the structures of kmsg, behind a guard (shape.go, walk.go) against hostile sizes.
//   - frame.go, wire.go: what all answers share, and the primitive types.
//
// # Ownership
//
// A frame belongs to whoever read it from the socket, until its request is answered. Header, ProduceRequest and
// FetchRequest are views of that frame and die with it: names and records alias it. Requests from Decode own all their
// memory. An encoder owns nothing: it appends to the protocol.Reply that its caller handed in, and views given to the
// Fetch encoder pass with their slab references into that Reply.
//
// # Invariants
//
//   - No input panics, and no input makes us allocate what it only claims: a count is checked against the bytes that are
//     left before anything is made for it, and what a request decodes into is bounded by a small multiple of its size.
//   - ParseProduce and FetchRequest.Parse check a request's structure to its last byte, so what walks it later can't fail.
//   - Produce and Fetch allocate nothing, in both directions, once buffers have grown to their size.
//   - Answers are byte-exact per version, as kmsg (and by it Apache Kafka) writes them. Fetch never says null for
//     records: librdkafka can't read that.
//   - To misuse an encoder (fewer partitions than announced, say) is a programmer's error and panics.
package kafka
