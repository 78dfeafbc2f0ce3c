package millrace

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"millrace/broker"
	"millrace/broker/api"
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

	mu      sync.RWMutex
	hosts   map[int32]*host  // guarded by mu: the brokers of this process, by id
	pending map[string]*host // guarded by mu: listening and not yet registered, by endpoint
	closed  bool             // guarded by mu
}

// host is one broker of this process with its listener.
type host struct {
	addr     netip.AddrPort
	listener *reactor.Listener
	handler  *kafkaHandler
	broker   *broker.Broker // nil until it is registered
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
	s := &Server{config: o.Config, log: o.Log, hosts: map[int32]*host{}, pending: map[string]*host{}}
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

// CreateBroker starts a broker that listens on host:port (port 0: any free one) and registers it with the central
// server, which issues its id.
func (s *Server) CreateBroker(host string, port int) (BrokerInfo, error) {
	type outcome struct {
		info BrokerInfo
		err  error
	}
	done := make(chan outcome, 1)
	s.StartBroker(host, port, func(info BrokerInfo, err error) { done <- outcome{info, err} })
	o := <-done
	return o.info, o.err
}

// StartBroker is CreateBroker with a completion, which must not block.
func (s *Server) StartBroker(name string, port int, done func(BrokerInfo, error)) {
	h, err := s.listen(name, port)
	if err != nil {
		done(BrokerInfo{}, err)
		return
	}
	endpoint := s.endpoint(name, h)
	key := endpoint.String()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		h.listener.Close()
		done(BrokerInfo{}, ErrClosed)
		return
	}
	s.pending[key] = h
	s.mu.Unlock()
	spec := metadata.BrokerSpec{ID: s.nextID(), Rack: s.config.Rack, Endpoints: []metadata.Endpoint{endpoint}}
	s.central.RegisterBroker(spec, func(b *metadata.Broker, err error) {
		s.mu.Lock()
		delete(s.pending, key)
		s.mu.Unlock()
		if err != nil {
			h.listener.Close()
			done(BrokerInfo{}, err)
			return
		}
		s.log.Info("broker created", zap.Int32("broker", b.ID), zap.Stringer("address", h.addr))
		done(BrokerInfo{ID: b.ID, Addr: h.addr.String()}, nil)
	})
}

// nextID is node.id for the first broker, if it is set; the central server issues all others.
func (s *Server) nextID() int32 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.config.NodeID >= 0 && len(s.hosts) == 0 {
		return s.config.NodeID
	}
	return -1
}

// listen binds a broker's address. Clients that come before the broker is registered are turned away.
func (s *Server) listen(name string, port int) (*host, error) {
	bare, err := config.ParseHost(name)
	if err != nil {
		return nil, err
	}
	h := &host{handler: &kafkaHandler{}}
	h.listener, err = s.reactor.Listen(net.JoinHostPort(bare, strconv.Itoa(port)), reactor.ListenerOptions{
		Framing: reactor.Frames, Handler: h.handler,
		FrameBytesMax:  int(s.config.SocketRequestMaxBytes),
		IdleTimeout:    time.Duration(s.config.ConnectionsMaxIdleMs) * time.Millisecond,
		ConnectionsMax: int(s.config.MaxConnections), ConnectionsPerIPMax: int(s.config.MaxConnectionsPerIP),
		SendBufferBytes: sendBufferBytes(s.config), ReceiveBufferBytes: receiveBufferBytes(s.config),
	})
	if err != nil {
		return nil, err
	}
	h.addr = h.listener.Addr().(*net.TCPAddr).AddrPort()
	return h, nil
}

// sendBufferBytes is socket.send.buffer.bytes if somebody set it. Otherwise it is large enough for the socket to take a
// whole answer of 1 MiB at once: fetches of that size cost 1.5 × the floor's CPU with the kernel's own tuning, and
// 1.1 × so. It bounds what the kernel holds for a client that doesn't read; idle connections hold nothing.
func sendBufferBytes(c *config.Config) int {
	const own = 4 << 20
	if !c.IsSet("socket.send.buffer.bytes") {
		return own
	}
	return int(max(0, c.SocketSendBufferBytes))
}

// receiveBufferBytes is socket.receive.buffer.bytes if somebody set it. A small one nearly doubles the cost of produces,
// so Kafka's default of 100 KiB is not taken over: the kernel tunes it.
func receiveBufferBytes(c *config.Config) int {
	if !c.IsSet("socket.receive.buffer.bytes") {
		return 0
	}
	return int(max(0, c.SocketReceiveBufferBytes))
}

// endpoint is what clients are told of a broker: its listener, or the advertised one. Several brokers of a process
// share one setting of advertised.listeners: its host, and its port counted on from the first broker's.
func (s *Server) endpoint(name string, h *host) metadata.Endpoint {
	e := metadata.Endpoint{Name: "PLAINTEXT", Host: strings.Trim(name, "[]"), Port: int32(h.addr.Port()),
		SecurityProtocol: "PLAINTEXT"}
	if len(s.config.Listeners) > 0 {
		e.Name = s.config.Listeners[0].Name
	}
	if len(s.config.AdvertisedListeners) == 0 {
		return e
	}
	a := s.config.AdvertisedListeners[0]
	e.Name = a.Name
	if a.Host != "" {
		e.Host = a.Host
	}
	if first := s.config.Listeners[0].Port; a.Port != 0 && first != 0 {
		e.Port += a.Port - first
	}
	return e
}

// changed is told of every change of the cluster, in order, by the central server.
func (s *Server) changed(old, new *metadata.Image, deltas []metadata.Delta) {
	for _, d := range deltas {
		if registered, ok := d.(metadata.BrokerRegistered); ok {
			s.admit(registered.Broker)
		}
	}
	brokers := s.Brokers()
	for _, b := range brokers {
		b.Leave(old, new, deltas)
	}
	for _, b := range brokers {
		b.Lead(old, new, deltas)
	}
}

// admit makes the broker of a registration, if it is one of this process.
func (s *Server) admit(registered *metadata.Broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(registered.Endpoints) == 0 {
		return
	}
	h := s.pending[registered.Endpoints[0].String()]
	if h == nil {
		return
	}
	h.broker = broker.New(registered.ID, broker.Deps{
		Cluster: s.central, Config: s.config, Slabs: s.slabs, Wheel: s.wheel, Handover: s.handover,
		Log: s.log.With(zap.Int32("broker", registered.ID)), Now: time.Now,
	})
	s.watchGroups(h.broker)
	h.handler.desk.Store(api.NewDesk(api.Deps{
		Broker: h.broker, Cluster: s.central, Config: s.config, Log: s.log,
	}))
	s.hosts[registered.ID] = h
}

// RemoveBroker takes a broker out of the cluster and stops it. Its partitions move to the brokers that are left,
// with their records; if it was the last one, they are lost with it.
func (s *Server) RemoveBroker(id int32) error {
	done := make(chan error, 1)
	s.StopBroker(id, func(err error) { done <- err })
	return <-done
}

// StopBroker is RemoveBroker with a completion, which must not block.
func (s *Server) StopBroker(id int32, done func(error)) {
	if s.Broker(id) == nil {
		done(ErrUnknownBroker)
		return
	}
	s.central.RemoveBroker(id, func(err error) {
		if err != nil {
			done(err)
			return
		}
		s.mu.Lock()
		h := s.hosts[id]
		delete(s.hosts, id)
		s.mu.Unlock()
		if h == nil { // somebody else removed it at the same time
			done(nil)
			return
		}
		// Closing waits for the broker's workers and connections, and this runs on the central server's executor.
		go func() {
			h.close()
			s.log.Info("broker removed", zap.Int32("broker", id))
			done(nil)
		}()
	})
}

func (h *host) close() {
	h.listener.Close()
	if h.broker != nil {
		h.broker.Close()
	}
}

// Broker finds a broker of this process; nil if there is none of that id.
func (s *Server) Broker(id int32) *broker.Broker {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if h := s.hosts[id]; h != nil {
		return h.broker
	}
	return nil
}

// Brokers are the brokers of this process, by id.
func (s *Server) Brokers() []*broker.Broker {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*broker.Broker, 0, len(s.hosts))
	for _, h := range s.hosts {
		all = append(all, h.broker)
	}
	slices.SortFunc(all, func(a, b *broker.Broker) int { return int(a.ID) - int(b.ID) })
	return all
}

// Bootstrap is the addresses of the brokers as a client's bootstrap.servers takes them.
func (s *Server) Bootstrap() string {
	var addrs []string
	for _, b := range s.Brokers() {
		s.mu.RLock()
		h := s.hosts[b.ID]
		s.mu.RUnlock()
		if h != nil {
			addrs = append(addrs, h.addr.String())
		}
	}
	return strings.Join(addrs, ",")
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
	s.store.Close()
	s.reactor.Close()
	s.wheel.Stop()
	s.handover.Close()
	if left := s.slabs.Close(); left > 0 {
		return fmt.Errorf("%d slabs were not given back", left)
	}
	return nil
}
