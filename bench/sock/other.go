//go:build !linux

package sock

// Supported says whether this system has the package's functions.
const Supported = false
