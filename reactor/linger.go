package reactor

import (
	"errors"
	"io"
)

// linger keeps a connection whose client has shut down its sending side (socat, nc -N,
// a producer that doesn't wait for acks) until everything it sent is carried out and
// answered. gnet closes such a connection at once. So the descriptor is duplicated,
// and from here on the reactor is on its own: what the kernel has received is complete
// and can be pulled, and writing was its own business before.
//
// False: there is nothing left to do for the connection, or it broke.
func (c *Conn) linger(err error) bool {
	if c.doomed || c.lingering || !errors.Is(err, io.EOF) || c.idle() && !c.paused || socketError(c.fd) != nil {
		return false
	}
	fd, err := dupFD(c.fd)
	if err != nil {
		return false
	}
	c.loop.r.writable.forget(c)
	c.armed = false
	c.fd, c.lingering, c.paused = fd, true, false
	c.lingerSince = c.loop.clock
	c.turns = 0
	// Wait for room even if nothing is to be sent: a reset shows there, too.
	if c.loop.r.writable.await(c, c.out != nil) != nil {
		return c.unlinger(fd)
	}
	c.armed = c.out != nil
	c.notify()
	return true
}

func (c *Conn) unlinger(fd int) bool {
	closeFD(fd)
	c.lingering = false
	return false
}

// lingered says that a connection has lingered without any progress for as long as its
// client is granted. A full gate is none of the client's doing; and while answers wait
// for room in the socket a dead client shows itself by a reset, so there the idle
// timeout rules.
func (c *Conn) lingered() bool {
	quiet, grace := c.loop.clock-max(c.lingerSince, c.active), int64(c.listener.o.HalfCloseGrace)
	return c.out == nil && !c.enlisted && grace > 0 && quiet > grace
}
