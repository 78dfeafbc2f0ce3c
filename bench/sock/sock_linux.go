package sock

import (
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported says whether this system has the package's functions.
const Supported = true

// Errors of calls that would have to wait, or were interrupted.
const (
	Again       = unix.EAGAIN
	Interrupted = unix.EINTR
)

// Read reads what is there; (0, 0) is the end of the stream.
func Read(fd int, b []byte) (int, unix.Errno) {
	n, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), e
}

// Readv reads into the pieces of v, one after the other.
func Readv(fd int, v []unix.Iovec) (int, unix.Errno) {
	n, _, e := unix.RawSyscall(unix.SYS_READV, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(v))), uintptr(len(v)))
	return int(n), e
}

// Write writes what the socket takes.
func Write(fd int, b []byte) (int, unix.Errno) {
	n, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), e
}

// Iovec refers to b.
func Iovec(b []byte) unix.Iovec {
	v := unix.Iovec{Base: unsafe.SliceData(b)}
	v.SetLen(len(b))
	return v
}

// iovecsMax is what the kernel takes in one call (UIO_MAXIOV).
const iovecsMax = 1024

// Outbox is what a connection has yet to send.
type Outbox struct {
	pieces []unix.Iovec
	next   int // the first piece not wholly sent
}

// Push queues b without copying it.
func (o *Outbox) Push(b []byte) {
	if len(b) > 0 {
		o.pieces = append(o.pieces, Iovec(b))
	}
}

// Len is how many pieces wait.
func (o *Outbox) Len() int { return len(o.pieces) - o.next }

// Flush sends until nothing is left or the socket is full, and gives the bytes that went.
func (o *Outbox) Flush(fd int) (sent int, err error) {
	for o.next < len(o.pieces) {
		v := o.pieces[o.next:min(len(o.pieces), o.next+iovecsMax)]
		n, _, e := unix.RawSyscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(v))),
			uintptr(len(v)))
		switch e {
		case 0:
			sent += int(n)
			o.drop(int(n))
		case unix.EINTR:
		case unix.EAGAIN:
			return sent, nil
		default:
			return sent, e
		}
	}
	o.pieces, o.next = o.pieces[:0], 0
	return sent, nil
}

// drop forgets n bytes at the front.
func (o *Outbox) drop(n int) {
	for n > 0 {
		p := &o.pieces[o.next]
		if n < int(p.Len) {
			p.Base = (*byte)(unsafe.Add(unsafe.Pointer(p.Base), n))
			p.SetLen(int(p.Len) - n)
			return
		}
		n -= int(p.Len)
		o.next++
	}
}

// Dial connects to an IPv4 address and gives a non-blocking socket without Nagle's delay.
func Dial(addr string) (int, error) {
	return DialFrom(addr, nil)
}

// DialFrom is Dial with a source address, for more connections than one address has ports; nil leaves it to the kernel.
func DialFrom(addr string, from net.IP) (int, error) {
	to, err := address(addr)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	if ip := from.To4(); ip != nil {
		// The port is chosen at connect, when the other end is known; else ports run out at once.
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
		if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte(ip)}); err != nil {
			_ = unix.Close(fd)
			return -1, fmt.Errorf("bind %v: %w", from, err)
		}
	}
	if err = unix.Connect(fd, to); err == nil {
		NoDelay(fd)
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return fd, nil
}

// Listen gives a non-blocking listener on an IPv4 address.
func Listen(addr string) (int, error) {
	at, err := address(addr)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err = unix.Bind(fd, at); err == nil {
		err = unix.Listen(fd, 4096)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return fd, nil
}

// Accept takes one connection off a listener, non-blocking and without Nagle's delay.
func Accept(listener int) (int, error) {
	fd, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err == nil {
		NoDelay(fd)
	}
	return fd, err
}

// NoDelay switches Nagle's delay off.
func NoDelay(fd int) { _ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) }

// SendBuffer asks for a send buffer of so many bytes, as far as the system allows.
func SendBuffer(fd, bytes int) { _ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, bytes) }

// Close closes a socket at once, without leaving a port in TIME_WAIT: the other end sees a reset.
func Close(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	_ = unix.Close(fd)
}

func address(addr string) (*unix.SockaddrInet4, error) {
	a, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, err
	}
	sa := &unix.SockaddrInet4{Port: a.Port}
	copy(sa.Addr[:], a.IP.To4())
	return sa, nil
}
