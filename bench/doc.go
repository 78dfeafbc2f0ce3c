// Package bench is the load harness: workloads that run against Millrace, against a floor and against peers, in turn,
// so that a cost can be told as a ratio taken in one run on one machine. It talks to sockets and looks at processes
// from outside; it shares no code with the broker.
//
//	wire     the little of Kafka's protocol that a load needs
//	sock     sockets, epoll and vectored writes
//	floor    the least that a server could do for the same work
//	load     the clients: raw, franz-go, Java
//	peer     starts and stops what is measured
//	peers/   nested modules that peers are built from
//	proc     what a process costs, by the kernel's accounts
//	report   tables, JSON, CSV, percentiles, plots, docs/performance.md
//
// This package puts them together: Workloads is the table of what can be run, Presets the ecosystem's conventions,
// Suite the cases of docs/performance.md, Guard the few that CI holds against committed ratios, Runner the rounds. Replication
// measures several brokers: what copies cost, and how long it is felt when their leader dies.
//
// # How a ratio is taken
//
// Every round runs each target once; the next round begins when all have had their turn. A ratio is taken within a
// round and its median over the rounds is told: the same program differs by a third from one minute to the next on a
// shared machine, and so do its neighbours. The figure to trust is CPU seconds of the server per GB, or per request.
//
// A log is filled to its retention limit before it is measured, because the first touch of memory costs several times
// what everything else does; a case that shall pay for it says so (first-touch).
//
// # Invariants
//
//   - Everything that is started is stopped, also when a round fails or the harness is interrupted.
//   - Only loopback addresses are used by what is started here.
//   - A failure of one target ends that target's part in that case, never the run.
package bench
