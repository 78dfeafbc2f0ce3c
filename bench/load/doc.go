// Package load drives a server and counts what came back. There are three kinds of client:
//
//   - raw: requests encoded beforehand, one thread, epoll, vectored writes. Each answer is checked for its error code
//     and offset, bodies are counted. It takes so little that the server is the bottleneck. It needs Linux.
//   - franz: franz-go, for what a user of a good client gets.
//   - java: Apache Kafka's own ProducerPerformance and ConsumerPerformance.
//
// Raw clients exist for Kafka's protocol, for Redis streams (RESP) and for NATS JetStream, so that peers which speak
// something else carry the same bytes.
//
// # Reading order
//
// spec.go (what a load is told and what it tells), engine_linux.go (connections and the loop), pace.go (open loop),
// then a file for each load: produce, fetch, tail (e2e and fanout), partitions, connections; redis, nats; franz.go and
// java.go for the clients that aren't raw.
//
// # Latency
//
// With a rate the load is an open loop: request i is due at start + i/rate whatever became of the others, and its
// latency runs from then, so that a stall is charged to everything that had to wait for it. What is never answered is
// counted with the time it has waited at the end. Without a rate a latency runs from the sending and says how long a
// queue of `depth` requests takes; the result says which of the two it is.
//
// # Windows
//
// A load fills (bytes that aren't measured, to get a log to its retention limit), warms up, then measures for a time or
// a number of bytes. The server's accounts are read at both ends of the measured window, so they hold nothing else.
//
// # Invariants
//
//   - A load that got an error code, a wrong offset, a gap or a broken frame fails; it never counts such an answer.
//   - Once the window is open the raw clients allocate nothing for a request, but for room that grows with the load.
//   - Every load ends by itself: at its deadline, at its bytes, or when ctx is done.
package load
