package etcd

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain keeps etcd's files in RAM where that is possible: a test waits for etcd,
// not for a disk that other tests use too.
func TestMain(m *testing.M) {
	var dir string
	end := func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}
	var err error
	if dir, err = os.MkdirTemp("/dev/shm", "mr-"); err == nil { // short: a socket's path has room for 100 bytes
		os.Setenv("TMPDIR", dir)
	} else {
		end = os.Exit
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(end))
}
