//go:build !noembed

package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	rpcstatus "google.golang.org/grpc/status"
)

// How etcd is set for a load that is metadata only.
const (
	walSegmentBytes = 16 << 20 // preallocated, twice; etcd's default of 64 MB is for more
	revisionsKept   = 10_000   // for watches that lag; older ones are compacted every few minutes
)

func init() { wal.SegmentSizeBytes = walSegmentBytes } // etcd has no other way to set it

// Embedded is an etcd server in this process.
type Embedded struct {
	options EmbeddedOptions
	log     *zap.Logger
	scratch *scratch
	front   *front // nil in a cluster of one, which needs no port
	http    *http.Client
	tls     transport.TLSInfo
	dir     string // etcd's data

	ctx       context.Context // until Close
	cancel    context.CancelFunc
	watchdog  sync.WaitGroup
	admitting sync.Mutex
	running   atomic.Pointer[etcdserver.EtcdServer] // once it is ready

	mu     sync.Mutex
	status memberStatus // guarded by mu

	hushed     atomic.Bool        // etcd complains when it is closed
	endStreams context.CancelFunc // the clients' of the etcd that runs
	etcd       *embed.Etcd
	readyAfter time.Duration
	done       chan struct{}
	err        error // before done is closed
	closing    sync.Once
}

// StartEmbedded starts a member, and returns when it is ready to serve: the cluster
// has a leader, and this member is a part of it. That needs all members if the
// cluster is new, and a majority if it isn't; ctx bounds the wait.
func StartEmbedded(ctx context.Context, o EmbeddedOptions) (*Embedded, error) {
	began := time.Now()
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Embedded{options: o, log: o.Log, done: make(chan struct{}), status: memberStatus{Name: o.Name, Cluster: maps.Clone(o.Cluster)}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	if err := e.prepare(); err != nil {
		e.tearDown()
		return nil, fmt.Errorf("etcd: %w", err)
	}
	for {
		again, err := e.try(ctx)
		if err == nil {
			break
		}
		if !again || ctx.Err() != nil {
			e.tearDown()
			return nil, err
		}
		e.log.Warn("etcd didn't get ready, trying again as a new member", zap.Error(err))
		pause(ctx, formAgainDelay)
	}
	e.readyAfter = time.Since(began)
	e.log.Info("etcd is ready", zap.String("member", o.Name), zap.Stringer("id", e.etcd.Server.MemberID()),
		zap.Duration("after", e.readyAfter))
	e.watchdog.Go(e.watch)
	return e, nil
}

// prepare does what is done once.
func (e *Embedded) prepare() (err error) {
	o := e.options
	if e.scratch, err = newScratch(); err != nil {
		return err
	}
	e.dir = o.DataDir
	if e.dir == "" {
		e.dir = e.scratch.path("data")
	}
	dial := &http.Transport{DisableKeepAlives: true}
	if o.TLS != nil {
		e.tls = transport.TLSInfo{CertFile: o.TLS.CertFile, KeyFile: o.TLS.KeyFile, TrustedCAFile: o.TLS.CAFile, ClientCertAuth: true}
		if dial.TLSClientConfig, err = e.tls.ClientConfig(); err != nil {
			return err
		}
	}
	e.http = &http.Client{Transport: dial}
	if o.ClientListen != "" {
		l, err := net.Listen("tcp", o.ClientListen)
		if err != nil {
			return err // better now than after a cluster was joined
		}
		_ = l.Close()
	}
	if len(o.Cluster) == 1 {
		return nil
	}
	l, err := net.Listen("tcp", o.PeerListen)
	if err != nil {
		return err
	}
	if o.TLS != nil {
		config, err := e.tls.ServerConfig()
		if err != nil {
			_ = l.Close()
			return err
		}
		l = tls.NewListener(l, config)
	}
	e.front = startFront(l, e.scratch.path("peer"), e.answer)
	return nil
}

// try starts etcd once. again: it may be tried again, with a new identity.
func (e *Embedded) try(ctx context.Context) (again bool, err error) {
	restart, err := e.inspect()
	if err != nil {
		return false, err
	}
	from := origin{what: "restart from " + e.dir, restart: true}
	if restart {
		e.setStatus(func(s *memberStatus) { s.Nonce, s.Chosen, s.Member = "", nil, true })
	} else if from, err = e.form(ctx); err != nil {
		return false, err
	}
	if !restart {
		if err := e.setMilestone(false); err != nil {
			return false, err
		}
	}
	e.log.Debug("starting etcd", zap.String("as", from.what), zap.String("initial_cluster", from.initial))
	if err = e.run(ctx, from); errors.Is(err, errUnpublished) {
		e.log.Debug("starting etcd again: it doesn't say that it is ready")
		err = e.run(ctx, origin{what: from.what, id: from.id})
	}
	if err != nil {
		again = from.joins || errors.Is(err, errNotReady)
		return again, fmt.Errorf("etcd: %s: %w", from.what, err)
	}
	if err = e.setMilestone(true); err != nil {
		e.stop()
		return false, err
	}
	e.running.Store(e.etcd.Server)
	return false, nil
}

// run starts etcd and waits until it is ready.
func (e *Embedded) run(ctx context.Context, from origin) error {
	config, err := e.config(from)
	if err != nil {
		return err
	}
	if e.etcd, err = startEtcd(config); err != nil {
		e.etcd = nil
		return err
	}
	if err := e.await(ctx, from); err != nil {
		e.stop()
		return err
	}
	return nil
}

// stop stops etcd at once. An embedded etcd that isn't ready yet can't be closed
// before it has stopped; and it waits for its clients' streams, for 6 s, so
// those are ended first.
func (e *Embedded) stop() {
	e.endStreams()
	was := e.hushed.Swap(true)
	defer e.hushed.Store(was)
	e.etcd.Server.HardStop()
	e.etcd.Close()
	e.etcd = nil
}

// startEtcd makes an error of a panic: that is how etcd says that its files are
// broken.
func startEtcd(config *embed.Config) (etcd *embed.Etcd, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return embed.StartEtcd(config)
}

// errUnpublished: a member that joined has the cluster's data, and isn't ready.
// etcd calls itself ready when it has told the others its name. It tells the
// leader as soon as it knows of one, which may be before it knows the leader's
// address; that message is lost, and it takes etcd 6 s to see it. Starting again
// (with the data, so as the same member) takes a tenth of a second.
var errUnpublished = errors.New("joined, and not ready")

var errNotReady = fmt.Errorf("not ready after %v", formReadyLimit)

// await waits until etcd is ready.
func (e *Embedded) await(ctx context.Context, from origin) error {
	server := e.etcd.Server
	if from.id != 0 && server.MemberID() != from.id {
		return fmt.Errorf("it would be member %v, and was added as %v", server.MemberID(), from.id)
	}
	began := time.Now()
	var caughtUp time.Time
	poll := time.NewTicker(joinPollEvery)
	defer poll.Stop()
	for noticed := began; ; {
		select {
		case <-server.ReadyNotify():
			return nil
		case <-server.StopNotify():
			return e.post(server)
		case err := <-e.etcd.Err():
			return fmt.Errorf("%w (%w)", e.post(server), err)
		case <-ctx.Done():
			return fmt.Errorf("no majority of the cluster answers: %w", ctx.Err())
		case now := <-poll.C:
			switch {
			case from.joins && caughtUp.IsZero() && server.CommittedIndex() > 0:
				caughtUp = now
			case from.joins && !caughtUp.IsZero() && now.Sub(caughtUp) > joinGrace:
				return errUnpublished
			case !from.restart && now.Sub(began) > formReadyLimit:
				return errNotReady
			case now.Sub(noticed) > formNoticeEvery:
				noticed = now
				e.log.Info("etcd waits for a majority of the cluster")
			}
		}
	}
}

// post says why etcd stopped. It says so itself only in its log.
func (e *Embedded) post(server *etcdserver.EtcdServer) error {
	ctx, cancel := context.WithTimeout(context.Background(), formAskTimeout)
	defer cancel()
	if knows, without := e.whoKnows(ctx, server.MemberID()); knows == 0 && without > 0 {
		return fmt.Errorf("member %s was removed from the cluster. %s: %s", e.options.Name, adviceRemoved, e.dir)
	}
	return errors.New("it stopped by itself")
}

// watch sees etcd stop by itself.
func (e *Embedded) watch() {
	select {
	case <-e.ctx.Done():
	case <-e.etcd.Server.StopNotify():
		if e.ctx.Err() == nil {
			e.err = fmt.Errorf("etcd: %w", e.post(e.etcd.Server))
			e.log.Error("etcd has stopped", zap.Error(e.err))
			close(e.done)
		}
	}
}

// Done is closed when etcd stops by itself, and Err then says why. Close doesn't
// close it.
func (e *Embedded) Done() <-chan struct{} { return e.done }

// Err is nil before Done is closed.
func (e *Embedded) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// Endpoints are for Options.Endpoints, of a Store in this process.
func (e *Embedded) Endpoints() []string {
	addr := e.etcd.Clients[0].Addr()
	switch {
	case addr.Network() == "unix":
		return []string{"unix://" + addr.String()}
	case e.options.TLS != nil:
		return []string{"https://" + addr.String()}
	}
	return []string{"http://" + addr.String()}
}

// ReadyAfter is how long StartEmbedded took.
func (e *Embedded) ReadyAfter() time.Duration { return e.readyAfter }

// Leading says whether this member leads etcd.
func (e *Embedded) Leading() bool {
	s := e.etcd.Server
	return s.Leader() == s.MemberID()
}

// Close hands the lead over to another member if this one has it, stops etcd, and
// removes what is temporary. Stores are to be closed before.
func (e *Embedded) Close() {
	e.closing.Do(func() {
		e.handOver()
		e.tearDown()
	})
}

// handOver spares the others an election. etcd would do it too, but waits 6 s for a
// member that stops at the same time.
func (e *Embedded) handOver() {
	e.setStatus(func(s *memberStatus) { s.Leaving = true })
	if !e.Leading() || len(e.options.Cluster) == 1 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handOverLimit)
	defer cancel()
	others, _ := e.askAll(ctx)
	server := e.etcd.Server
	for _, m := range server.Cluster().Members() {
		for name, other := range others {
			if !other.Member || other.Leaving || !slices.Contains(m.PeerURLs, e.peerURL(name)) {
				continue
			}
			if err := server.MoveLeader(ctx, server.Lead(), uint64(m.ID)); err == nil {
				return
			}
		}
	}
}

func (e *Embedded) tearDown() {
	e.cancel()
	e.hushed.Store(true)
	e.watchdog.Wait()
	e.running.Store(nil)
	if e.etcd != nil {
		e.stop()
	}
	if e.front != nil {
		e.front.close()
	}
	if e.http != nil {
		e.http.CloseIdleConnections()
	}
	if e.scratch != nil {
		e.scratch.remove()
	}
}

func (e *Embedded) getStatus() memberStatus {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

// setStatus has f change a copy: the maps in a status are never written to.
func (e *Embedded) setStatus(f func(*memberStatus)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.status)
}

func (e *Embedded) scheme() string {
	if e.options.TLS != nil {
		return "https"
	}
	return "http"
}

func (e *Embedded) peerURL(name string) string { return e.scheme() + "://" + e.options.Cluster[name] }

func (e *Embedded) config(from origin) (*embed.Config, error) {
	o := e.options
	c := embed.NewConfig()
	c.Name, c.Dir = o.Name, e.dir
	c.ListenPeerUrls = []url.URL{{Scheme: "unix", Host: e.scratch.path("peer")}}
	c.AdvertisePeerUrls = []url.URL{{Scheme: e.scheme(), Host: o.Cluster[o.Name]}}
	c.PeerTLSInfo = e.tls
	client := url.URL{Scheme: "unix", Path: e.scratch.path("client")}
	if o.ClientListen != "" {
		addr, err := net.ResolveTCPAddr("tcp", o.ClientListen) // etcd binds to numbers only
		if err != nil {
			return nil, fmt.Errorf("etcd: the clients' address: %w", err)
		}
		host := ""
		if addr.IP == nil {
			host = net.IPv4zero.String()
		} else {
			host = addr.IP.String()
		}
		client = url.URL{Scheme: e.scheme(), Host: net.JoinHostPort(host, strconv.Itoa(addr.Port))}
		c.ClientTLSInfo = e.tls
	}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.InitialCluster, c.InitialClusterToken = from.initial, from.token
	if from.joins {
		c.ClusterState = embed.ClusterStateFlagExisting
	}
	c.TickMs = uint(o.HeartbeatInterval.Milliseconds())
	c.ElectionMs = uint(o.ElectionTimeout.Milliseconds())
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModeRevision, strconv.Itoa(revisionsKept)
	c.EnableGRPCGateway = false
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(quiet(o.Log, "etcd", &e.hushed))

	streams, end := context.WithCancel(context.Background())
	e.endStreams = end
	c.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainStreamInterceptor(endWith(streams))}

	// The check would have a member that comes back wait until the others have been
	// connected for 5 s. It guards against changes that cost the quorum; ours are a
	// removal of a dead member and its replacement, each of which is committed by
	// the quorum that it leaves.
	c.StrictReconfigCheck = false

	// A temporary member never starts from its data again, so the data needn't
	// outlive the machine.
	c.UnsafeNoFsync = o.DataDir == ""
	return c, nil
}

// endWith ends every stream of a client's when life is over; the client then takes
// another member.
func endWith(life context.Context) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx, cancel := context.WithCancel(stream.Context())
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		err := handler(srv, boundStream{stream, ctx})
		if life.Err() != nil {
			return rpcstatus.Error(codes.Unavailable, "this member of etcd is stopping")
		}
		return err
	}
}

type boundStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s boundStream) Context() context.Context { return s.ctx }
