//go:build race

package kafka

// raceFactor: the race detector's build makes every slice that kmsg decodes twice.
const raceFactor = 2
