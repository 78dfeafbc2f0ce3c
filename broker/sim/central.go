package sim

import (
	"errors"

	"millrace/metadata"
	"millrace/metadata/controller"
)

// central is a process's central server, after package central: it plans commands, one at a time, on the image that it has,
// sends them to the store, and goes on when its image shows them.
type central struct {
	n       *process
	img     *metadata.Image // nil: it has not listed the store yet
	queue   []*command
	current *command

	detector  *controller.Detector
	inOffice  bool // as of the last look
	unsettled bool
	busy      bool
}

func newCentral(n *process) *central {
	return &central{n: n, detector: controller.NewDetector(leaseMs, n.w.nowMs)}
}

type command struct {
	name    string
	plan    func(img *metadata.Image) []metadata.Delta
	duty    bool // for the controller only
	resumes bool // a plan that was carried out in part goes on
	done    func(err error)

	txns      []metadata.Txn
	committed int
	answered  bool
	revision  int64
	conflict  bool
}

var (
	errUnavailable = errors.New("it isn't known whether the store did it")
	errNotInOffice = errors.New("not the controller")
)

func (c *central) submit(cmd *command) {
	c.queue = append(c.queue, cmd)
	c.next()
}

func (c *central) next() {
	for c.current == nil && len(c.queue) > 0 {
		cmd := c.queue[0]
		c.queue = c.queue[1:]
		c.start(cmd)
	}
}

func (c *central) start(cmd *command) {
	w := c.n.w
	c.current = cmd
	if cmd.duty && !c.elected() {
		c.finish(errNotInOffice)
		return
	}
	deltas := w.bugs.mangle(c.img, cmd.plan(c.img))
	most := w.cluster.txnMax
	if cmd.duty && most > 0 {
		most--
	}
	cmd.txns = c.img.Transactions(deltas, most)
	if cmd.duty {
		for i := range cmd.txns {
			cmd.txns[i].Compares = append(cmd.txns[i].Compares, metadata.CompareController(c.img.Controller()))
		}
	}
	c.commitNext()
}

func (c *central) commitNext() {
	cmd := c.current
	if len(cmd.txns) == 0 {
		c.finish(nil)
		return
	}
	txn := cmd.txns[0]
	cmd.txns = cmd.txns[1:]
	m := &message{kind: commitRequest, from: c.n.id, to: storeID, command: cmd, txn: txn}
	if c.n.w.cluster.prompt && c.n.w.ready(m) {
		revision, err := c.n.w.store.commit(txn)
		c.answer(cmd, revision, err)
		if c.current == cmd {
			c.learn(true)
		}
		return
	}
	c.n.send(m)
}

// answer comes from the store, or in its place when the connection is lost.
func (c *central) answer(cmd *command, revision int64, err error) {
	if c.current != cmd {
		return
	}
	if err != nil && !errors.Is(err, metadata.ErrConflict) {
		c.finish(errUnavailable)
		c.next()
		return
	}
	cmd.answered, cmd.revision, cmd.conflict = true, revision, err != nil
	c.advance()
}

// advance goes on with the current command if the image has what it waits for.
func (c *central) advance() {
	cmd := c.current
	if cmd == nil || !cmd.answered || c.img.Revision() < cmd.revision {
		return
	}
	cmd.answered = false
	switch {
	case !cmd.conflict:
		cmd.committed++
		c.commitNext()
	case cmd.committed > 0 && !cmd.resumes:
		c.finish(errUnavailable)
	default:
		c.start(cmd)
	}
	c.next()
}

func (c *central) finish(err error) {
	cmd := c.current
	c.current = nil
	if cmd.done != nil {
		cmd.done(err)
	}
}

// follow does for partitions what follows from a command that was carried out.
func (c *central) follow(err error) {
	if err == nil && len(c.n.w.policy.Settle(c.img)) > 0 {
		c.submit(&command{name: "follow", resumes: true, plan: c.n.w.policy.Settle})
	}
}

// learn takes the next batch of the store's watch, or all there are.
func (c *central) learn(all bool) bool {
	s := &c.n.w.store
	if c.img == nil || c.img.Revision() >= s.revision {
		return false
	}
	to := c.img.Revision() + 1
	if all {
		to = s.revision
	}
	var deltas []metadata.Delta
	for r := c.img.Revision(); r < to; r++ {
		deltas = append(deltas, s.history[r].deltas...)
	}
	c.publish(s.history[to-1].image, deltas)
	return true
}

// list takes everything anew, as after a watch that was cut off.
func (c *central) list() bool {
	next := c.n.w.store.list()
	switch {
	case c.img == nil:
		c.img = metadata.Empty()
	case c.img.Revision() >= next.Revision():
		return false
	}
	c.publish(next, c.img.Diff(next))
	return true
}

func (c *central) publish(next *metadata.Image, deltas []metadata.Delta) {
	c.img = next
	c.n.adopt()
	for _, d := range deltas {
		switch d.(type) {
		case metadata.BrokerRegistered, metadata.BrokerChanged, metadata.BrokerRemoved:
			c.unsettled = true
		}
	}
	c.advance()
	c.keepVigil()
}

func (c *central) elected() bool {
	return c.img != nil && c.img.Controller().Token == c.n.incarnation
}

// keepVigil is what a controller does about brokers, one thing at a time.
func (c *central) keepVigil() {
	was := c.inOffice
	c.inOffice = c.elected()
	c.unsettled = c.unsettled || c.inOffice && !was
	if !c.inOffice || c.busy {
		return
	}
	w := c.n.w
	v := c.detector.Judge(c.img, w.nowMs)
	switch {
	case len(v.Fence) > 0:
		c.act("fence", func(img *metadata.Image) []metadata.Delta { return w.policy.FenceBrokers(img, v.Fence) })
	case len(v.Unfence) > 0:
		c.act("unfence", func(img *metadata.Image) []metadata.Delta {
			deltas, _ := w.policy.UnfenceBroker(img, v.Unfence[0])
			return deltas
		})
	case c.unsettled:
		c.unsettled = false
		c.act("settle", w.policy.Settle)
	}
}

// suspect: a broker's process is gone, as far as is seen from here. If it is the controller it is deposed.
func (c *central) suspect(m metadata.Member) {
	c.detector.Refused(m)
	if c.img == nil {
		return
	}
	if c.img.Controller().Token == m.Incarnation {
		c.depose(m.Incarnation)
	}
	c.keepVigil()
}

// depose ends the term of the controller with that token; its own, if it resigns.
func (c *central) depose(token uint64) {
	c.n.once(&command{name: "depose", plan: func(img *metadata.Image) []metadata.Delta {
		if img.Controller().Token != token {
			return nil
		}
		return []metadata.Delta{metadata.ControllerResigned{}}
	}})
}

func (c *central) act(name string, plan func(img *metadata.Image) []metadata.Delta) {
	c.busy = true
	c.submit(&command{name: name, duty: true, resumes: true, plan: plan, done: func(err error) {
		c.busy = false
		if err != nil {
			c.unsettled = true
		}
	}})
}
