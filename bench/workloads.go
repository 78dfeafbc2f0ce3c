package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"millrace/bench/floor"
	"millrace/bench/load"
	"millrace/bench/peer"
	"millrace/bench/report"
	"millrace/bench/wire"
)

// Workload is something that can be run against a target.
type Workload struct {
	Name, About string
	// Main is the figure that it is about.
	Main string
	// Uses are the parameters that it looks at.
	Uses []string
	// Fresh asks for a new process for every round.
	Fresh bool
	// Targets are those that it makes sense for.
	Targets []string
	// Clients are the kinds that it can be run with.
	Clients []string
	adjust  func(*Params)
	run     func(ctx context.Context, s *session) (outcome, error)
}

var (
	kafkaSpeakers = []string{"floor", "millrace", "external", "kfake", "kafka"}
	everybody     = append(slices.Clone(kafkaSpeakers), "nats", "redis")
	brokers       = kafkaSpeakers[1:]
)

// Workloads is the table of what there is.
func Workloads() []*Workload {
	return []*Workload{
		{Name: "produce", Main: "server_cpu_s_per_gb", run: runProduce, Targets: everybody, Clients: []string{Raw, Franz, Java},
			About: "batches in, acknowledgements out, at the retention limit",
			Uses: []string{"record", "batch", "partitions", "connections", "depth", "acks", "codec", "idempotent", "rate",
				"retain", "first-touch", "run"}},
		{Name: "fetch", Main: "server_cpu_s_per_gb", run: runFetch, Targets: everybody, Clients: []string{Raw, Franz, Java},
			About: "a filled log out, again and again", adjust: func(p *Params) { p.Depth = 4 },
			Uses: []string{"record", "batch", "partitions", "connections", "depth", "fetch", "backlog", "run"}},
		{Name: "e2e", Main: "latency_p50_us", run: runEndToEnd, Targets: everybody, Clients: []string{Raw, Franz},
			About:  "from when a record should have been sent to its arrival at a consumer; the floor answers with an echo",
			adjust: func(p *Params) { p.Rate, p.RecordBytes, p.BatchBytes, p.Depth = 1000, 1<<10, 1<<10, 256 },
			Uses:   []string{"record", "batch", "partitions", "connections", "depth", "acks", "rate", "run"}},
		{Name: "replay", Main: "server_cpu_s_per_gb", run: runReplay, Targets: brokers, Clients: []string{Raw}, Fresh: true,
			About:  "a backlog in, then all of it out once; memory for each byte that is kept",
			adjust: func(p *Params) { p.Backlog, p.Run, p.FetchBytes = 2<<30, 2*time.Minute, 1<<20 },
			Uses:   []string{"record", "batch", "partitions", "connections", "fetch", "backlog"}},
		{Name: "fanout", Main: "server_cpu_s_per_delivered_gb", run: runFanout, Targets: brokers, Clients: []string{Raw, Franz},
			About:  "one topic, read whole by several groups while it is written",
			adjust: func(p *Params) { p.FetchBytes, p.Depth, p.Rate, p.BatchBytes = 1<<20, 16, 2000, 16<<10 },
			Uses:   []string{"record", "batch", "partitions", "connections", "depth", "acks", "rate", "groups", "run"}},
		{Name: "connections", Main: "rss_bytes_per_connection", run: runConnections, Targets: everybody, Clients: []string{Raw},
			Fresh: true, About: "open many, hold them, let some produce, then open and close others",
			adjust: func(p *Params) {
				p.Connections, p.Active, p.Depth, p.BatchBytes, p.Run = 10000, 1000, 1, 1<<10, 2*time.Second
			},
			Uses: []string{"record", "batch", "partitions", "connections", "depth", "active", "run"}},
		{Name: "partitions", Main: "server_cpu_us_per_record", run: runPartitions, Targets: brokers, Clients: []string{Raw},
			About: "produce to very many partitions in turn, with one consumer of them all",
			adjust: func(p *Params) {
				p.Partitions, p.RecordBytes, p.BatchBytes, p.Rate, p.Depth = 10000, 1<<10, 1<<10, 5000, 64
			},
			Uses: []string{"record", "batch", "partitions", "topics", "connections", "depth", "rate", "run"}},
		{Name: "first", Main: "first_ack_ms", run: runFirst, Targets: kafkaSpeakers, Clients: []string{Raw}, Fresh: true,
			About: "from the start of the process to the first acknowledged produce", Uses: []string{"record", "acks"}},
		{Name: "idle", Main: "rss_bytes", run: runIdle, Targets: everybody, Clients: []string{Raw}, Fresh: true,
			About: "a server that nobody talks to", adjust: func(p *Params) { p.Run = 2 * time.Second }, Uses: []string{"run"}},
	}
}

// FindWorkload finds one by name.
func FindWorkload(name string) (*Workload, error) {
	var names []string
	for _, w := range Workloads() {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return nil, fmt.Errorf("no workload %q; there are %s", name, strings.Join(names, ", "))
}

// Defaults are the parameters that a workload starts from.
func (w *Workload) Defaults() Params {
	p := Base()
	if w.adjust != nil {
		w.adjust(&p)
	}
	return p
}

// needs is what a target must be ready for.
func needs(p *Params) peer.Needs {
	n := peer.Needs{RetainBytes: int(p.Retain), ShelfBytes: int(p.Backlog), BatchBytes: int(p.BatchBytes),
		RecordBytes: int(min(p.RecordBytes, p.BatchBytes)), Partitions: p.Partitions, Fresh: p.FirstTouch}
	if p.FirstTouch {
		n.RetainBytes = int(p.firstTouchBytes())
	}
	return n
}

// firstTouchBytes is how much memory a first-touch run may need: what can go through in its time.
func (p *Params) firstTouchBytes() Size {
	if p.BytesMax > 0 {
		return p.BytesMax + p.BytesMax/2
	}
	return 4 << 30
}

func runProduce(ctx context.Context, s *session) (outcome, error) {
	spec, retain := s.spec(nil), s.Retain
	if s.FirstTouch {
		retain, spec.RetainBytes, spec.Warm = 0, int64(s.firstTouchBytes()), 0
		if spec.BytesMax == 0 {
			spec.BytesMax = int64(s.firstTouchBytes() * 2 / 3)
		}
	}
	switch {
	case s.Client == Raw && s.target.Speaks == peer.RESP:
		spec.FillBytes = int64(retain + retain/4)
		return s.measure(ctx, single(spec), load.RedisProduce)
	case s.Client == Raw && s.target.Speaks == peer.NATS:
		spec.FillBytes = int64(retain + retain/4)
		return s.measure(ctx, single(spec), load.NATSProduce)
	case s.target.Speaks != peer.Kafka:
		return outcome{}, s.unsupported("produce")
	}
	t, err := s.topic(s.Partitions, retain)
	if err != nil {
		return outcome{}, err
	}
	spec.Topic = t
	if !s.FirstTouch {
		if err := s.fill(ctx, t, toTheLimit(retain), max(s.BatchBytes, 64<<10)); err != nil {
			return outcome{}, err
		}
	}
	switch s.Client {
	case Franz:
		return s.measure(ctx, spec, load.FranzProduce)
	case Java:
		return s.measure(ctx, spec, s.java().JavaProduce)
	}
	return s.measure(ctx, spec, load.Produce)
}

// single is a spec for servers that take single messages: a message is the batch, as far as there is one.
func single(spec load.Spec) load.Spec {
	spec.RecordBytes = spec.BatchBytes
	return spec
}

func runFetch(ctx context.Context, s *session) (outcome, error) {
	spec := s.spec(nil)
	switch {
	case s.Client == Raw && s.target.Speaks != peer.Kafka:
		spec.FillBytes = int64(s.Backlog)
		if s.target.Speaks == peer.RESP {
			return s.measure(ctx, spec, load.RedisFetch)
		}
		return s.measure(ctx, spec, load.NATSFetch)
	case s.target.Speaks != peer.Kafka:
		return outcome{}, s.unsupported("fetch")
	}
	t, err := s.topic(s.Partitions, 0)
	if err != nil {
		return outcome{}, err
	}
	spec.Topic = t
	if s.Client == Java {
		s.Backlog = max(s.Backlog, s.BytesMax+s.BytesMax/8) // the tool reads a number of records, once
	}
	if !s.isFloor() {
		if err := s.fill(ctx, t, s.Backlog, s.BatchBytes); err != nil {
			return outcome{}, err
		}
	}
	switch {
	case s.Client == Franz && !s.isFloor():
		return s.measure(ctx, spec, load.FranzFetch)
	case s.Client == Java && !s.isFloor():
		return s.measure(ctx, spec, s.java().JavaFetch)
	case s.Client != Raw:
		return outcome{}, s.unsupported("fetch")
	}
	return s.measure(ctx, spec, load.Fetch)
}

func runEndToEnd(ctx context.Context, s *session) (outcome, error) {
	spec := s.spec(nil)
	switch {
	case s.isFloor():
		spec.BatchBytes += 160 // as large as the Produce request of such a batch
		return s.measure(ctx, spec, func(ctx context.Context, spec load.Spec) (*load.Result, error) {
			return load.Echo(ctx, spec, floor.KeyEcho, floor.EchoBytes)
		})
	case s.Client == Raw && s.target.Speaks == peer.RESP:
		return s.measure(ctx, single(spec), load.RedisEndToEnd)
	case s.Client == Raw && s.target.Speaks == peer.NATS:
		return s.measure(ctx, single(spec), load.NATSEndToEnd)
	case s.target.Speaks != peer.Kafka:
		return outcome{}, s.unsupported("e2e")
	}
	t, err := s.topic(s.Partitions, s.Retain)
	if err != nil {
		return outcome{}, err
	}
	spec.Topic, spec.Groups = t, 1
	if s.Client == Franz {
		return s.measure(ctx, spec, load.FranzFanout)
	}
	return s.measure(ctx, spec, load.EndToEnd)
}

func runFanout(ctx context.Context, s *session) (outcome, error) {
	t, err := s.topic(s.Partitions, s.Retain)
	if err != nil {
		return outcome{}, err
	}
	if s.Client == Franz {
		return s.measure(ctx, s.spec(t), load.FranzFanout)
	}
	return s.measure(ctx, s.spec(t), load.Fanout)
}

// runReplay fills a new process with a backlog, looks at its memory, and drains it.
func runReplay(ctx context.Context, s *session) (outcome, error) {
	t, err := s.topic(s.Partitions, 0)
	if err != nil {
		return outcome{}, err
	}
	before, began := s.target.Usage(), time.Now()
	spec := s.spec(t)
	spec.FillBytes = int64(s.Backlog)
	if err := load.Fill(ctx, spec); err != nil {
		return outcome{}, fmt.Errorf("fill: %w", err)
	}
	took := time.Since(began)
	used := s.target.Usage().Since(before)
	o, err := s.measure(ctx, s.spec(t), load.Drain)
	if err != nil {
		return o, err
	}
	retained, err := s.retained(t)
	if err != nil {
		return o, err
	}
	gb := float64(s.Backlog) / 1e9
	o.figures["fill_gb_per_s"] = gb / took.Seconds()
	if used.Known {
		o.figures["fill_server_cpu_s_per_gb"] = used.CPU.Seconds() / gb
		o.figures["rss_per_retained_byte"] = float64(used.RSSBytes) / retained
	}
	return o, nil
}

// retained is how many bytes of records a topic holds: what a user would call its size, without any framing.
func (s *session) retained(t *wire.Topic) (float64, error) {
	var all []int32
	for p := range t.Leaders {
		all = append(all, int32(p))
	}
	starts, err := s.admin.Offsets(t.Name, wire.Earliest, all)
	if err != nil {
		return 0, err
	}
	ends, err := s.admin.Offsets(t.Name, wire.Latest, all)
	if err != nil {
		return 0, err
	}
	records := int64(0)
	for p, end := range ends {
		records += end - starts[p]
	}
	return float64(records) * float64(min(s.RecordBytes, s.BatchBytes)), nil
}

func runConnections(ctx context.Context, s *session) (outcome, error) {
	spec := s.spec(nil)
	spec.FillBytes = 0
	if s.target.Speaks == peer.Kafka && s.Active > 0 {
		t, err := s.topic(s.Partitions, s.Retain)
		if err != nil {
			return outcome{}, err
		}
		spec.Topic = t
		// One produce beforehand, so that the memory of the first record isn't counted as a connection's.
		first := spec
		first.Connections, first.Depth, first.FillBytes = 1, 1, 1
		if err := load.Fill(ctx, first); err != nil {
			return outcome{}, err
		}
	}
	idle := -1
	r, err := load.Connections(ctx, spec, s.hello(), func(int) {
		if n, ok := s.target.Goroutines(); ok {
			idle = n
		}
	})
	if err != nil {
		return outcome{}, err
	}
	o := s.figures(r)
	if idle >= 0 {
		o.figures["goroutines"] = float64(idle)
	}
	return o, nil
}

func runPartitions(ctx context.Context, s *session) (outcome, error) {
	if err := s.connect(); err != nil {
		return outcome{}, err
	}
	extra := report.Figures{}
	if s.Topics > 1 {
		if err := s.manyTopics(extra); err != nil {
			return outcome{}, err
		}
	}
	began := time.Now()
	t, err := s.topic(s.Partitions, 0)
	if err != nil {
		return outcome{}, err
	}
	if s.Topics == 1 {
		extra["create_topics_ms"] = float64(t.Created.Microseconds()) / 1000
	}
	extra["leaders_known_ms"] = float64(time.Since(began).Microseconds()) / 1000
	if _, err := s.admin.Topic(t.Name); err != nil {
		return outcome{}, err
	}
	took, err := s.metadataTook(t.Name)
	if err != nil {
		return outcome{}, err
	}
	extra["metadata_ms"] = float64(took.Microseconds()) / 1000
	o, err := s.measure(ctx, s.spec(t), load.Partitions)
	for k, v := range extra {
		if err == nil {
			o.figures[k] = v
		}
	}
	return o, err
}

// metadataTook is the best of five: what an answer costs once its encoding is cached, without the client's decoding.
func (s *session) metadataTook(topic string) (best time.Duration, err error) {
	for i := range 5 {
		took, err := s.admin.MetadataTook(topic)
		if err != nil {
			return 0, err
		}
		if i == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

// manyTopics makes Topics topics of one partition each and asks for them all.
func (s *session) manyTopics(f report.Figures) error {
	const atOnce = 1000
	var total time.Duration
	for from := 0; from < s.Topics; from += atOnce {
		took, err := s.admin.CreateTopics(s.someTopics(min(atOnce, s.Topics-from))...)
		if err != nil {
			return err
		}
		total += took
	}
	f["create_topics_ms"] = float64(total.Microseconds()) / 1000
	took, err := s.metadataTook("")
	f["all_metadata_ms"] = float64(took.Microseconds()) / 1000
	return err
}

func (s *session) someTopics(n int) (specs []wire.TopicSpec) {
	for range n {
		name := fmt.Sprintf("many-%d-%d", time.Now().Unix(), topicNumber.Add(1))
		s.topics = append(s.topics, name)
		specs = append(specs, wire.TopicSpec{Name: name, Partitions: 1})
	}
	return specs
}
