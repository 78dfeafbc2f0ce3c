package floor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"millrace/bench/sock"
)

// fetchSendBuffer is for a connection that fetches: the kernel's own tuning stops short of taking a response whole.
const fetchSendBuffer = 4 << 20

// conn is one connection. Answers are text with views of the shelf in between; settle turns them into pieces to send.
type conn struct {
	stream
	fd      int
	text    []byte // answers since the socket last took everything
	queued  int    // how much of text is in the outbox
	views   []view // not yet in the outbox
	out     sock.Outbox
	waiting bool // for room in the socket
	large   bool // has the send buffer of one that fetches
}

// view is memory that is sent before text[at:].
type view struct {
	at int
	b  []byte
}

func (c *conn) piece(b []byte) { c.views = append(c.views, view{len(c.text), b}) }

// enlarge makes room in the socket for responses.
func (c *conn) enlarge() {
	if !c.large {
		c.large = true
		sock.SendBuffer(c.fd, fetchSendBuffer)
	}
}

// settle sends what was answered. done is false while the socket is full.
func (c *conn) settle() (done bool, err error) {
	for _, v := range c.views {
		c.out.Push(c.text[c.queued:v.at])
		c.out.Push(v.b)
		c.queued = v.at
	}
	c.views = c.views[:0]
	c.out.Push(c.text[c.queued:])
	c.queued = len(c.text)
	if _, err := c.out.Flush(c.fd); err != nil {
		return false, err
	}
	if c.out.Len() > 0 {
		return false, nil
	}
	c.text, c.queued = c.text[:0], 0
	return true, nil
}

// server is the loop with all that it owns.
type server struct {
	poller   *sock.Poller
	listener int
	conns    map[int32]*conn // by file descriptor
	intake   intake
	answers  *answerer
	at       *conn // whose frames are being delivered
}

// Run serves until ctx is done.
func Run(ctx context.Context, o Options) error {
	s, err := newServer(o)
	if err != nil {
		return err
	}
	defer s.close()
	// Only a byte in this pipe ends the wait, so that the loop needn't look at ctx between events.
	var wake [2]int
	if err := unix.Pipe2(wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	defer func() { _ = unix.Close(wake[0]) }()
	stop := context.AfterFunc(ctx, func() { _ = unix.Close(wake[1]) })
	defer stop()
	if err := s.poller.Add(wake[0], int32(wake[0]), sock.In); err != nil {
		return err
	}
	if o.Ready != nil {
		o.Ready()
	}
	for {
		events, err := s.poller.Wait(-1)
		if err != nil {
			return err
		}
		for _, ev := range events {
			switch ev.Token {
			case int32(wake[0]):
				return nil
			case int32(s.listener):
				s.accept()
			default:
				s.turn(ev)
			}
		}
	}
}

func newServer(o Options) (*server, error) {
	node, err := newNode(o.Addr, o.Partitions)
	if err != nil {
		return nil, err
	}
	s := &server{conns: map[int32]*conn{}, answers: &answerer{node: node, next: make([]int64, max(o.Partitions, 1))}}
	if s.intake.ring, err = newRing(o.RetainBytes, !o.Fresh); err != nil {
		return nil, err
	}
	s.intake.deliver = func(frame []byte) error { return s.answers.answer(s.at, frame) }
	if s.answers.shelf, err = newShelf(o); err != nil {
		return nil, err
	}
	if s.poller, err = sock.NewPoller(); err != nil {
		return nil, err
	}
	if s.listener, err = sock.Listen(o.Addr); err != nil {
		s.poller.Close()
		return nil, err
	}
	return s, s.poller.Add(s.listener, int32(s.listener), sock.In)
}

func (s *server) close() {
	for fd := range s.conns {
		_ = unix.Close(int(fd))
	}
	_ = unix.Close(s.listener)
	s.poller.Close()
}

func (s *server) accept() {
	for {
		fd, err := sock.Accept(s.listener)
		if err != nil {
			if !errors.Is(err, unix.EAGAIN) {
				fmt.Fprintf(os.Stderr, "floor: accept: %v\n", err)
				time.Sleep(10 * time.Millisecond) // out of file descriptors: don't turn on the spot
			}
			return
		}
		if err := s.poller.Add(fd, int32(fd), sock.In); err != nil {
			_ = unix.Close(fd)
			return
		}
		s.conns[int32(fd)] = &conn{fd: fd}
	}
}

// turn is one connection's turn: it reads unless its answers are stuck, then sends.
func (s *server) turn(ev sock.Event) {
	c := s.conns[ev.Token]
	if c == nil {
		return
	}
	s.at = c
	var err error
	if !c.waiting {
		err = s.intake.pull(&c.stream, c.fd)
	}
	// What came before the end of the stream is still answered; a client that shuts its side down may read on.
	done, werr := c.settle()
	if err == nil {
		err = werr
	}
	if err == nil && done == c.waiting {
		c.waiting = !done
		err = s.poller.Change(c.fd, ev.Token, interest(c.waiting))
	}
	if err == nil {
		return
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, unix.EPIPE) {
		fmt.Fprintf(os.Stderr, "floor: closing a connection: %v\n", err)
	}
	s.intake.drop(&c.stream)
	delete(s.conns, ev.Token)
	_ = unix.Close(c.fd)
}

func interest(waiting bool) uint32 {
	if waiting {
		return sock.Out
	}
	return sock.In
}
