package config

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryRule checks the spelling only; how much a percentage is hangs on the machine.
var memoryRule = &rule{"bytes (1073741824), a size (512MiB, 4GiB) or a percentage (50%)", func(v any) *complaint {
	if _, err := memoryBytes(v.(string), func() int64 { return 1 << 40 }); err != nil {
		return bad(err.Error())
	}
	return nil
}}

// leastMemory is what a broker needs to do anything at all.
const leastMemory = 16 << 20

// memoryBytes reads a size: plain bytes, a number with a unit, or a percentage of what machine returns.
func memoryBytes(text string, machine func() int64) (int64, error) {
	unit := strings.TrimLeft(text, "0123456789.")
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, unit), 64)
	if err != nil {
		return 0, fmt.Errorf("expected %s", "bytes (1073741824), a size (512MiB, 4GiB) or a percentage (50%)")
	}
	switch strings.ToLower(strings.TrimSpace(unit)) {
	case "", "b":
	case "k", "kb", "kib":
		n *= 1 << 10
	case "m", "mb", "mib":
		n *= 1 << 20
	case "g", "gb", "gib":
		n *= 1 << 30
	case "t", "tb", "tib":
		n *= 1 << 40
	case "%":
		if n > 100 {
			return 0, fmt.Errorf("expected no more than 100%%")
		}
		n *= float64(machine()) / 100
	default:
		return 0, fmt.Errorf("expected KiB, MiB, GiB, TiB or %% after the number")
	}
	if n < leastMemory || n > math.MaxInt64/2 {
		return 0, fmt.Errorf("expected at least %d bytes", leastMemory)
	}
	return int64(n), nil
}

// machineBytes is how much memory this process may use: the smallest limit of its cgroups, else the machine's memory. A system that
// tells neither counts as 2 GiB, so that a percentage is small rather than wrong.
func machineBytes() int64 {
	total := physicalBytes()
	if limit := cgroupBytes("/proc/self/cgroup", "/sys/fs/cgroup"); limit > 0 && (total <= 0 || limit < total) {
		total = limit
	}
	if total <= 0 {
		return 2 << 30
	}
	return total
}

// cgroupBytes returns the smallest limit on the way from this process' cgroup up to the root, v2 or v1; 0 if there is none.
func cgroupBytes(self, root string) (least int64) {
	text, err := os.ReadFile(self)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, files := root, []string{"memory.max", "memory.high"}
		if parts[1] != "" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			base, files = filepath.Join(root, "memory"), []string{"memory.limit_in_bytes"}
		}
		for dir := filepath.Clean("/" + parts[2]); ; dir = filepath.Dir(dir) {
			for _, f := range files {
				if n := readLimit(filepath.Join(base, dir, f)); n > 0 && (least == 0 || n < least) {
					least = n
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// readLimit reads one number; "max", and v1's way to say so, count as none.
func readLimit(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= 1<<60 {
		return 0
	}
	return n
}
