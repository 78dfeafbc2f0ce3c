package millrace

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"millrace/broker"
	"millrace/broker/api"
	"millrace/broker/link"
	"millrace/config"
	"millrace/metadata"
	"millrace/reactor"
)

// host is one broker of this process with its listener. What is here is written before it is in Server.hosts, and then
// only read.
type host struct {
	member   metadata.Member // broker −1 until it is registered
	name     string          // the address as it was asked for
	endpoint metadata.Endpoint
	addr     netip.AddrPort
	listener *reactor.Listener
	handler  *kafkaHandler
	broker   *broker.Broker // nil until it is registered
}

func (h *host) close() {
	h.listener.Close()
	if h.broker != nil {
		h.broker.Close()
	}
}

// limit takes the limits on connections that the broker goes by now.
func (h *host) limit() {
	c := h.broker.Config()
	h.listener.Limit(int(c.MaxConnections), int(c.MaxConnectionsPerIP))
}

// newIncarnation draws the number of a broker's life: 64 random bits, not 0.
func newIncarnation() uint64 {
	for {
		var b [8]byte
		rand.Read(b[:]) // never fails (crypto/rand)
		if v := binary.LittleEndian.Uint64(b[:]); v != 0 {
			return v
		}
	}
}

// CreateBroker starts a broker that listens on host:port (port 0: any free one) and registers it with the central
// server, which issues its id.
func (s *Server) CreateBroker(host string, port int) (BrokerInfo, error) {
	return await(func(done func(BrokerInfo, error)) { s.StartBroker(host, port, done) })
}

// await waits for a completion.
func await[T any](start func(done func(T, error))) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	result := make(chan outcome, 1)
	start(func(v T, err error) { result <- outcome{v, err} })
	o := <-result
	return o.value, o.err
}

// StartBroker is CreateBroker with a completion, which must not block. The first broker of a process has the id that
// node.id names. Else one that listens where a broker of the cluster did before takes that one's place, and its id; all
// others get the next that is free.
func (s *Server) StartBroker(name string, port int, done func(BrokerInfo, error)) {
	s.start(name, port, metadata.NoBroker, done)
}

// start listens and registers, as id or, with NoBroker, as whatever it is to be.
func (s *Server) start(name string, port int, id int32, done func(BrokerInfo, error)) {
	h, err := s.listen(name, port)
	if err != nil {
		done(BrokerInfo{}, err)
		return
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		h.listener.Close()
		done(BrokerInfo{}, ErrClosed)
		return
	}
	r := &registration{host: h, id: id, incarnation: s.drawIncarnation(), done: done,
		deadline: time.Now().Add(2*s.leaseTTL() + registerLimit)}
	s.pending[r.incarnation] = h
	s.mu.Unlock()
	if id == metadata.NoBroker {
		r.id = s.idOf(h)
	}
	s.register(r)
}

// registration is one host's on its way.
type registration struct {
	host        *host
	id          int32
	incarnation uint64
	deadline    time.Time // of further attempts
	done        func(BrokerInfo, error)
}

// How long it is tried to register.
const (
	registerPause = 250 * time.Millisecond
	registerLimit = 10 * time.Second // beside two sessions' time
)

// register brings a host into the cluster. The answer of a store that is away may be lost, and a broker of the same id
// that died somewhere else is in its way until it is fenced; so it is asked for again for a while, always for the
// same life.
func (s *Server) register(r *registration) {
	spec := metadata.BrokerSpec{ID: r.id, Rack: s.config.Rack, Endpoints: []metadata.Endpoint{r.host.endpoint},
		Incarnation: r.incarnation, Lease: s.lease()}
	s.central.RegisterBroker(spec, func(b *metadata.Broker, err error) {
		if err == nil {
			s.unpend(r)
			s.log.Info("broker created", zap.Int32("broker", b.ID), zap.Stringer("address", r.host.addr))
			r.done(BrokerInfo{ID: b.ID, Addr: r.host.addr.String()}, nil)
			return
		}
		again := errors.Is(err, metadata.ErrUnavailable) || errors.Is(err, metadata.ErrDuplicateBroker)
		if again && s.several() && time.Now().Before(r.deadline) {
			s.log.Warn("the broker isn't registered yet", zap.Stringer("address", r.host.addr), zap.Error(err))
			s.background.Go(func() {
				select {
				case <-time.After(registerPause):
					s.register(r)
				case <-s.done:
					s.giveUp(r, ErrClosed)
				}
			})
			return
		}
		s.giveUp(r, err)
	})
}

// giveUp ends a registration that failed.
func (s *Server) giveUp(r *registration, err error) {
	s.unpend(r)
	r.host.listener.Close()
	r.done(BrokerInfo{}, err)
}

func (s *Server) unpend(r *registration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, r.incarnation)
}

// drawIncarnation, with mu held, draws the number of a broker's life. The first of a process is the process' own, so that
// whoever sees that broker die knows which controller does.
func (s *Server) drawIncarnation() uint64 {
	if !s.drawn {
		s.drawn = true
		return s.token
	}
	return newIncarnation()
}

// idOf is the id that a new broker asks for; NoBroker: the next that is free.
func (s *Server) idOf(h *host) int32 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.config.NodeID >= 0 && len(s.hosts) == 0 {
		return s.config.NodeID
	}
	for _, b := range s.Image().Brokers() {
		if s.hosts[b.ID] == nil && slices.Equal(b.Endpoints, []metadata.Endpoint{h.endpoint}) {
			return b.ID
		}
	}
	return metadata.NoBroker
}

// listen binds a broker's address. Clients that come before the broker is registered wait until it is: to be turned away is
// for some of them an error that they don't try again after.
func (s *Server) listen(name string, port int) (*host, error) {
	bare, err := config.ParseHost(name)
	if err != nil {
		return nil, err
	}
	h := &host{handler: &kafkaHandler{}, name: name, member: metadata.NoMember}
	h.listener, err = s.reactor.Listen(net.JoinHostPort(bare, strconv.Itoa(port)), reactor.ListenerOptions{
		Framing: reactor.Frames, Handler: h.handler, Held: true,
		FrameBytesMax:  int(s.config.SocketRequestMaxBytes),
		IdleTimeout:    time.Duration(s.config.ConnectionsMaxIdleMs) * time.Millisecond,
		ConnectionsMax: int(s.config.MaxConnections), ConnectionsPerIPMax: int(s.config.MaxConnectionsPerIP),
		SendBufferBytes: sendBufferBytes(s.config), ReceiveBufferBytes: receiveBufferBytes(s.config),
	})
	if err != nil {
		return nil, err
	}
	h.addr = h.listener.Addr().(*net.TCPAddr).AddrPort()
	h.endpoint = s.endpoint(name, h)
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
	if peer := s.config.Cluster.Host(); peer != "" && config.IsMetaAddress(e.Host) {
		e.Host = peer
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
			s.displace(registered.Broker.ID, registered.Broker.Incarnation)
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
	for _, b := range brokers {
		b.Follow(old, new, deltas)
	}
	s.limitConnections(deltas)
	for _, d := range deltas {
		if removed, ok := d.(metadata.BrokerRemoved); ok {
			s.displace(removed.ID, 0)
		}
	}
	if new.Controller().Token == 0 {
		s.stand()
	}
	s.forgetPeers(new)
	s.sessions.poke()
	s.news.tell()
}

// limitConnections brings limits that were changed while the server runs to the listeners.
func (s *Server) limitConnections(deltas []metadata.Delta) {
	for _, d := range deltas {
		if changed, ok := d.(metadata.ResourceConfigChanged); !ok || changed.Resource.Kind != metadata.BrokerConfigs {
			continue
		}
		for _, h := range s.living() {
			h.limit()
		}
		return
	}
}

// admit makes the broker of a registration, if it is one of this process.
func (s *Server) admit(registered *metadata.Broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.pending[registered.Incarnation]
	if h == nil || h.broker != nil || s.closed {
		return
	}
	h.member = registered.Member()
	h.broker = broker.New(h.member, broker.Deps{
		Cluster: s.central, Config: s.config, Slabs: s.slabs, Wheel: s.wheel, Handover: s.handover,
		Log: s.log.With(zap.Int32("broker", registered.ID)), Now: time.Now, Source: s.source, Peer: s.peer,
	})
	s.watchGroups(h.broker)
	h.handler.desk.Store(api.NewDesk(api.Deps{
		Broker: h.broker, Cluster: s.central, Config: s.config, Log: s.log, LogLevel: s.logLevel,
	}))
	h.limit()
	h.listener.Begin()
	s.hosts[registered.ID] = h
}

// source is how a broker of this process reads from a leader: without a socket, if that is one of this process, too.
func (s *Server) source(follower, leader metadata.Member) broker.Source {
	if b := s.Broker(leader.Broker); b != nil && b.Self == leader {
		return b.Source(follower)
	}
	return link.Open(link.Options{Self: follower, Log: s.log, Address: s.addressOfMember(leader)})
}

// peer is how brokers of this process speak with a broker about transactions: without a socket, if that is one of this
// process, too. The ways to others are kept until the broker's life is over.
func (s *Server) peer(m metadata.Member) broker.Peer {
	if b := s.Broker(m.Broker); b != nil && b.Self == m {
		return b
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.peers[m]; p != nil {
		return p
	}
	if b := s.central.Image().Broker(m.Broker); s.closed || !s.several() || b == nil || b.Member() != m {
		return nil
	}
	p := link.OpenPeer(link.PeerOptions{Log: s.log, Address: s.addressOfMember(m)})
	s.peers[m] = p
	return p
}

// forgetPeers closes the ways to brokers whose life is over.
func (s *Server) forgetPeers(img *metadata.Image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for m, p := range s.peers {
		if b := img.Broker(m.Broker); b == nil || b.Member() != m {
			delete(s.peers, m)
			p.Close()
		}
	}
}

// closePeers closes all the ways to other brokers. Nobody makes one after that.
func (s *Server) closePeers() {
	s.mu.Lock()
	peers := s.peers
	s.peers = nil
	s.mu.Unlock()
	for _, p := range peers {
		p.Close()
	}
	for _, p := range peers {
		p.Wait()
	}
}

// addressOfMember is where a broker of another process is found, while it lives this life.
func (s *Server) addressOfMember(m metadata.Member) func() (string, bool) {
	return func() (string, bool) {
		b := s.central.Image().Broker(m.Broker)
		if b == nil || b.Member() != m {
			return "", false
		}
		address, _ := s.addressOf(b)
		return address, address != ""
	}
}

// displace stops a broker of this process whose id isn't its own any more: it was removed from the cluster by somebody
// else, or given to a broker in another life. What it holds counts for nothing.
func (s *Server) displace(id int32, incarnation uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.killed, id)
	h := s.hosts[id]
	if h == nil || h.member.Incarnation == incarnation || s.leaving[h] {
		return
	}
	delete(s.hosts, id)
	if incarnation == 0 {
		s.log.Warn("a broker of this process was removed from the cluster", zap.Int32("broker", id))
	} else {
		s.log.Error("a broker of this process has lost its place: its id was given to another", zap.Int32("broker", id))
	}
	s.background.Go(h.close) // it waits for the broker's workers and connections, and this runs on the central server's executor
}

// RemoveBroker takes a broker out of the cluster for good and stops it. Its partitions go to the brokers that are left,
// with their records; if it was the last one, they are lost with it.
func (s *Server) RemoveBroker(id int32) error {
	_, err := await(func(done func(struct{}, error)) {
		s.StopBroker(id, func(err error) { done(struct{}{}, err) })
	})
	return err
}

// StopBroker is RemoveBroker with a completion, which must not block. In a cluster of several processes it may be a broker
// of any of them. It is drained first; if that fails (*StuckError) it stays. One that is fenced can't be drained: if it
// had the only copy of anything it stays too, and StopBrokerNow gives that up.
func (s *Server) StopBroker(id int32, done func(error)) {
	b := s.Image().Broker(id)
	if b == nil || !s.several() {
		s.StopBrokerNow(id, done)
		return
	}
	if b.Fenced {
		if lost := s.OnlyCopies(id); len(lost) > 0 {
			done(fmt.Errorf("broker %d isn't reached, and has the only copy of %d partitions (%s)", id, len(lost), refs(lost)))
			return
		}
		s.StopBrokerNow(id, done)
		return
	}
	s.DrainBroker(id, true, func(err error) {
		if err != nil {
			s.central.CancelDrain(b.Member(), func(error) { done(err) })
			return
		}
		s.StopBrokerNow(id, done)
	})
}

// StopBrokerNow is StopBroker without a drain: what OnlyCopies lists is lost, unless the process hosts another broker that
// takes it over in RAM. done must not block.
func (s *Server) StopBrokerNow(id int32, done func(error)) {
	s.mu.Lock()
	h, dead := s.hosts[id], s.killed[id]
	if h != nil {
		s.leaving[h] = true
	}
	s.mu.Unlock()
	switch {
	case h != nil:
		s.central.RemoveBroker(id, func(err error) { s.removed(h, err, done) })
	case dead != nil && !s.several():
		s.bury(dead.member, done)
	case s.several() && s.Image().Broker(id) != nil:
		s.central.RemoveBroker(id, done)
	default:
		done(ErrUnknownBroker)
	}
}

// removed ends a broker of this process that isn't in the cluster any more.
func (s *Server) removed(h *host, err error, done func(error)) {
	id := h.member.Broker
	s.mu.Lock()
	delete(s.leaving, h)
	there := s.hosts[id] == h
	if err == nil && there {
		delete(s.hosts, id)
	}
	s.mu.Unlock()
	if err != nil || !there { // or somebody else removed it at the same time
		done(err)
		return
	}
	// Closing waits for the broker's workers and connections, and this runs on the central server's executor.
	s.background.Go(func() {
		h.close()
		s.log.Info("broker removed", zap.Int32("broker", id))
		done(nil)
	})
}

// bury takes a broker out of the cluster that is dead: nothing of it can be handed over.
func (s *Server) bury(m metadata.Member, done func(error)) {
	s.central.FenceBrokers([]metadata.Member{m}, func(err error) {
		if err != nil && !errors.Is(err, metadata.ErrNotController) {
			done(err)
			return
		}
		s.central.UnregisterBroker(m.Broker, done)
	})
}

// KillBroker has a broker of this process die as a crash would: it drops its RAM and its sockets, and nobody is told. It
// returns when that is done. The cluster finds out by itself. RestartBroker brings it back, without its records.
func (s *Server) KillBroker(id int32) error {
	s.mu.Lock()
	h := s.hosts[id]
	if h == nil || s.leaving[h] {
		s.mu.Unlock()
		return ErrUnknownBroker
	}
	delete(s.hosts, id)
	s.killed[id] = h
	s.mu.Unlock()
	s.log.Warn("broker killed", zap.Int32("broker", id))
	h.close()
	return nil
}

// RestartBroker starts a broker again that was killed: the same id at the same address, in another life. done must not
// block.
func (s *Server) RestartBroker(id int32, done func(BrokerInfo, error)) {
	s.mu.RLock()
	h := s.killed[id]
	s.mu.RUnlock()
	if h == nil {
		done(BrokerInfo{}, ErrUnknownBroker)
		return
	}
	s.start(h.name, int(h.addr.Port()), id, done)
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
	hosts := s.living()
	all := make([]*broker.Broker, len(hosts))
	for i, h := range hosts {
		all[i] = h.broker
	}
	return all
}

// living are the hosts of this process, by id.
func (s *Server) living() []*host {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*host, 0, len(s.hosts))
	for _, h := range s.hosts {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *host) int { return int(a.member.Broker) - int(b.member.Broker) })
	return all
}

// Bootstrap is the addresses of the brokers as a client's bootstrap.servers takes them.
func (s *Server) Bootstrap() string {
	var addrs []string
	for _, h := range s.living() {
		addrs = append(addrs, h.addr.String())
	}
	return strings.Join(addrs, ",")
}
