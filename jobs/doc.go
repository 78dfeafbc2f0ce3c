// Package jobs runs the broker's work: serial executors, a gate for bytes in flight,
// a timer wheel, and a guard for completions.
//
// # Types
//
// An Executor runs tasks one at a time, in the order in which each poster posted
// them. State that only tasks of one executor touch needs no lock: a partition belongs
// to a worker, and the worker is an Executor. A Task embeds a Link through which the
// queue chains it, so posting allocates nothing and can't fail for want of room.
//
// Whoever posts to an idle executor carries out the task himself, and what others post
// meanwhile, for the executor's budget; then a goroutine takes over. A goroutine hop
// costs 20 to 50 % of a large produce request and doubles the round trip of a small
// one; carried out by the poster the same shape costs 0 to 10 % over no queue at all.
//
// A Gate counts bytes in flight. Queues are bounded by what may be in flight, and not
// by their length: whoever brings in work asks the gate before he reads more, and
// waits at it with a Waiter.
//
// A Wheel keeps deadlines, each a Timer that is part of what waits. Setting, moving
// and cancelling one costs the same however many there are.
//
// A Once makes a completion that fires twice a panic instead of a riddle.
//
// # Ownership
//
// A Task, a Timer and a Waiter are part of their owner's struct. From Post until its
// Run starts, a task belongs to the executor: it must not be posted again, anywhere.
// Timers and waiters are the wheel's and the gate's while they are set, and must not
// be copied. Executors and wheels are stopped by whoever made them. An executor has
// no goroutine while it is idle.
//
// # Rules
//
// Tasks and callbacks never block, and nobody posts while holding a lock: the poster
// may be made to run anything that is queued. A task that posts to an executor which
// runs further up its own stack is queued there, so the stack is never deeper than
// the number of executors. A panic in a task is not caught.
package jobs
