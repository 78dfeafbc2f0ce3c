package jobs

import "sync/atomic"

// Once guards something that must happen exactly once per use of an operation, such as
// its completion. The zero value is armed.
type Once struct{ fired atomic.Bool }

// Fire notes that it happened. A second time is a programmer's error and panics: two
// answers to one request would shift all that follow on the connection.
func (o *Once) Fire() {
	if o.fired.Swap(true) {
		panic("jobs: completed twice")
	}
}

// TryFire notes that it happened and tells whether this was the first time. It is for
// those who race for it by design, such as a deadline and an answer.
func (o *Once) TryFire() bool { return !o.fired.Swap(true) }

// Fired tells whether it happened.
func (o *Once) Fired() bool { return o.fired.Load() }

// Rearm makes the guard ready for the next use of the same operation.
func (o *Once) Rearm() { o.fired.Store(false) }
