//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package config

// physicalBytes is the machine's memory; 0 if unknown.
func physicalBytes() int64 { return 0 }
