package sock

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What can be waited for.
const (
	In   = unix.EPOLLIN
	Out  = unix.EPOLLOUT
	Edge = unix.EPOLLET
)

// Event is a socket's news: the token that it was added with, and what it is ready for. An error or a hang-up shows
// as In, so that the next read tells which.
type Event struct {
	Token   int32
	In, Out bool
}

// Poller waits for many sockets.
type Poller struct {
	fd     int
	raw    [256]unix.EpollEvent
	events [256]Event
	coarse bool // a kernel before 5.11 has no epoll_pwait2: milliseconds
}

// NewPoller makes a poller that watches nothing yet.
func NewPoller() (*Poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return &Poller{fd: fd}, nil
}

// Close ends the poller; the sockets stay.
func (p *Poller) Close() { _ = unix.Close(p.fd) }

// Add watches fd.
func (p *Poller) Add(fd int, token int32, events uint32) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, token, events)
}

// Change changes what fd is watched for.
func (p *Poller) Change(fd int, token int32, events uint32) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, token, events)
}

func (p *Poller) control(op, fd int, token int32, events uint32) error {
	if err := unix.EpollCtl(p.fd, op, fd, &unix.EpollEvent{Events: events, Fd: token}); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// Wait gives what is ready, waiting for it no longer than timeout; below 0 is for ever. The events are valid until
// the next call. An interrupted wait gives none.
func (p *Poller) Wait(timeout time.Duration) ([]Event, error) {
	n, err := p.wait(timeout)
	if err != nil && err != unix.EINTR {
		return nil, fmt.Errorf("epoll_wait: %w", err)
	}
	const bad = unix.EPOLLERR | unix.EPOLLHUP | unix.EPOLLRDHUP
	for i, ev := range p.raw[:max(n, 0)] {
		p.events[i] = Event{Token: ev.Fd, In: ev.Events&(unix.EPOLLIN|bad) != 0, Out: ev.Events&unix.EPOLLOUT != 0}
	}
	return p.events[:max(n, 0)], nil
}

func (p *Poller) wait(timeout time.Duration) (int, error) {
	switch {
	case timeout < 0:
		return unix.EpollWait(p.fd, p.raw[:], -1)
	case timeout == 0:
		n, _, e := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.raw[0])),
			uintptr(len(p.raw)), 0, 0, 0)
		return result(n, e)
	case p.coarse:
		return unix.EpollWait(p.fd, p.raw[:], int((timeout+time.Millisecond-1)/time.Millisecond))
	}
	ts := unix.NsecToTimespec(int64(timeout))
	n, _, e := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.raw[0])),
		uintptr(len(p.raw)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	if e == unix.ENOSYS {
		p.coarse = true
		return p.wait(timeout)
	}
	return result(n, e)
}

func result(n uintptr, e unix.Errno) (int, error) {
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// Punctual makes the calling thread's timers as exact as the kernel can; else it may be 50 µs late.
func Punctual() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }
