//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package config

import (
	"runtime"
	"syscall"
)

// physicalBytes is the machine's memory; 0 if unknown.
func physicalBytes() int64 {
	name := "hw.physmem"
	if runtime.GOOS == "darwin" {
		name = "hw.memsize"
	}
	// The value is a 64-bit number in machine order; Sysctl takes it for text and cuts the last byte off if it is 0.
	raw, err := syscall.Sysctl(name)
	if err != nil || len(raw) > 8 {
		return 0
	}
	var n int64
	for i := len(raw) - 1; i >= 0; i-- {
		n = n<<8 | int64(raw[i])
	}
	return n
}
