// Package golden is for tests whose wanted answers stand in files: scripts of step machines, generated pages.
//
// A script is a text that holds its own answers, event by event, so that a change of behaviour is a diff that can be
// read. The test makes the whole text anew from the events in it and compares; with the flag -update it writes what came
// instead, and the diff is looked at before it is committed.
//
// # Types
//
// There are none. Run takes every file of a pattern, File one; Replay goes through the events of a script.
//
// # Ownership
//
// The files are the tests'. Nothing but a test imports this package, and the binary has nothing of it.
//
// # Invariants
//
//   - Without -update no file is written.
//   - A file that is missing is a difference, and a pattern that finds nothing is a failure: a script that isn't there can't
//     pass.
package golden
