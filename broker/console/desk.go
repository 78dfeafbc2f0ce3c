package console

import (
	"context"
	"errors"
	"sync"

	"github.com/valyala/bytebufferpool"

	"millrace/broker"
	"millrace/config"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/console"
)

// Host is the process that the control port steers.
type Host interface {
	Image() *metadata.Image
	Broker(id int32) *broker.Broker // nil: not in this process
	Brokers() []*broker.Broker      // by id
	// StartBroker and StopBroker call done once; it must not block.
	StartBroker(host string, port int, done func(id int32, err error))
	StopBroker(id int32, done func(error))
	StopBrokerNow(id int32, done func(error)) // without waiting until others have what only it has
	// KillBroker returns when the broker is dead; the cluster isn't told. RestartBroker brings it back.
	KillBroker(id int32) error
	RestartBroker(id int32, done func(error)) // must not block
	// DrainBroker calls done when the broker leads nothing and has nothing that others don't have; with leave also out
	// of every ISR.
	DrainBroker(id int32, leave bool, done func(error))
	CancelDrain(id int32, done func(error))
	// Connections is the number of connections of a broker, −1 if this process doesn't have it.
	Connections(id int32) int
	// GroupChanges counts the changes of groups that the process has seen.
	GroupChanges() uint64
	// Fill adds to a status what only the process knows: version, uptime, memory, connections.
	Fill(*console.ServerStatus)
}

// Cluster is the central server as the desk needs it.
type Cluster interface {
	broker.Cluster
	ElectLeaders(spec metadata.ElectionSpec, done func([]metadata.ElectionResult, error))
	AlterReassignments(specs []metadata.ReassignmentSpec, allowFactorChange bool, done func([]metadata.ReassignmentResult))
	// OnlyCopies lists the partitions whose records are lost if the broker goes now.
	OnlyCopies(id int32) []metadata.PartitionRef
	// Subscribe calls f with each change, on the central server's executor: it must not block. After cancel no call begins.
	Subscribe(f func(old, new *metadata.Image, deltas []metadata.Delta)) (cancel func())
}

// Deps is what a desk works with.
type Deps struct {
	Host    Host
	Cluster Cluster
	Config  *config.Config
}

// Desk serves the control port.
type Desk struct {
	Deps
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	next map[metadata.TopicID]uint32 // guarded by mu: the round robin of records without key and partition
}

// NewDesk opens a desk. Close ends it.
func NewDesk(d Deps) *Desk {
	ctx, stop := context.WithCancel(context.Background())
	return &Desk{Deps: d, ctx: ctx, stop: stop, next: map[metadata.TopicID]uint32{}}
}

// Close ends all commands that run and waits for them. No line may come in any more.
func (d *Desk) Close() {
	d.stop()
	d.running.Wait()
}

// Slot is where the answer to one line goes. Exactly one of Reply, Drop and Fail is called, once, from any goroutine.
type Slot interface {
	Reply(protocol.Reply)
	// Push sends a part of an answer that goes on; false if the part was dropped.
	Push(protocol.Reply) bool
	Drop()
	// Fail closes the connection after what was pushed; a reason that is not empty goes to the log.
	Fail(reason string)
}

// Session is one connection.
type Session struct {
	format console.Encoding

	mu     sync.Mutex
	cancel context.CancelFunc // guarded by mu: ends the command that runs; nil if none does
}

// Open begins a session.
func (d *Desk) Open() *Session { return &Session{} }

// Interrupt tells the session that a line has come in, or that its client is gone: a WATCH ends.
func (s *Session) Interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// Serve takes one line. The session's last line must have been answered.
func (d *Desk) Serve(s *Session, line []byte, slot Slot) {
	command, err := console.Parse(line)
	switch {
	case err != nil:
		d.refuse(s, err, slot)
		return
	case command == nil:
		slot.Drop()
		return
	}
	ctx, cancel := context.WithCancel(d.ctx)
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	d.running.Go(func() {
		answer, err := d.run(ctx, s, command, slot)
		s.mu.Lock()
		s.cancel = nil
		s.mu.Unlock()
		cancel()
		text := reply(func(dst []byte) []byte {
			if err != nil {
				return console.RenderError(dst, s.format, err)
			}
			return console.Render(dst, s.format, answer)
		})
		if _, quit := command.(console.Quit); quit {
			slot.Push(text)
			slot.Fail("")
			return
		}
		slot.Reply(text)
	})
}

// refuse answers a line that is no command. Whoever speaks another protocol is told so, and hung up on.
func (d *Desk) refuse(s *Session, err error, slot Slot) {
	text := reply(func(dst []byte) []byte { return console.RenderError(dst, s.format, err) })
	if usage := (*console.UsageError)(nil); errors.As(err, &usage) && usage.HangUp {
		slot.Push(text)
		slot.Fail(usage.Message)
		return
	}
	slot.Reply(text)
}

func reply(render func(dst []byte) []byte) protocol.Reply {
	buf := bytebufferpool.Get()
	buf.B = render(buf.B)
	return protocol.Reply{Buf: buf}
}

// run carries out one command.
func (d *Desk) run(ctx context.Context, s *Session, command console.Command, slot Slot) (console.Answer, error) {
	switch c := command.(type) {
	case console.CreateBroker:
		return d.createBroker(c)
	case console.RemoveBroker:
		return d.removeBroker(c)
	case console.KillBroker:
		return d.killBroker(c)
	case console.StartBroker:
		return d.startBroker(c)
	case console.Drain:
		return d.drain(c)
	case console.OnlyCopies:
		return d.listOnlyCopies(c)
	case console.Brokers:
		return console.BrokerList(d.brokers()), nil
	case console.CreateTopic:
		return d.createTopic(c)
	case console.DeleteTopic:
		return d.deleteTopic(c)
	case console.Topics:
		return d.topics(), nil
	case console.DescribeTopic:
		return d.describeTopic(c)
	case console.Elect:
		return d.elect(c)
	case console.Reassign:
		return d.reassign(c)
	case console.Produce:
		return d.produce(c)
	case console.Consume:
		return d.consume(c)
	case console.Groups:
		return d.groups()
	case console.Lag:
		return d.lag(c)
	case console.Status:
		return d.status()
	case console.Watch:
		return d.watch(ctx, s, c, slot)
	case console.Help:
		return console.HelpText(c), nil
	case console.Format:
		s.format = c.Format
		return console.Done{}, nil
	case console.Quit:
		return console.Done{Message: "bye"}, nil
	}
	panic("broker/console: a command without a case")
}

// await runs an operation with a completion and gives what it completed with.
func await[T any](start func(done func(T))) T {
	result := make(chan T, 1)
	start(func(v T) { result <- v })
	return <-result
}
