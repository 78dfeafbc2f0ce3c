package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dupFD gives a second descriptor of the same socket, not inherited by children.
func dupFD(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }

func closeFD(fd int) { _ = unix.Close(fd) }

// socketError returns what broke the connection, if something did, and forgets it.
func socketError(fd int) error {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && n != 0 {
		err = syscall.Errno(n)
	}
	return err
}
