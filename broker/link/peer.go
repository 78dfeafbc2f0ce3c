package link

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"millrace/broker"
	"millrace/broker/txn"
	"millrace/protocol"
)

// PeerOptions are what a peer is opened with.
type PeerOptions struct {
	// Address is where the broker is found, host:port. It is asked before each dial; false: it isn't known.
	Address func() (string, bool)
	Dial    Dial        // nil: plain TCP
	Log     *zap.Logger // nil: none
}

// Peer is a broker.Peer over sockets: WriteTxnMarkers on one connection, AddPartitionsToTxn on another, so that who waits for
// replicas doesn't hold up the others. What is asked while a request is under way goes together into the next.
type Peer struct {
	markers   *caller[*markersAsk]
	additions *caller[*additionAsk]
}

var _ broker.Peer = (*Peer)(nil)

type markersAsk struct {
	request *broker.MarkerRequest
	done    func(errs []error)
}

type additionAsk struct {
	event *txn.Add
	done  func(errs []error, err error)
}

// OpenPeer makes the way to a broker. It dials when something is asked.
func OpenPeer(o PeerOptions) *Peer {
	if o.Dial == nil {
		o.Dial = dialTCP
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	p := &Peer{}
	p.markers = openCaller(o, p.writeMarkers, func(a *markersAsk, err error) { a.done(fails(len(a.request.Partitions), err)) })
	p.additions = openCaller(o, p.addPartitions, func(a *additionAsk, err error) { a.done(nil, txn.ErrCoordinatorNotAvailable) })
	return p
}

// Close completes what is under way with an error, on the peer's goroutines, and does not wait for them to end: see Wait.
func (p *Peer) Close() {
	p.markers.stop()
	p.additions.stop()
}

// Wait waits for the end of a peer that was closed.
func (p *Peer) Wait() {
	<-p.markers.over
	<-p.additions.over
}

// WriteMarkers is broker.Peer's.
func (p *Peer) WriteMarkers(m *broker.MarkerRequest, done func(errs []error)) {
	p.markers.ask(&markersAsk{m, done})
}

// AddPartitions is broker.Peer's.
func (p *Peer) AddPartitions(e *txn.Add, done func(errs []error, err error)) {
	p.additions.ask(&additionAsk{e, done})
}

func fails(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// writeMarkers asks for several markers at once.
func (p *Peer) writeMarkers(asks []*markersAsk, exchange exchange) error {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = 2
	for _, a := range asks {
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.Committed = a.request.ProducerID, a.request.ProducerEpoch, a.request.Commit
		m.CoordinatorEpoch, m.TransactionVersion = a.request.CoordinatorEpoch, a.request.Version
		for _, of := range byTopic(a.request.Partitions) {
			t := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
			t.Topic, t.Partitions = of.topic, of.partitions
			m.Topics = append(m.Topics, t)
		}
		req.Markers = append(req.Markers, m)
	}
	resp, err := exchange(req, markersTimeout)
	if err != nil {
		return err
	}
	markers := resp.(*kmsg.WriteTxnMarkersResponse).Markers
	if len(markers) != len(asks) {
		return errUnasked
	}
	for i, a := range asks {
		var codes []int16
		for _, t := range markers[i].Topics {
			for _, part := range t.Partitions {
				codes = append(codes, part.ErrorCode)
			}
		}
		if len(codes) != len(a.request.Partitions) {
			a.done(fails(len(a.request.Partitions), errUnasked))
			continue
		}
		errs := make([]error, len(codes))
		for j, code := range codes {
			errs[j] = markerError(protocol.Code(code))
		}
		a.done(errs)
	}
	return nil
}

func markerError(code protocol.Code) error {
	switch code {
	case protocol.TransactionCoordinatorFenced:
		return broker.ErrCoordinatorFenced
	case protocol.InvalidProducerEpoch:
		return broker.ErrInvalidProducerEpoch
	}
	return errorOf(code)
}

// addPartitions asks about several transactions at once.
func (p *Peer) addPartitions(asks []*additionAsk, exchange exchange) error {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version = 5
	for _, a := range asks {
		t := kmsg.NewAddPartitionsToTxnRequestTransaction()
		t.TransactionalID, t.ProducerID, t.ProducerEpoch = a.event.TransactionalID, a.event.ProducerID, a.event.ProducerEpoch
		t.VerifyOnly = a.event.VerifyOnly
		for _, of := range byTopic(a.event.Partitions) {
			rt := kmsg.NewAddPartitionsToTxnRequestTransactionTopic()
			rt.Topic, rt.Partitions = of.topic, of.partitions
			t.Topics = append(t.Topics, rt)
		}
		req.Transactions = append(req.Transactions, t)
	}
	resp, err := exchange(req, requestTimeout)
	if err != nil {
		return err
	}
	r := resp.(*kmsg.AddPartitionsToTxnResponse)
	if r.ErrorCode != 0 || len(r.Transactions) != len(asks) {
		return errUnasked
	}
	for i, a := range asks {
		var errs []error
		for _, t := range r.Transactions[i].Topics {
			for _, part := range t.Partitions {
				errs = append(errs, additionError(protocol.Code(part.ErrorCode)))
			}
		}
		switch {
		case len(errs) != len(a.event.Partitions):
			a.done(nil, txn.ErrCoordinatorNotAvailable)
		case errs[0] == txn.ErrConcurrentTransactions: // which is said of the whole
			a.done(nil, errs[0])
		default:
			a.done(errs, nil)
		}
	}
	return nil
}

// additionError is what a coordinator meant. What isn't known is worth another try.
func additionError(code protocol.Code) error {
	switch code {
	case protocol.None:
		return nil
	case protocol.ConcurrentTransactions:
		return txn.ErrConcurrentTransactions
	case protocol.InvalidProducerIDMapping:
		return txn.ErrInvalidProducerIDMapping
	case protocol.ProducerFenced, protocol.InvalidProducerEpoch:
		return txn.ErrProducerFenced
	case protocol.TransactionAbortable:
		return txn.ErrTransactionAbortable
	case protocol.InvalidTxnState:
		return txn.ErrInvalidTxnState
	case protocol.InvalidRequest:
		return txn.ErrInvalidRequest
	}
	return txn.ErrCoordinatorNotAvailable
}

// topicPartitions is a run of partitions of one topic.
type topicPartitions struct {
	topic      string
	partitions []int32
}

// byTopic groups partitions that follow one another. The answer has them in the same order.
func byTopic(all []txn.Partition) (topics []topicPartitions) {
	for _, p := range all {
		if n := len(topics); n == 0 || topics[n-1].topic != p.Topic {
			topics = append(topics, topicPartitions{topic: p.Topic})
		}
		last := &topics[len(topics)-1]
		last.partitions = append(last.partitions, p.Index)
	}
	return topics
}

// exchange sends a request and waits for its answer.
type exchange func(req kmsg.Request, patience time.Duration) (kmsg.Response, error)

// caller is one connection, over which one request at a time is sent, by a goroutine of its own.
type caller[A any] struct {
	o    PeerOptions
	call func(asks []A, exchange exchange) error // completes the asks, unless it returns an error
	fail func(a A, err error)
	ctx  context.Context
	stop context.CancelFunc
	work chan struct{}
	over chan struct{}

	mu    sync.Mutex
	ended bool // guarded by mu
	asks  []A  // guarded by mu

	conn net.Conn // the goroutine's; nil: none
	id   int32
}

// asksMax bounds what may wait for a connection; more fails at once. As many go into one request.
const asksMax = 4096

func openCaller[A any](o PeerOptions, call func([]A, exchange) error, fail func(A, error)) *caller[A] {
	c := &caller[A]{o: o, call: call, fail: fail, work: make(chan struct{}, 1), over: make(chan struct{})}
	c.ctx, c.stop = context.WithCancel(context.Background())
	go c.run()
	return c
}

func (c *caller[A]) ask(a A) {
	c.mu.Lock()
	full := c.ended || len(c.asks) == asksMax
	if !full {
		c.asks = append(c.asks, a)
	}
	c.mu.Unlock()
	if full {
		c.fail(a, ErrClosed)
		return
	}
	select {
	case c.work <- struct{}{}:
	default:
	}
}

func (c *caller[A]) run() {
	defer close(c.over)
	unwatch := context.AfterFunc(c.ctx, func() {
		select {
		case c.work <- struct{}{}:
		default:
		}
	})
	defer unwatch()
	for range c.work {
		c.mu.Lock()
		asks := c.asks
		c.asks, c.ended = nil, c.ctx.Err() != nil
		ended := c.ended
		c.mu.Unlock()
		if ended {
			c.failAll(asks, ErrClosed)
			c.hangUp()
			return
		}
		if len(asks) == 0 {
			continue
		}
		reused := c.conn != nil
		err := c.call(asks, c.exchange)
		if err != nil && reused { // the connection may have been closed for being idle
			err = c.call(asks, c.exchange)
		}
		if err != nil {
			c.o.Log.Debug("a broker can't be asked", zap.Error(err))
			c.hangUp()
			c.failAll(asks, err)
		}
	}
}

func (c *caller[A]) failAll(asks []A, err error) {
	for _, a := range asks {
		c.fail(a, err)
	}
}

func (c *caller[A]) hangUp() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

func (c *caller[A]) exchange(req kmsg.Request, patience time.Duration) (resp kmsg.Response, err error) {
	if c.conn == nil {
		if err := c.connect(); err != nil {
			return nil, err
		}
	}
	conn := c.conn
	unwatch := context.AfterFunc(c.ctx, func() { conn.Close() })
	defer unwatch()
	conn.SetDeadline(time.Now().Add(patience))
	c.id++
	if _, err = conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, req, c.id)); err == nil {
		resp, err = c.answer(req)
	}
	if err != nil {
		c.hangUp()
	}
	return resp, err
}

func (c *caller[A]) connect() error {
	address, ok := c.o.Address()
	if !ok {
		return errNoAddress
	}
	ctx, cancel := context.WithTimeout(c.ctx, dialTimeout)
	defer cancel()
	conn, err := c.o.Dial(ctx, address)
	if err != nil {
		return err
	}
	c.conn = conn
	return nil
}

// answer reads the answer to a request whose response is flexible. Memory is made as its bytes arrive.
func (c *caller[A]) answer(req kmsg.Request) (kmsg.Response, error) {
	var head [9]byte // size, correlation id, no tagged fields
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[:])) - 5
	switch {
	case int32(binary.BigEndian.Uint32(head[4:])) != c.id || head[8] != 0 || size < 0:
		return nil, errUnasked
	case size > answerBytesMore:
		return nil, errAnswerLarge
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, c.conn, size); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	return resp, resp.ReadFrom(body.Bytes())
}
