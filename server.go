package millrace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	"go.uber.org/zap"

	"millrace/broker"
	front "millrace/broker/console"
	"millrace/broker/link"
	"millrace/config"
	"millrace/jobs"
	"millrace/metadata"
	"millrace/metadata/central"
	"millrace/reactor"
	"millrace/slab"
)

// Options is what a server is opened with. The zero value is good for tests: defaults, no log, no control port.
type Options struct {
	Config *config.Config // nil: the defaults
	Log    *zap.Logger    // nil: none

	// LogLevel is the level of Log, for administrators to change (BROKER_LOGGER); nil: they can't.
	LogLevel *zap.AtomicLevel
}

// Server is one process of Millrace. Its methods may be called from anywhere.
type Server struct {
	config   *config.Config
	log      *zap.Logger
	logLevel *zap.AtomicLevel // nil: it can't be changed
	slabs    *slab.Pool
	wheel    *jobs.Wheel
	handover *broker.Handover
	store    *backing
	central  *central.Server
	presence *presence // nil: the cluster is this process
	sessions *sessions
	reactor  *reactor.Reactor
	control  control
	http     *http.Server // nil: nothing is served
	trimmer  jobs.Timer
	balancer jobs.Timer

	began      time.Time
	token      uint64         // this process in an election; also the incarnation of its first broker
	news       broadcast      // after each change of the cluster
	background sync.WaitGroup // goroutines that Close waits for
	done       chan struct{}  // closed by Close
	failed     chan struct{}  // closed when the server can't go on

	mu      sync.RWMutex
	hosts   map[int32]*host                // guarded by mu: the brokers of this process, by id
	pending map[uint64]*host               // guarded by mu: listening and not yet registered, by incarnation
	killed  map[int32]*host                // guarded by mu: those that KillBroker closed
	leaving map[*host]bool                 // guarded by mu: those of hosts that StopBroker closes
	peers   map[metadata.Member]*link.Peer // guarded by mu: the ways to brokers of other processes
	drawn   bool                           // guarded by mu: the first incarnation was drawn
	closed  bool                           // guarded by mu
	err     error                          // guarded by mu: why the server can't go on
}

// BrokerInfo is what is told of a broker of this process.
type BrokerInfo struct {
	ID   int32
	Addr string // host:port as it listens
}

// ErrClosed: the server was closed.
var ErrClosed = errors.New("the server is closed")

// ErrUnknownBroker: this process has no broker of that id.
var ErrUnknownBroker = errors.New("no broker of that id")

// Open is OpenContext without a limit.
func Open(o Options) (*Server, error) { return OpenContext(context.Background(), o) }

// OpenContext starts a server without brokers and with its control port closed. With millrace.cluster or
// millrace.etcd.endpoints it waits until the metadata can be read and written, or ctx is done; else it doesn't wait.
func OpenContext(ctx context.Context, o Options) (_ *Server, err error) {
	s := &Server{config: o.Config, log: o.Log, logLevel: o.LogLevel, began: time.Now(), token: newIncarnation(), done: make(chan struct{}),
		failed: make(chan struct{}), hosts: map[int32]*host{}, pending: map[uint64]*host{}, killed: map[int32]*host{}, leaving: map[*host]bool{}, peers: map[metadata.Member]*link.Peer{}}
	if s.config == nil {
		s.config = config.Default()
	}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	if s.store, err = openBacking(ctx, s.config, s.log); err != nil {
		return nil, err
	}
	s.slabs = slab.NewPool(memoryOptions(s.config))
	s.wheel = jobs.NewWheel()
	s.handover = broker.NewHandover()
	if err = s.compose(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	s.trimmer.Init(s.trim)
	s.wheel.Schedule(&s.trimmer, s.trimEvery())
	s.balancer.Init(s.balance)
	s.scheduleBalance(0)
	return s, nil
}

// compose makes the parts that lean on each other. After an error Close ends those that are there.
func (s *Server) compose(ctx context.Context) (err error) {
	s.central, err = central.Open(central.Options{Store: s.store, Log: s.log, Policy: policy(s.config),
		Election: s.several(), Name: s.name(), Token: s.token, LeaseTTL: s.leaseTTL()})
	if err != nil {
		return err
	}
	if s.several() {
		p := &presence{store: s.store, central: s.central, log: s.log, ttl: s.leaseTTL(), members: s.members}
		if err := openPresence(ctx, p); err != nil {
			return err
		}
		s.presence = p
		s.background.Go(s.watchStore)
	}
	s.reactor, err = reactor.Start(reactor.Options{
		Loops: loops(s.config), Slabs: s.slabs, Log: s.log,
		InFlightBytesMax: max(0, s.config.QueuedMaxRequestBytes), ConnOutboundBytesMax: s.config.ConnectionOutboundMaxBytes,
	})
	if err != nil {
		return err
	}
	s.control.desk = front.NewDesk(front.Deps{Host: frontHost{s}, Cluster: s.central, Config: s.config})
	s.sessions = &sessions{central: s.central, log: s.log, address: s.addressOf, nowMs: s.nowMs, stand: s.stand}
	s.sessions.start()
	s.central.Subscribe(s.changed)
	if s.presence == nil {
		s.central.Tick(s.nowMs()) // nobody else is there to be in office: its duties begin
	}
	return nil
}

// loops is millrace.loops, or half the processors: the other half is for clients on the same machine and for what
// executors hand over.
func loops(c *config.Config) int {
	if c.Loops > 0 {
		return int(c.Loops)
	}
	return max(1, runtime.GOMAXPROCS(0)/2)
}

// memoryOptions divides the budget. The network's and the internal topics' shares are small and kept back, so that a
// full server still takes commits and requests.
func memoryOptions(c *config.Config) slab.Options {
	limit := c.MemoryMaxBytes
	return slab.Options{LimitBytes: limit, ReserveInternalBytes: limit / 32, ReserveNetworkBytes: limit / 16}
}

func (s *Server) trimEvery() time.Duration {
	return time.Duration(s.config.MemoryTrimMs) * time.Millisecond
}

// trim runs on the wheel's goroutine, which may take the few system calls: nothing else there is urgent to the
// microsecond.
func (s *Server) trim() {
	s.slabs.Trim(s.trimEvery(), time.Now())
	s.wheel.Schedule(&s.trimmer, s.trimEvery())
}

// Image is the cluster as of now.
func (s *Server) Image() *metadata.Image { return s.central.Image() }

// Close stops the server and everything in it at once. The records are gone with it, unless others have them: see
// Shutdown.
func (s *Server) Close() error { return s.end(true) }

// end stops everything, from the outside in. Without farewell nobody is told, as after a crash.
func (s *Server) end(farewell bool) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	hosts := s.hosts
	s.hosts = map[int32]*host{}
	s.mu.Unlock()
	s.closeControl()
	if s.http != nil {
		_ = s.http.Close()
	}
	if s.sessions != nil {
		s.sessions.close()
	}
	close(s.done)
	if s.presence != nil { // first, so that the office is free before this process looks dead
		s.presence.close(farewell)
	}
	s.closePeers()
	for _, h := range hosts {
		h.close()
	}
	if s.central != nil {
		s.central.Close()
	}
	s.background.Wait() // what its last completions started
	s.store.shut()
	if s.reactor != nil {
		s.reactor.Close()
	}
	s.wheel.Stop()
	s.handover.Close()
	if left := s.slabs.Close(); left > 0 {
		return fmt.Errorf("%d slabs were not given back", left)
	}
	return nil
}
