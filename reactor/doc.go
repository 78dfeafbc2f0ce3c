// Package reactor moves requests in and answers out: event loops, listeners that come
// and go, connections, framing, order, back-pressure and limits. What a request means
// is the Handler's business.
//
// # Types
//
// A Reactor is a few event loops of one gnet.Client. A Listener is a socket with an
// accept goroutine; it hands each connection to a loop and owns its fate. A Conn
// belongs to one loop for life. A Request is one frame (or one console line) and at
// the same time the slot in which its answer waits for its turn.
//
// # Who runs where
//
// Handler's methods and everything below them run on the connection's loop. Only
// Request's answering methods and Conn.Close may be called from any goroutine: they
// note the outcome in an atomic, link the connection into its loop's list, and wake
// the loop if it may be asleep. Wake-ups are per loop and event, not per answer.
//
// # Memory
//
// All connections of a loop read into one slab, at one cursor, and frames are cut
// where they lie, each with a reference on the slab. So an idle connection holds
// nothing. Whatever may stay for long and isn't meant to (half a frame, a frame that
// waits, a request that doesn't overlap) is moved out, so that no small thing holds
// a large slab. A frame above an eighth of the slab gets memory of its own, which
// grows with the bytes that arrive and not with the size that was claimed.
//
// # Invariants
//
//   - Answers leave in the order of the requests.
//   - While a connection may not start requests (order, slow reader, full gate, no
//     memory), no byte of it is read beyond what was read already: its socket is
//     paused, and the sender feels it.
//   - What a socket didn't take stays in the connection's outbox; more requests are
//     started only below a bound, so the outbox is bounded too.
//   - No descriptor is touched after OnClose: its number may belong to someone else.
//   - A request that was started is answered exactly once, also after its connection
//     is gone; until then its frame is valid, and nothing of it is lost after.
//   - The number of goroutines doesn't depend on the number of connections.
//
// # Reading order
//
// reactor.go, listener.go, loop.go, conn.go, frames.go (bytes become frames), arena.go,
// pull.go, flow.go (what may start when), request.go, outbox.go, linger.go, sweep.go.
// What gnet can't do is in pause_*.go (stop reading) and writable_*.go (wait for room
// in a socket), for epoll and kqueue.
package reactor
