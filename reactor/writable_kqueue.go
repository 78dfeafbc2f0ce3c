//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package reactor

import (
	"errors"

	"golang.org/x/sys/unix"
)

// waitPoller is a kqueue with a pipe that ends the waiting.
type waitPoller struct {
	fd     int
	stop   [2]int
	events [128]unix.Kevent_t
}

func (p *waitPoller) open() (err error) {
	if p.fd, err = unix.Kqueue(); err != nil {
		return err
	}
	unix.CloseOnExec(p.fd)
	if err = unix.Pipe(p.stop[:]); err != nil {
		closeFD(p.fd)
		return err
	}
	unix.CloseOnExec(p.stop[0])
	unix.CloseOnExec(p.stop[1])
	return p.change(p.stop[0], unix.EVFILT_READ, unix.EV_ADD)
}

func (p *waitPoller) change(fd, filter, flags int) error {
	var ev [1]unix.Kevent_t
	unix.SetKevent(&ev[0], fd, filter, flags)
	_, err := unix.Kevent(p.fd, ev[:], nil, nil)
	return err
}

// arm can't wait for a break alone: that ends in the sweep.
func (p *waitPoller) arm(fd int, _, output bool) error {
	if !output {
		return nil
	}
	return p.change(fd, unix.EVFILT_WRITE, unix.EV_ADD|unix.EV_ONESHOT)
}

// disarm fails if the event has been told, which is as good.
func (p *waitPoller) disarm(fd int) { _ = p.change(fd, unix.EVFILT_WRITE, unix.EV_DELETE) }

// wait appends the descriptors of which something is to be told. False: interrupted.
func (p *waitPoller) wait(fds []int) ([]int, bool) {
	n, err := unix.Kevent(p.fd, nil, p.events[:], nil)
	if err != nil && !errors.Is(err, unix.EINTR) {
		panic("reactor: kevent: " + err.Error()) // only a wrong descriptor can do this
	}
	for i := range max(n, 0) {
		fd := int(p.events[i].Ident)
		if fd == p.stop[0] {
			return fds, false
		}
		fds = append(fds, fd)
	}
	return fds, true
}

func (p *waitPoller) interrupt() { _, _ = unix.Write(p.stop[1], []byte{1}) }

func (p *waitPoller) close() {
	closeFD(p.stop[0])
	closeFD(p.stop[1])
	closeFD(p.fd)
}
