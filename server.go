package millrace

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	"go.uber.org/zap"

	"millrace/broker"
	front "millrace/broker/console"
	"millrace/config"
	"millrace/jobs"
	"millrace/metadata"
	"millrace/metadata/central"
	"millrace/metadata/memory"
	"millrace/reactor"
	"millrace/slab"
)

// Options is what a server is opened with. The zero value is good for tests: defaults, no log, no control port.
type Options struct {
	Config *config.Config // nil: the defaults
	Log    *zap.Logger    // nil: none
}

// Server is one process of Millrace. Its methods may be called from anywhere.
type Server struct {
	config   *config.Config
	log      *zap.Logger
	slabs    *slab.Pool
	wheel    *jobs.Wheel
	handover *broker.Handover
	store    *memory.Store
	central  *central.Server
	reactor  *reactor.Reactor
	control  control
	http     *http.Server // nil: nothing is served
	trimmer  jobs.Timer

	background sync.WaitGroup // goroutines that Close waits for

	mu      sync.RWMutex
	hosts   map[int32]*host  // guarded by mu: the brokers of this process, by id
	pending map[uint64]*host // guarded by mu: listening and not yet registered, by incarnation
	killed  map[int32]*host  // guarded by mu: those that KillBroker closed
	leaving map[*host]bool   // guarded by mu: those of hosts that StopBroker closes
	closed  bool             // guarded by mu
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

// Open starts a server without brokers and with its control port closed.
func Open(o Options) (_ *Server, err error) {
	s := &Server{config: o.Config, log: o.Log, hosts: map[int32]*host{}, pending: map[uint64]*host{},
		killed: map[int32]*host{}, leaving: map[*host]bool{}}
	if s.config == nil {
		s.config = config.Default()
	}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	s.slabs = slab.NewPool(memoryOptions(s.config))
	s.wheel = jobs.NewWheel()
	s.handover = broker.NewHandover()
	s.store = memory.Open(memory.Options{})
	s.central, err = central.Open(central.Options{Store: s.store, Log: s.log, Policy: policy(s.config)})
	if err != nil {
		s.store.Close()
		s.wheel.Stop()
		return nil, err
	}
	s.central.Subscribe(s.changed)
	s.reactor, err = reactor.Start(reactor.Options{
		Loops: loops(s.config), Slabs: s.slabs, Log: s.log,
		InFlightBytesMax: max(0, s.config.QueuedMaxRequestBytes), ConnOutboundBytesMax: s.config.ConnectionOutboundMaxBytes,
	})
	if err != nil {
		s.central.Close()
		s.store.Close()
		s.wheel.Stop()
		return nil, err
	}
	s.control.began = time.Now()
	s.control.desk = front.NewDesk(front.Deps{Host: frontHost{s}, Cluster: s.central, Config: s.config})
	s.trimmer.Init(s.trim)
	s.wheel.Schedule(&s.trimmer, s.trimEvery())
	return s, nil
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

// Close stops the server and everything in it. The records are gone with it.
func (s *Server) Close() error {
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
	for _, h := range hosts {
		h.close()
	}
	s.central.Close()
	s.background.Wait() // what its last completions started
	s.store.Close()
	s.reactor.Close()
	s.wheel.Stop()
	s.handover.Close()
	if left := s.slabs.Close(); left > 0 {
		return fmt.Errorf("%d slabs were not given back", left)
	}
	return nil
}
