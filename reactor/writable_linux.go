package reactor

import (
	"errors"

	"golang.org/x/sys/unix"
)

// waitPoller is an epoll with an eventfd that ends the waiting.
type waitPoller struct {
	fd, stop int
	events   [128]unix.EpollEvent
}

func (p *waitPoller) open() (err error) {
	if p.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if p.stop, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		closeFD(p.fd)
		return err
	}
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, p.stop, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(p.stop)})
}

func (p *waitPoller) arm(fd int, known, output bool) error {
	ev := unix.EpollEvent{Events: unix.EPOLLONESHOT, Fd: int32(fd)}
	if output {
		ev.Events |= unix.EPOLLOUT
	}
	op := unix.EPOLL_CTL_ADD
	if known {
		op = unix.EPOLL_CTL_MOD
	}
	return unix.EpollCtl(p.fd, op, fd, &ev)
}

// disarm is needed although closing does it too: the socket lives on if its descriptor
// was duplicated.
func (p *waitPoller) disarm(fd int) { _ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, fd, nil) }

// wait appends the descriptors of which something is to be told. False: interrupted.
func (p *waitPoller) wait(fds []int) ([]int, bool) {
	n, err := unix.EpollWait(p.fd, p.events[:], -1)
	if err != nil && !errors.Is(err, unix.EINTR) {
		panic("reactor: epoll_wait: " + err.Error()) // only a wrong descriptor can do this
	}
	for i := range max(n, 0) {
		if int(p.events[i].Fd) == p.stop {
			return fds, false
		}
		fds = append(fds, int(p.events[i].Fd))
	}
	return fds, true
}

func (p *waitPoller) interrupt() { _, _ = unix.Write(p.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func (p *waitPoller) close() {
	closeFD(p.stop)
	closeFD(p.fd)
}
