//go:build race || slabpoison

package reactor

// poison makes the use of a frame after its request was answered visible.
const poison = true
