//go:build linux && !poll_opt

package reactor

import "golang.org/x/sys/unix"

// pauser makes gnet's epoll leave a socket alone, by telling the kernel behind gnet's
// back. That holds because gnet changes a registration only when it has output of its
// own, and ours never passes through it. See probe.go for how the descriptor is found.
type pauser struct{ epoll int }

// pause leaves one event: the peer's last byte has come in. Then gnet closes without
// reading, and linger reads what is there. Without it a client that died while paused
// would stay until the sweep; errors are always told.
func (p pauser) pause(fd int) error { return p.mod(fd, unix.EPOLLRDHUP) }

// resume sets what gnet set at first.
func (p pauser) resume(fd int) error { return p.mod(fd, unix.EPOLLIN|unix.EPOLLPRI) }

func (p pauser) mod(fd int, events uint32) error {
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
}

// endUnseen says that a paused socket has come to its end and the poller won't tell.
func endUnseen(int) bool { return false }
