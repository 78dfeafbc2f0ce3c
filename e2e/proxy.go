package e2e

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Proxy stands between clients and brokers: it looks at each answer that goes by and notes what should not be. Clients are kept on it by
// putting its own addresses in the place of the brokers'. What it checks, whatever the client:
//
//   - answers come in the order of the requests
//   - an API answers only with errors that its clients know (codes.go)
//   - a Fetch answer's records are never null; whole batches follow each other without going back, below the high watermark
//   - addresses are ones that can be connected to
type Proxy struct {
	mu        sync.Mutex
	listeners map[string]net.Listener // by the broker's host:port
	conns     map[net.Conn]bool
	problems  []string
	closed    bool
	wait      sync.WaitGroup

	requests [128]atomic.Int64 // by API key
}

// StartProxy starts a proxy for s and returns it with the address list for clients. Problems fail the test at its end.
func StartProxy(t testing.TB, s *Server) (*Proxy, string) {
	t.Helper()
	p := &Proxy{listeners: map[string]net.Listener{}, conns: map[net.Conn]bool{}}
	var list []string
	for _, broker := range s.Bootstrap {
		address, err := p.front(broker)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, address)
	}
	t.Cleanup(func() {
		p.close()
		for _, problem := range p.problems {
			t.Error(problem)
		}
	})
	return p, strings.Join(list, ",")
}

// Requests is how many requests of an API went by.
func (p *Proxy) Requests(key kmsg.Key) int64 { return p.requests[key].Load() }

// front returns the proxy's address for a broker, which it begins to listen on when first asked.
func (p *Proxy) front(broker string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l, ok := p.listeners[broker]; ok {
		return l.Addr().String(), nil
	}
	if p.closed {
		return "", net.ErrClosed
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	p.listeners[broker] = l
	p.wait.Go(func() { p.accept(l, broker) })
	return l.Addr().String(), nil
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.listeners {
		l.Close()
	}
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wait.Wait()
}

func (p *Proxy) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.problems) < 20 {
		p.problems = append(p.problems, fmt.Sprintf(format, args...))
	}
}

// keep remembers a connection to close; false if the proxy is closed.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) accept(l net.Listener, broker string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", broker)
		if err != nil {
			client.Close()
			continue
		}
		if !p.keep(client) || !p.keep(server) {
			client.Close()
			return
		}
		s := &stream{p: p, broker: broker, client: client, server: server, pending: make(chan asked, 4096)}
		p.wait.Go(s.up)
		p.wait.Go(s.down)
	}
}

// stream is one client connection with its connection to the broker.
type stream struct {
	p              *Proxy
	broker         string
	client, server net.Conn
	pending        chan asked // in the order of the requests
}

// asked is a request whose answer is still to come.
type asked struct {
	correlation int32
	request     kmsg.Request // nil: an API or version that we don't know
	name        string
}

func (s *stream) up() {
	defer close(s.pending)
	defer s.server.Close()
	for {
		frame, err := readFrame(s.client)
		if err != nil {
			return
		}
		if a, expected := s.ask(frame); expected {
			s.pending <- a
		}
		if err := writeFrame(s.server, frame); err != nil {
			return
		}
	}
}

// ask reads a request. expected says that it will be answered.
func (s *stream) ask(frame []byte) (a asked, expected bool) {
	if len(frame) < 10 {
		return a, true
	}
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	a.correlation = int32(binary.BigEndian.Uint32(frame[4:]))
	a.name = fmt.Sprintf("%s v%d to %s", kmsg.NameForKey(key), version, s.broker)
	if key >= 0 && int(key) < len(s.p.requests) {
		s.p.requests[key].Add(1)
	}
	r := kmsg.RequestForKey(key)
	if r == nil || version < 0 || version > r.MaxVersion() {
		return a, true
	}
	r.SetVersion(version)
	body := frame[10:]
	if n := int16(binary.BigEndian.Uint16(frame[8:])); n > 0 {
		body = body[n:]
	}
	if r.IsFlexible() {
		body = body[1:] // no client sends tags
	}
	if err := r.ReadFrom(body); err != nil {
		s.p.problem("%s: request: %v", a.name, err)
		return a, true
	}
	a.request = r
	produce, ok := r.(*kmsg.ProduceRequest)
	return a, !ok || produce.Acks != 0
}

func (s *stream) down() {
	defer s.client.Close()
	for {
		frame, err := readFrame(s.server)
		if err != nil {
			return
		}
		a, open := <-s.pending
		if !open {
			return
		}
		if err := writeFrame(s.client, s.answer(a, frame)); err != nil {
			return
		}
	}
}

func writeFrame(w io.Writer, frame []byte) error {
	size := binary.BigEndian.AppendUint32(nil, uint32(len(frame)))
	_, err := (&net.Buffers{size, frame}).WriteTo(w)
	return err
}

// answer checks an answer and puts our addresses into it.
func (s *stream) answer(a asked, frame []byte) []byte {
	if len(frame) < 4 || int32(binary.BigEndian.Uint32(frame)) != a.correlation {
		s.p.problem("%s: answer out of order: % x to request %d", a.name, frame[:min(8, len(frame))], a.correlation)
		return frame
	}
	if a.request == nil {
		return frame
	}
	if v, ok := a.request.(*kmsg.ApiVersionsRequest); ok && len(frame) >= 6 && binary.BigEndian.Uint16(frame[4:]) == 35 {
		v.SetVersion(0) // the fallback layout
	}
	_, response, err := parse(a.request, frame)
	if err != nil {
		s.p.problem("%s: answer: %v", a.name, err)
		return frame
	}
	if text := unbearable(response); text != "" {
		s.p.problem("%s: %s", s.broker, text)
	}
	if fetched, ok := response.(*kmsg.FetchResponse); ok {
		s.checkFetch(a.name, fetched)
	}
	if !s.redirect(a.name, response) {
		return frame
	}
	head := len(frame[:4])
	if a.request.IsFlexible() && a.request.Key() != int16(kmsg.ApiVersions) {
		head++
	}
	return response.AppendTo(append([]byte{}, frame[:head]...))
}

func (s *stream) checkFetch(name string, r *kmsg.FetchResponse) {
	for _, t := range r.Topics {
		for _, part := range t.Partitions {
			at := fmt.Sprintf("%s: %s%x/%d", name, t.Topic, t.TopicID[:2], part.Partition)
			if part.RecordBatches == nil {
				s.p.problem("%s: records are null", at)
			}
			if part.ErrorCode == 0 {
				s.checkRecords(at, &part)
			} else if len(part.RecordBatches) > 0 {
				s.p.problem("%s: %d bytes beside error %d", at, len(part.RecordBatches), part.ErrorCode)
			}
		}
	}
}

// checkRecords looks at the headers of batches only. Apache Kafka may cut the last batch short.
func (s *stream) checkRecords(at string, part *kmsg.FetchResponseTopicPartition) {
	if part.LastStableOffset > part.HighWatermark {
		s.p.problem("%s: last stable offset %d is above the high watermark %d", at, part.LastStableOffset, part.HighWatermark)
	}
	records, next := part.RecordBatches, int64(-1)
	for len(records) >= 61 {
		base := int64(binary.BigEndian.Uint64(records))
		size := 12 + int(binary.BigEndian.Uint32(records[8:]))
		last := base + int64(binary.BigEndian.Uint32(records[23:]))
		if magic := records[16]; magic != 2 {
			s.p.problem("%s: magic %d", at, magic)
			return
		}
		if base < next {
			s.p.problem("%s: offset %d after %d", at, base, next-1)
		}
		if last >= part.HighWatermark {
			s.p.problem("%s: offset %d with high watermark %d", at, last, part.HighWatermark)
		}
		if size > len(records) {
			return
		}
		next, records = last+1, records[size:]
	}
}

// redirect puts our addresses in the place of the brokers'. It says whether there were any.
func (s *stream) redirect(name string, response kmsg.Response) (changed bool) {
	swap := func(host *string, port *int32) {
		if *host == "" && *port <= 0 {
			return // "no such broker"
		}
		if ip, err := netip.ParseAddr(*host); strings.ContainsAny(*host, "[]") || *host == "" || err == nil && ip.IsUnspecified() {
			s.p.problem("%s: nobody can connect to host %q", name, *host)
		}
		front, err := s.p.front(net.JoinHostPort(*host, strconv.Itoa(int(*port))))
		if err != nil {
			return
		}
		h, p, _ := net.SplitHostPort(front)
		n, _ := strconv.Atoi(p)
		*host, *port, changed = h, int32(n), true
	}
	switch r := response.(type) {
	case *kmsg.MetadataResponse:
		for i := range r.Brokers {
			swap(&r.Brokers[i].Host, &r.Brokers[i].Port)
		}
	case *kmsg.FindCoordinatorResponse:
		swap(&r.Host, &r.Port)
		for i := range r.Coordinators {
			swap(&r.Coordinators[i].Host, &r.Coordinators[i].Port)
		}
	case *kmsg.DescribeClusterResponse:
		for i := range r.Brokers {
			swap(&r.Brokers[i].Host, &r.Brokers[i].Port)
		}
	case *kmsg.ProduceResponse:
		for i := range r.Brokers {
			swap(&r.Brokers[i].Host, &r.Brokers[i].Port)
		}
	case *kmsg.FetchResponse:
		for i := range r.Brokers {
			swap(&r.Brokers[i].Host, &r.Brokers[i].Port)
		}
	}
	return changed
}
