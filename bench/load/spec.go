package load

import (
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"millrace/bench/proc"
	"millrace/bench/wire"
)

// Spec says what a load does. Each load says which fields it looks at.
type Spec struct {
	Bootstrap  string // host:port of any broker, or of the server where there is one
	Topic      *wire.Topic
	Partitions int

	Connections int
	Depth       int // requests in flight on a connection
	RecordBytes int // of a record as encoded; Redis and NATS: of a message
	BatchBytes  int // of the records of a request
	Acks        int16
	Codec       string
	Idempotent  bool
	FetchBytes  int     // most bytes of a response
	Rate        float64 // requests a second over all connections; 0: as fast as the answers come
	Groups      int     // readers of everything
	Active      int     // connections that work while the others idle
	// RetainBytes is how much the server shall keep. Kafka brokers are told by the topic's settings.
	RetainBytes int64

	FillBytes int64 // sent before anything is measured
	Warm, Run time.Duration
	BytesMax  int64 // ends the measured window early; 0: no limit

	// Usage reads the server's accounts.
	Usage func() proc.Usage
}

// records is how many records a request carries.
func (s *Spec) records() int { return max(s.BatchBytes/max(s.RecordBytes, 1), 1) }

// recordBytes is the size of a record: that of the batch if it is smaller.
func (s *Spec) recordBytes() int { return min(s.RecordBytes, max(s.BatchBytes, 16)) }

// Result is what was measured in the window.
type Result struct {
	Span     time.Duration
	Requests int64 // answered; each fetch answer that had records is one
	Records  int64
	Bytes    int64 // on the wire: of requests for a produce, of responses for a fetch
	// ReadRequests, ReadRecords and ReadBytes are what was fetched while something else was the main thing.
	ReadRequests, ReadRecords, ReadBytes int64

	Server    proc.Usage // used in the window; RSSBytes is the growth
	RSSBytes  int64      // of the server, at the window's end
	ClientCPU time.Duration

	Latency    *hdrhistogram.Histogram // nanoseconds; nil if none was taken
	OpenLoop   bool                    // latency runs from the intended time
	Unanswered int64
	Extra      map[string]float64 // figures that only this load has, by name
}

// errNothing is a window in which nothing came back.
var errNothing = errors.New("nothing was answered in the measured time")

// extra sets a figure of its own.
func (r *Result) extra(name string, v float64) {
	if r.Extra == nil {
		r.Extra = map[string]float64{}
	}
	r.Extra[name] = v
}

// latencyMax is the largest latency that is told apart: longer ones count as this.
const latencyMax = int64(5 * time.Minute)

// meter counts a window. It belongs to the load's goroutine.
type meter struct {
	spec    *Spec
	result  Result
	own     func() time.Duration // the client's CPU clock
	open    bool
	start   time.Time
	server  proc.Usage
	cpu     time.Duration
	latency *hdrhistogram.Histogram
}

func newMeter(s *Spec, own func() time.Duration) *meter {
	return &meter{spec: s, own: own, latency: hdrhistogram.New(1000, latencyMax, 3)}
}

// begin opens the window.
func (m *meter) begin(now time.Time) {
	m.result = Result{OpenLoop: m.spec.Rate > 0}
	m.latency.Reset()
	m.open, m.start = true, now
	if m.spec.Usage != nil {
		m.server = m.spec.Usage()
	}
	m.cpu = m.own()
}

// end closes the window. What still comes in isn't counted, but its latency is, if it was due in the window.
func (m *meter) end() *Result {
	r := &m.result
	r.ClientCPU = m.own() - m.cpu
	if m.spec.Usage != nil {
		now := m.spec.Usage()
		r.Server, r.RSSBytes = now.Since(m.server), now.RSSBytes
	}
	r.Span = time.Since(m.start)
	r.Latency = m.latency
	m.open = false
	return r
}

// answered counts a request.
func (m *meter) answered(records, bytes int) {
	if m.open {
		m.result.Requests++
		m.result.Records += int64(records)
		m.result.Bytes += int64(bytes)
	}
}

// messages counts what came in pieces; the request is counted when it is complete.
func (m *meter) messages(n, bytes int) {
	if m.open {
		m.result.Records += int64(n)
		m.result.Bytes += int64(bytes)
	}
}

// read counts a fetch beside the main thing.
func (m *meter) read(records, bytes int) {
	if m.open {
		m.result.ReadRequests++
		m.result.ReadRecords += int64(records)
		m.result.ReadBytes += int64(bytes)
	}
}

// took records a latency: in an open loop if it was due in the window, else if it ended in the window.
func (m *meter) took(from, now time.Time) {
	due := m.open
	if m.spec.Rate > 0 {
		due = !m.start.IsZero() && !from.Before(m.start)
	}
	if due {
		_ = m.latency.RecordValue(min(max(int64(now.Sub(from)), 1), latencyMax)) // can't fail within the bounds
	}
}

// lost records what was never answered, with the time it has waited so far.
func (m *meter) lost(from, now time.Time) {
	if !m.start.IsZero() && !from.Before(m.start) {
		m.result.Unanswered++
		m.took(from, now)
	}
}

// full says that the window has its bytes.
func (m *meter) full() bool {
	return m.open && m.spec.BytesMax > 0 && m.result.Bytes >= m.spec.BytesMax
}
