// Package storetest is what every metadata.Store is held to: package memory
// today, etcd's later. A store's own test calls Run with a function that opens
// an empty one.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) metadata.Store { … })
//	}
//
// The tests know nothing but the interface, so they say what central may rely
// on: atomic transactions with compares, listings as of one revision, a watch
// that delivers each revision once, in order and whole, and reaches each one that a
// commit was answered with, ErrCompacted instead of a gap, and leases.
//
// A store may answer on goroutines of its own, and may have other revisions
// than these tests make (etcd starts at 1, and counts what others write): nothing
// here depends on a revision's number, only on order.
//
// Waiting is bounded by a generous deadline that ends a test which would hang;
// no test sleeps. Leases are granted for a second, the shortest time that etcd
// can do, and the test of expiry takes that long.
package storetest
