// Package console is the front desk of the control port: it reads text commands (protocol/console has the language),
// carries them out with the same operations that Kafka clients use, and answers in text or JSON.
//
// # Types
//
// Desk serves the port. Session is one connection. Host is what the desk needs of the process: its brokers, and how
// to make and remove them. Slot is where the answer to one line goes.
//
// # Ownership
//
// A command runs on a goroutine of its own, which ends with its answer; a session has one at a time, and the control
// port few sessions, so there are few. That is simpler than completions for commands that ask several brokers in
// turn, and nothing here is on the hot path. Close tells the goroutines to end and waits for them. A Session belongs
// to its connection's loop, but for what its one running command uses.
//
// # Invariants
//
//   - Every line gets one answer, which ends with OK or ERR; blank lines and comments get none.
//   - WATCH answers in parts until the connection's next line comes in; only changes, or the interval, make a part,
//     and a client that doesn't read misses parts instead of piling them up.
//   - What happens to leaders, ISRs and brokers is told by WATCH once, in the picture after it; what is too much is
//     counted. A loss of records is left out last.
//   - The files here are one per family of commands: brokers.go, topics.go, records.go, groups.go, status.go, watch.go
//     with news.go.
package console
