// Package brokertest runs brokers with a real central server and without sockets, for the tests of broker and of its
// front desks. Nothing else imports it.
//
// # Types
//
// Cluster is what New starts: a central server on the store in memory, brokers that hear of its changes in the order
// that package millrace also gives them, memory, a timer wheel. Its fields are the tests' to use.
//
// # Ownership
//
// A Cluster closes itself at the end of its test, in the order of a server: brokers, central server, wheel, memory. A
// slab that nobody gave back fails the test.
//
// # Invariants
//
//   - A broker leaves what it lost before any broker leads what it won, as in a server.
//   - Everything is real but the sockets: the store, the controller, the executors, the memory and its limit. So a test
//     here finds what a server would do, and one that needs a socket belongs to package millrace.
//   - AddBroker, RemoveBroker and CreateTopic return when every broker has heard of it.
package brokertest
