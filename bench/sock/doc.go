// Package sock is sockets without a runtime in between: non-blocking TCP on loopback, an epoll, and vectored writes out
// of memory that lies elsewhere. The floor's servers and the raw clients are built on it, both driven by one goroutine
// each, so that on a small machine the harness takes as little as it can from what it measures.
//
//	p, _ := sock.NewPoller(); fd, _ := sock.Dial("127.0.0.1:9092"); p.Add(fd, token, sock.In|sock.Out|sock.Edge)
//	for _, ev := range p.Wait(time.Second) { … sock.Read(fd, b) … }
//	var out sock.Outbox; out.Push(head); out.Push(body); out.Flush(fd)
//
// Only Linux has it: Supported says so, and callers have build tags.
//
// # Raw system calls
//
// Reads and writes here never block, because the sockets don't. So they skip the runtime's bookkeeping around a system
// call, after which another thread could take the processor in the middle of a long copy. Waiting does block and goes
// through the runtime.
//
// # Ownership
//
// An Outbox refers to the bytes pushed into it and doesn't copy them: they must stay as they are until Flush has sent
// them. A Poller and an Outbox belong to one goroutine. File descriptors are the caller's to close.
package sock
