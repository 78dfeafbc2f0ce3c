//go:build !race && !slabpoison

package slab

// poison makes use after release visible; see the package comment.
const poison = false
