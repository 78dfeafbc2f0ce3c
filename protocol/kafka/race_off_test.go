//go:build !race

package kafka

const raceFactor = 1
