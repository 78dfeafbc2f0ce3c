//go:build !linux

package proc

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// Read knows nothing here.
func Read(int) Usage { return Usage{} }

// CPU knows nothing here.
func CPU(int) time.Duration { return 0 }

// OwnThread knows nothing here.
func OwnThread() time.Duration { return 0 }

// Busy knows nothing here.
func Busy() time.Duration { return 0 }

// Describe gives what Go knows of this machine.
func Describe() Machine {
	return Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()}
}

// CountCalls can't count here.
func CountCalls(context.Context, int, time.Duration) (Calls, error) {
	return Calls{}, errors.New("system calls are only counted on Linux")
}
