//go:build !noembed

package etcd

import (
	"os"
	"path/filepath"
	"syscall"
)

// scratch is a member's temporary folder: its sockets, and its data if it has no
// data dir. A process that was killed leaves it behind, possibly in RAM, so the next
// one to start removes it. A lock tells those that are in use.
type scratch struct {
	dir  string
	lock *os.File
}

const scratchName = "millrace-etcd-"

func newScratch() (*scratch, error) {
	sweep()
	dir, err := os.MkdirTemp("", scratchName) // for this user alone
	if err != nil {
		return nil, err
	}
	// The lock gets its name when it is held: before that nobody touches the folder.
	unnamed := filepath.Join(dir, "lock.new")
	lock, err := os.OpenFile(unnamed, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(unnamed, filepath.Join(dir, "lock"))
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &scratch{dir, lock}, nil
}

func (s *scratch) path(name string) string { return filepath.Join(s.dir, name) }

func (s *scratch) remove() {
	_ = os.RemoveAll(s.dir)
	_ = s.lock.Close()
}

// sweep removes what dead processes of this user left.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), scratchName+"*", "lock"))
	for _, path := range left {
		lock, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = lock.Close()
	}
}
