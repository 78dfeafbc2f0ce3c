package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"millrace/bench/load"
	"millrace/bench/peer"
	"millrace/bench/proc"
	"millrace/bench/report"
	"millrace/bench/wire"
)

// session is one run of a workload against one target.
type session struct {
	Params
	target *peer.Target
	config *peer.Config
	start  func(ctx context.Context, n peer.Needs) (*peer.Target, error) // another process of the same kind
	calls  bool                                                          // count system calls too
	admin  *wire.Conn
	topics []string
}

// outcome is what a run gives.
type outcome struct {
	figures report.Figures
	latency *hdrhistogram.Histogram
}

// topicNumber makes names that no earlier run on the same broker had.
var topicNumber atomic.Int64

// adminTimeout is for topics with many partitions on a slow peer.
const adminTimeout = 60 * time.Second

func (s *session) isFloor() bool { return s.target.Name == "floor" }

// connect opens the connection for errands.
func (s *session) connect() (err error) {
	if s.admin == nil {
		s.admin, err = wire.Dial(s.target.Bootstrap, adminTimeout)
	}
	return err
}

// close removes the topics.
func (s *session) close() {
	if s.admin == nil {
		return
	}
	if len(s.topics) > 0 {
		_ = s.admin.DeleteTopics(s.topics...) // the target may be gone
	}
	_ = s.admin.Close()
}

// topic makes a topic. retain is the most that it shall keep in all, 0 for no limit.
func (s *session) topic(partitions int, retain Size) (*wire.Topic, error) {
	if err := s.connect(); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("bench-%d-%d", time.Now().Unix(), topicNumber.Add(1))
	s.topics = append(s.topics, name)
	return s.admin.CreateTopic(wire.TopicSpec{Name: name, Partitions: partitions, Configs: s.topicConfigs(partitions, retain)})
}

// topicConfigs keep the topic to its size. A segment is the unit of retention, so there are several in that.
func (s *session) topicConfigs(partitions int, retain Size) map[string]string {
	c := map[string]string{}
	if retain > 0 {
		each := max(int64(retain)/int64(partitions), 4<<20)
		c["retention.bytes"] = strconv.FormatInt(each, 10)
		c["segment.bytes"] = strconv.FormatInt(max(each/4, 1<<20), 10)
	}
	if s.BatchBytes+4096 > 1<<20 {
		c["max.message.bytes"] = strconv.FormatInt(int64(2*s.BatchBytes), 10)
	}
	return c
}

// spec is what a load is told.
func (s *session) spec(t *wire.Topic) load.Spec {
	return load.Spec{Bootstrap: s.target.Bootstrap, Topic: t, Partitions: s.Partitions, Connections: s.Connections,
		Depth: s.Depth, RecordBytes: int(s.RecordBytes), BatchBytes: int(s.BatchBytes), Acks: int16(s.Acks), Codec: s.Codec,
		Idempotent: s.Idempotent, FetchBytes: int(s.FetchBytes), Rate: s.Rate, Groups: s.Groups, Active: s.Active,
		RetainBytes: int64(s.Retain), Warm: s.Warm, Run: s.Run, BytesMax: int64(s.BytesMax), Usage: s.target.Usage}
}

// fill writes a backlog to a topic as fast as it goes, in batches of so many bytes.
func (s *session) fill(ctx context.Context, t *wire.Topic, bytes, batch Size) error {
	spec := s.spec(t)
	spec.FillBytes, spec.BatchBytes, spec.Acks, spec.Idempotent, spec.Codec = int64(bytes), int(batch), 1, false, ""
	spec.Connections, spec.Depth = min(len(t.Leaders), 8), 8
	if err := load.Fill(ctx, spec); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	return nil
}

// toTheLimit is what must go through a log until its memory comes round: a server that looks at retention now and then
// holds more than its limit, the more the faster it takes records.
func toTheLimit(retain Size) Size { return retain + retain/2 + 256<<20 }

// figures turns a result into numbers with names.
func (s *session) figures(r *load.Result) outcome {
	f := report.Figures{}
	sec, gb := r.Span.Seconds(), float64(r.Bytes)/1e9
	per := func(name string, v float64, n float64) {
		if n > 0 && v > 0 {
			f[name] = v / n
		}
	}
	per("throughput_gb_per_s", gb, sec)
	per("requests_per_s", float64(r.Requests), sec)
	per("records_per_s", float64(r.Records), sec)
	per("client_cpu_s_per_gb", r.ClientCPU.Seconds(), gb)
	if u := r.Server; u.Known {
		per("server_cpu_s_per_gb", u.CPU.Seconds(), gb)
		per("server_cpu_us_per_request", u.CPU.Seconds()*1e6, float64(r.Requests))
		per("server_cpu_us_per_record", u.CPU.Seconds()*1e6, float64(r.Records))
		per("context_switches_per_request", float64(u.Switches), float64(r.Requests))
		per("io_calls_per_request", float64(u.ReadCalls+u.WriteCalls), float64(r.Requests))
		per("server_cpu_s_per_delivered_gb", u.CPU.Seconds(), float64(r.ReadBytes)/1e9)
		f["rss_bytes"], f["rss_growth_bytes"] = float64(r.RSSBytes), float64(u.RSSBytes)
		f["threads"] = float64(u.Threads)
	}
	if n, ok := s.target.Goroutines(); ok {
		f["goroutines"] = float64(n)
	}
	f.SetLatency(r.Latency)
	if r.Unanswered > 0 {
		f["unanswered"] = float64(r.Unanswered)
	}
	for name, v := range r.Extra {
		f[name] = v
	}
	return outcome{f, r.Latency}
}

// measure runs a load and, if system calls shall be counted, runs it again while they are: counting may slow the server
// down, so it has no part in the other figures.
func (s *session) measure(ctx context.Context, spec load.Spec, run func(context.Context, load.Spec) (*load.Result, error)) (outcome, error) {
	r, err := run(ctx, spec)
	if err != nil {
		return outcome{}, err
	}
	o := s.figures(r)
	if !s.calls || len(s.target.Pids) != 1 {
		return o, nil
	}
	const span = time.Second
	type counted struct {
		calls proc.Calls
		err   error
	}
	again := spec
	again.FillBytes, again.Warm, again.Run = 0, 0, span+time.Second
	done := make(chan counted, 1)
	go func() {
		c, err := proc.CountCalls(ctx, s.target.Pids[0], span)
		done <- counted{c, err}
	}()
	r, err = run(ctx, again)
	c := <-done
	if err == nil && c.err == nil && r.Requests > 0 {
		perSecond := float64(r.Requests) / r.Span.Seconds()
		o.figures["system_calls_per_request"] = float64(c.calls.Total) / c.calls.Span.Seconds() / perSecond
	}
	return o, err
}

// unsupported says that a target can't run this.
func (s *session) unsupported(what string) error {
	return fmt.Errorf("%w: %s with the %s client against %s", errUnsupported, what, s.Client, s.target.Name)
}

var errUnsupported = fmt.Errorf("not supported")

// hello is what a connection begins with, in the target's protocol.
func (s *session) hello() []byte {
	switch s.target.Speaks {
	case peer.RESP:
		return load.RedisHello()
	case peer.NATS:
		return load.NATSHello()
	}
	return load.Hello()
}

func (s *session) java() load.Java {
	return load.Java{Jars: peer.KafkaJars(s.config), Config: peer.KafkaLog(s.config)}
}
