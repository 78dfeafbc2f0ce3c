// Package api is the front desk for Kafka clients: it turns requests of the wire into operations of package broker,
// and their outcomes into answers of the wire. There is one file per API, named after it: whoever looks for key 11
// opens join_group.go. Each is headed by its versions and by what differs from Apache Kafka, if anything does.
//
// # Types
//
// Desk serves one broker. Session is what it knows of one connection. Slot is where the answer to one request goes,
// declared here and implemented by whoever owns the socket. call is one request on its way. fetchSessions is the
// broker's cache of incremental fetch sessions.
//
// # One request
//
// Serve is called on the connection's event loop with one frame. It reads the header, refuses what the API table does
// not have, and calls the handler. Produce and Fetch are read in place and encoded by hand (protocol/kafka), since
// they are the hot path; everything else goes through kmsg. A handler checks what it was asked, starts an operation
// of the broker and returns; the operation's completion, on whatever goroutine, encodes the answer into the slot.
// A handler never blocks: it runs on the loop.
//
// # Ownership
//
// A frame's bytes belong to the slot and are valid until it is answered, so views into them may be used until then
// and not after. A Session belongs to its connection's loop; the one operation that may wait for long, a fetch, is
// kept there so that Close can end it.
//
// # Invariants
//
//   - Every request is answered exactly once: Reply, Drop (acks=0) or Fail (which closes the connection).
//   - errors.go is the only place where an error becomes a code; a code that an API's clients do not know never
//     leaves (allowed.go has the table).
//   - What was not served is said: a version that is not in the table closes the connection as on Apache Kafka, but
//     for ApiVersions, which answers UNSUPPORTED_VERSION in its version 0 (KIP-511).
package api
