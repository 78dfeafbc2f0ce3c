// Package link joins a broker to the brokers of other processes: what one of them says to another goes through here, in
// Kafka's protocol, over its ordinary listener.
//
// # Types
//
// Link is a broker.Source over a socket: a follower's way to the broker that leads its partitions. It speaks Fetch, with an
// incremental session (KIP-227), and FetchSnapshot.
//
// Peer is a broker.Peer over sockets: what coordinators of transactions and the leaders of partitions ask each other.
//
// Watcher keeps a connection to a broker, only to notice when its process dies: the kernel resets the connection, and
// refuses the next one. That takes milliseconds, where a lease takes seconds to run out. Dial is how a connection is made:
// plain TCP, or what a listener with encryption or authentication asks for.
//
// # Ownership
//
// A Link has one goroutine that sends and, while it is connected, one that reads; Close ends both, and does not wait for
// them, so that it may be called from a completion; so do those of a Peer, one for each of its connections. Whatever was asked is completed once, on one of them. A Watcher has one
// goroutine, which its Close ends and waits for; its callbacks run there, and may not block it.
//
// The records of an answer lie where they were read, and are used from there until ReplicaFetch.Release. Then the memory is
// the link's again, for the next answer.
//
// Every time that is waited for stands in timeouts.go.
//
// # Invariants
//
//   - What a link remembers is what its broker was asked for: after an error both start from nothing.
//   - No answer makes memory that it only claims, none is taken that was not asked for, and none may be larger than what
//     was asked for, with some room.
//   - Refused is told of a refused connection alone, and only after the broker had answered: a timeout, an unreachable
//     network and an address that never worked say nothing about the process behind it.
//   - A quiet link costs nothing but its memory: whoever waits, waits in a read.
//
// # Reading order
//
// link.go (what is asked, and the writer), conn.go (the reader), session.go, answer.go; then watch.go, and peer.go.
package link
