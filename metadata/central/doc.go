// Package central is the running central server of a cluster: it carries out
// commands one after another, and tells everybody what came of them.
//
// # How a command is carried out
//
// The server has one serial executor. A command runs there: package controller
// plans it against the newest image, the plan goes to the store as a
// transaction, and the server waits until the store's watch has delivered it. Then
// the new image is published, the subscribers see it, and only then does the
// command's done callback fire. While a transaction is on its way, later commands
// wait in a bounded queue. With the store in memory it is never on its way for
// long: a short command is often answered on its caller's goroutine before the
// method returns, but nobody may rely on that.
//
// A transaction that conflicts (another server wrote to the same store) is planned
// again when the image has caught up. So any number of servers may share a
// store, and agree: two that create a topic at once get one topic id.
//
// The image is built of nothing but what the store lists and its watch delivers. If
// the watch falls behind and is cut off, the server lists the store again, and
// subscribers get the difference.
//
// # The controller
//
// Several servers may share a store. What clients and leaders ask for any of them
// does. To fence and unfence brokers, and to move leaders about, is for the one that
// was elected (Campaign): each of these transactions compares the key of the
// election. That one watches over the brokers' signs of life, with the time that
// Tick brings; see controller.Detector. A command of which every part is as good as
// the whole is resumed after a conflict half way; for others the caller is told.
//
// # Ownership
//
// Callbacks (done, and a subscriber's function) run on the executor, one at a
// time: they must not block, and may call any method but Close. Every done
// fires exactly once, also after Close.
//
// The server owns one goroutine, which looks after the watch. Close ends it. The
// store belongs to whoever opened it, and is closed after the server.
package central
