package record

import (
	"testing"

	"go.uber.org/goleak"
)

// Compressors and decompressors must not leave goroutines behind: they live in
// pools, and nobody stops them.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
