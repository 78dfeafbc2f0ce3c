package central

import (
	"errors"
	"slices"

	"go.uber.org/zap"

	"millrace/jobs"
	"millrace/metadata"
)

// attemptsMax bounds how often a command is planned. Each conflict means that
// somebody else got on, so a limit is met only if the store is broken.
const attemptsMax = 100

// command is one request on its way through the server.
type command struct {
	jobs.Link
	server *Server

	// plan makes the deltas against an image. It is called again after a
	// conflict, and then forgets what it made before.
	plan func(img *metadata.Image) []metadata.Delta

	// resumes: a plan that is made after a part of an earlier one was carried out
	// is the rest of it, and no other command would be better for the caller.
	resumes bool

	// duty: only the controller may do this. Its transactions hold only while it
	// is in office.
	duty bool

	// urgent: partitions may be without a leader until this is done. It goes ahead
	// of all that waits.
	urgent bool

	// done gets nil when the plan is in the image, or why it may not be.
	done func(err error)

	txns      []metadata.Txn // still to be committed
	committed int
	attempts  int

	// What the store said about the last Txn; the command goes on when the image
	// has reached that revision.
	answered bool
	revision int64
	conflict bool
}

// submit runs c, or has it run, on the executor. plan and done are called
// there; done also on the caller if the server is closed.
func (s *Server) submit(c *command) {
	c.server = s
	if !s.executor.Post(c) {
		c.done(errClosed())
	}
}

// Run takes the command's turn. It implements jobs.Task.
func (c *command) Run() {
	s := c.server
	switch {
	case s.closed:
		c.done(errClosed())
	case s.current == nil:
		s.start(c)
		s.startWaiting()
	case c.urgent:
		s.waiting = slices.Insert(s.waiting, 0, c)
	case len(s.waiting) >= s.commandsMax:
		c.done(metadata.Errorf(metadata.ErrUnavailable, "The metadata server has too much to do (%d commands wait).", len(s.waiting)))
	default:
		s.waiting = append(s.waiting, c)
	}
}

// startWaiting starts commands until one is on its way to the store. It is a loop
// at the bottom of every task, so that commands that need no transaction don't
// start each other from ever deeper stacks.
func (s *Server) startWaiting() {
	for s.current == nil && len(s.waiting) > 0 {
		c := s.waiting[0]
		s.waiting[0] = nil
		s.waiting = s.waiting[1:]
		s.start(c)
	}
}

func (s *Server) start(c *command) {
	s.current = c
	c.attempts++
	img := s.Image()
	if c.duty && !s.inOffice(img) {
		s.finish(c, metadata.Errorf(metadata.ErrNotController, "This server isn't the controller."))
		return
	}
	most := s.store.TxnMax()
	if c.duty && s.election && most > 0 {
		most-- // for the compare that is added
	}
	c.txns = img.Transactions(c.plan(img), most)
	if c.duty && s.election {
		for i := range c.txns {
			c.txns[i].Compares = append(c.txns[i].Compares, metadata.CompareController(img.Controller()))
		}
	}
	s.commitNext(c)
}

// commitNext sends the command's next transaction. The answer comes back as a
// task of its own, also if the store answers at once.
func (s *Server) commitNext(c *command) {
	if len(c.txns) == 0 {
		s.finish(c, nil)
		return
	}
	txn := c.txns[0]
	c.txns = c.txns[1:]
	c.answered = false
	s.store.Commit(txn, func(revision int64, err error) {
		s.executor.Do(func() { s.answer(c, revision, err) })
	})
}

func (s *Server) answer(c *command, revision int64, err error) {
	if s.current != c { // closed meanwhile
		return
	}
	if err != nil && !errors.Is(err, metadata.ErrConflict) {
		s.log.Warn("the metadata store refused a transaction", zap.Error(err))
		s.finish(c, metadata.Errorf(metadata.ErrUnavailable, "The metadata store doesn't answer: %v", err))
		s.startWaiting()
		return
	}
	c.answered, c.revision, c.conflict = true, revision, err != nil
	s.advance()
}

// advance goes on with the current command if the image has what it waits for.
func (s *Server) advance() {
	c := s.current
	if c == nil || !c.answered || s.Image().Revision() < c.revision {
		return
	}
	c.answered = false
	switch {
	case !c.conflict:
		c.committed++
		if c.resumes {
			c.attempts = 0 // it gets on
		}
		s.commitNext(c)
	case c.committed > 0 && !c.resumes || c.attempts >= attemptsMax:
		s.finish(c, metadata.Errorf(metadata.ErrUnavailable, "Another server changed the metadata at the same time; a part may have been done."))
	default:
		s.start(c)
	}
	s.startWaiting()
}

func (s *Server) finish(c *command, err error) {
	s.current = nil
	c.done(err)
}
