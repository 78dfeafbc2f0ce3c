// Package etcd is the metadata.Store of a cluster on several machines: etcd is
// the engine (https://etcd.io/docs/v3.6/learning/api/), and no consensus is
// written here.
//
// # The types
//
//   - Store, from Open: a client of an etcd that runs elsewhere, or of the one
//     in this process.
//   - Embedded, from StartEmbedded: an etcd server in this process, one of a
//     cluster of 1, 3, 5 or 7. The build tag noembed leaves it out.
//
// # What a Store does about a network
//
// A commit is carried out exactly once, also when its answer is lost or its
// leader dies: each one writes a marker key of this Store and compares the marker's
// revision, so a second try can't do it again, and finds out whether the first one
// did (commit.go). Commits are carried out one at a time, in the order of the
// calls. A watch that is cut off is opened again from the first revision that
// it hasn't delivered, on whichever endpoint answers; a revision without events is
// reached by asking etcd how far the watch is (watch.go).
//
// All waiting is in times.go. Keys lie below Options.Prefix, so that several
// clusters can share one etcd: the metadata in meta/, the markers in commits/.
//
// # Identity of an embedded member
//
// A member's data is a promise to the others, so a member that lost its data
// never takes up the identity that made the promise (form.go):
//
//   - A new cluster is formed only when all its members say that they have no
//     data, and under a token that is made of what each drew for this one start.
//   - A member without data that finds the others running asks one of them to
//     remove its former self and to add it as a new one. It starts when that has
//     been committed, which takes a majority of the members that remember.
//   - Else it waits, and in the end says what to do.
//
// Who can reach a member's peer port can do what a member can: use TLS, or a
// network that is yours. etcd's clients get a unix socket, unless asked for more.
//
// # Ownership
//
// Whoever opens a Store or an Embedded closes it; the Store first. Both own
// goroutines, which Close ends. Callbacks run on the Store's goroutines without a
// lock held; they may call any method but Close.
package etcd
