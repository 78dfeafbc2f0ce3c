// Package link joins a broker to the brokers of other processes: what one of them says to another goes through here, in
// Kafka's protocol, over its ordinary listener.
//
// # Types
//
// Watcher keeps a connection to a broker, only to notice when its process dies: the kernel resets the connection, and
// refuses the next one. That takes milliseconds, where a lease takes seconds to run out. Dial is how a connection is made:
// plain TCP, or what a listener with encryption or authentication asks for.
//
// # Ownership
//
// A Watcher has one goroutine, which its Close ends and waits for; its callbacks run there, and may not block it.
//
// Every time that is waited for stands in timeouts.go.
//
// # Invariants
//
//   - Refused is told of a refused connection alone, and only after the broker had answered: a timeout, an unreachable
//     network and an address that never worked say nothing about the process behind it.
//   - A quiet link costs nothing but its memory: whoever waits, waits in a read.
package link
