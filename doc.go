// Package millrace is the embeddable server and the place where all of it is put together: the memory, the central
// server that holds the metadata, the reactor with its listeners, and the brokers, which come and go while it runs.
// The command, the tests and other people's Go tests all go through it.
//
//	s, err := millrace.Open(millrace.Options{})
//	b, err := s.CreateBroker("127.0.0.1", 0)
//	client := kgo.NewClient(kgo.SeedBrokers(b.Addr))
//	…
//	s.Close()
//
// # What is put together
//
// The reactor knows nothing of Kafka and the brokers nothing of sockets; handler.go joins them, in a few lines per
// front desk. One Server is one process: its brokers share the memory budget, the event loops, the timer wheel and
// the central server, and each has its own id, address, partitions and workers.
//
// Several processes are one cluster if they share the store of their metadata (store.go). Then a Server also has a
// session with that store (presence.go), connections to all brokers that tell when one dies (sessions.go), and hands over
// what its brokers have before it stops: Shutdown, where Close just stops (drain.go, ready.go).
//
// # Ownership
//
// The Server owns everything it starts and Close stops it, in the opposite order: listeners first, so that no request
// comes any more, then the brokers, whose waiting operations are completed, then the central server, its store, the
// reactor, and last the memory. After Close no goroutine is left.
//
// # Invariants
//
//   - A broker exists before the image that names it is published, so a topic is never placed on a broker that has not
//     heard of it.
//   - On a change of the cluster every broker first gives up what it lost and then takes what it won.
package millrace
