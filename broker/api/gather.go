package api

import "sync/atomic"

// gather waits for the parts of a request that are answered by different coordinators.
type gather struct {
	left atomic.Int32
	then func()
}

// newGather calls then when done was called n times; at once if n is 0.
func newGather(n int, then func()) *gather {
	g := &gather{then: then}
	g.left.Store(int32(n))
	if n == 0 {
		then()
	}
	return g
}

// done may be called from anywhere.
func (g *gather) done() {
	if g.left.Add(-1) == 0 {
		g.then()
	}
}
