//go:build (darwin || dragonfly || freebsd || netbsd || openbsd) && !poll_opt

package reactor

import "golang.org/x/sys/unix"

// pauser makes gnet's kqueue leave a socket alone, by telling the kernel behind gnet's
// back. See probe.go for how the descriptor is found.
type pauser struct{ kqueue int }

func (p pauser) pause(fd int) error  { return p.change(fd, unix.EV_DISABLE) }
func (p pauser) resume(fd int) error { return p.change(fd, unix.EV_ENABLE) }

func (p pauser) change(fd, flags int) error {
	var ev [1]unix.Kevent_t
	unix.SetKevent(&ev[0], fd, unix.EVFILT_READ, flags)
	_, err := unix.Kevent(p.kqueue, ev[:], nil, nil)
	return err
}

// endUnseen says that a paused socket has come to its end and the poller won't tell. An
// end behind bytes that weren't read is not seen here; the idle timeout remains.
func endUnseen(fd int) bool {
	var b [1]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == nil && n == 0
}
