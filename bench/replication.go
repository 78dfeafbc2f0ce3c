package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"millrace/bench/load"
	"millrace/bench/peer"
	"millrace/bench/proc"
	"millrace/bench/report"
	"millrace/bench/wire"
)

// Replication measures what replicas cost, and how long their leaders' deaths are felt: three processes on the loopback, and three
// brokers in one. It belongs to one goroutine.
type Replication struct {
	Config *peer.Config
	Short  bool     // few rounds, for CI
	Loose  float64  // a case that is beyond so many times its target is run once more, as a neighbour may have had a part in it
	Only   []string // names of cases, or how they begin; none: all
	Log    io.Writer
	Out    io.Writer

	report  *report.Report
	cluster *peer.Cluster // nil until it is needed
}

// sessionTimeout is how long a broker of the measured clusters may be silent: the default, which the goal for a frozen one counts from.
const sessionTimeout = 6 * time.Second

// alone is the result that replication is held against.
const alone = "acks=1, RF 1"

// ReplicationGoals are what replication shall reach.
func ReplicationGoals() []report.Goal {
	many := "partitions-10000-rf-3"
	return []report.Goal{
		{Text: "server CPU a GB, acks=all RF 3 in three processes, against acks=1 RF 1", Case: "rf-3-cpu", Figure: "server_cpu_s_per_gb",
			Against: alone, Limit: 3.3},
		{Text: "acks=all RF 3 p50 at low load, three processes, against acks=1 RF 1", Case: "rf-3-latency", Figure: "latency_p50_us",
			Against: alone, Limit: 3},
		{Text: "the same in one process", Case: "rf-3-latency-one-process", Figure: "latency_p50_us", Against: alone, Limit: 3},
		{Text: "kill -9 of a leader, another node in office → next ack", Case: "kill-9", Figure: "failover_ms", Limit: 500},
		{Text: "kill -9 of a leader that was in office → next ack", Case: "kill-9-in-office", Figure: "failover_ms", Limit: 2000},
		{Text: "a frozen leader (SIGSTOP), another node in office → next ack; TTL + 1 s", Case: "freeze", Figure: "failover_ms",
			Limit: float64((sessionTimeout + time.Second).Milliseconds())},
		{Text: "a frozen leader that was in office → next ack; etcd's election, TTL, and another until its successor judges anyone",
			Case: "freeze-in-office", Figure: "failover_ms", Limit: float64((2*sessionTimeout + 4*time.Second).Milliseconds())},
		{Text: "KILL_BROKER in one process → next ack", Case: "kill-broker", Figure: "failover_ms", Limit: 50},
		{Text: "rolling restart under acks=all: errors", Case: "rolling-restart", Figure: "errors"},
		{Text: "rolling restart: records lost", Case: "rolling-restart", Figure: "lost"},
		{Text: "rolling restart: records doubled", Case: "rolling-restart", Figure: "duplicated"},
		{Text: "10,000 partitions RF 3, all processes started again → all have leaders", Case: many, Figure: "all_leaders_ms", Limit: 5000},
		{Text: "10,000 partitions: a node killed → its leaders moved", Case: many, Figure: "leaders_moved_ms", Limit: 3000},
		{Text: "10,000 partitions: idle CPU of three nodes", Case: many, Figure: "idle_cpu_percent", Limit: 5},
	}
}

// replicationCase is one measurement, which adds its rounds to the case.
type replicationCase struct {
	name, main, client string
	run                func(*Replication, context.Context, *report.Case) error
}

func replicationCases() []replicationCase {
	return []replicationCase{
		{"rf-3-cpu", "server_cpu_s_per_gb", Raw, (*Replication).cost},
		{"rf-3-latency", "latency_p50_us", Raw, (*Replication).latency},
		{"rf-3-latency-one-process", "latency_p50_us", Raw, (*Replication).latencyInOne},
		{"kill-9", "failover_ms", Franz, (*Replication).killBeside},
		{"kill-9-in-office", "failover_ms", Franz, (*Replication).killInOffice},
		{"freeze", "failover_ms", Franz, (*Replication).freezeBeside},
		{"freeze-in-office", "failover_ms", Franz, (*Replication).freezeInOffice},
		{"kill-broker", "failover_ms", Franz, (*Replication).killBroker},
		{"rolling-restart", "errors", Franz, (*Replication).rolling},
		{"partitions-10000-rf-3", "all_leaders_ms", Raw, (*Replication).many},
	}
}

// Run measures and gives the report. A case that fails has its error in its result.
func (r *Replication) Run(ctx context.Context, command string) (*report.Report, error) {
	r.report = report.New(command, proc.Describe())
	defer r.dropCluster()
	p, err := peer.ByName("millrace")
	if err != nil {
		return r.report, err
	}
	version, err := p.Prepare(ctx, r.Config)
	if err != nil {
		return r.report, err
	}
	r.report.AddTarget(report.Target{Name: "millrace", About: "three processes of `millrace server --cluster`, or three brokers in one",
		Version: version})
	for _, x := range replicationCases() {
		if len(r.Only) > 0 && !slices.ContainsFunc(r.Only, func(o string) bool { return strings.HasPrefix(x.name, o) }) {
			continue
		}
		began := time.Now()
		c := r.once(ctx, x)
		if r.beyond(c) && ctx.Err() == nil {
			_, _ = fmt.Fprintf(r.Log, "%s is beyond its limit, and runs once more\n", x.name)
			c = r.once(ctx, x)
		}
		r.report.Cases = append(r.report.Cases, c)
		if ctx.Err() != nil {
			return r.report, ctx.Err()
		}
		if err := report.Table(r.Out, c); err != nil {
			return r.report, err
		}
		_, _ = fmt.Fprintf(r.Log, "%s took %.1f s\n", x.name, time.Since(began).Seconds())
	}
	return r.report, nil
}

// once runs a case.
func (r *Replication) once(ctx context.Context, x replicationCase) *report.Case {
	c := &report.Case{Name: x.name, Workload: "replication", Client: x.client, Main: x.main, Parameters: map[string]any{},
		Results: []*report.Result{}}
	c.Result("millrace")
	if err := x.run(r, ctx, c); err != nil {
		c.Result("millrace").Error = err.Error()
		r.dropCluster() // who knows what it is in
	}
	return c
}

// beyond says that a case missed a target by more than is allowed, or has nothing to show.
func (r *Replication) beyond(c *report.Case) bool {
	rep := report.Report{Cases: []*report.Case{c}}
	return slices.ContainsFunc(rep.Check(ReplicationGoals()), func(o report.Outcome) bool {
		return o.Goal.Case == c.Name && (!o.Known || o.Value > o.Goal.Limit*r.Loose)
	})
}

// rounds is how often a thing is measured.
func (r *Replication) rounds(short, full int) int {
	if r.Short {
		return short
	}
	return full
}

// nodes gives the running cluster, whole and with nothing to do.
func (r *Replication) nodes(ctx context.Context) (*peer.Cluster, error) {
	if r.cluster != nil {
		return r.cluster, nil
	}
	return r.start(ctx, "log.retention.check.interval.ms=100") // for logs that are kept small while they are written fast
}

// start starts a cluster.
func (r *Replication) start(ctx context.Context, settings ...string) (*peer.Cluster, error) {
	k, err := peer.StartCluster(ctx, r.Config, append(settings, fmt.Sprintf("broker.session.timeout.ms=%d", sessionTimeout.Milliseconds()))...)
	if err != nil {
		return nil, err
	}
	r.cluster = k
	return k, k.Nodes[0].AwaitHealth(ctx, wholeLimit, func(h *wire.Health) bool { return len(h.Addresses) == len(k.Nodes) })
}

func (r *Replication) dropCluster() {
	if r.cluster != nil {
		r.cluster.Stop()
		r.cluster = nil
	}
}

// wholeLimit is how long a cluster may take to be whole.
const wholeLimit = time.Minute

// replicatedTopic makes a topic of so many replicas whose records are kept as far as retain.
func replicatedTopic(addr string, partitions, replicas int, retain Size) (*wire.Topic, error) {
	c, err := wire.Dial(addr, adminTimeout)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	s := session{Params: Base()}
	configs := s.topicConfigs(partitions, retain)
	if replicas > 1 {
		configs["min.insync.replicas"] = "2"
	}
	return c.CreateTopic(wire.TopicSpec{Name: fmt.Sprintf("bench-%d-%d", time.Now().Unix(), topicNumber.Add(1)), Partitions: partitions,
		Replicas: replicas, Configs: configs})
}

func deleteTopic(addr, name string) {
	if c, err := wire.Dial(addr, adminTimeout); err == nil {
		_ = c.DeleteTopics(name) // the cluster will be gone soon anyway
		_ = c.Close()
	}
}

// cost produces as fast as it goes, in turn to a topic with one replica and to one with three.
func (r *Replication) cost(ctx context.Context, c *report.Case) error {
	retain := Size(r.rounds(64, 256)) << 20
	run := time.Duration(r.rounds(2, 4)) * time.Second
	c.Parameters["batch"], c.Parameters["run"] = "64KiB", run.String()
	return r.against(ctx, c, r.rounds(2, 5), func(spec *load.Spec, fill bool) {
		spec.BatchBytes, spec.RecordBytes, spec.Connections, spec.Depth = 64<<10, 1<<10, 6, 8
		spec.Warm, spec.Run = 300*time.Millisecond, run
		if fill {
			spec.FillBytes = int64(retain + retain/2 + 64<<20)
		}
	}, retain)
}

// latency produces slowly, in turn to a topic with one replica and to one with three.
func (r *Replication) latency(ctx context.Context, c *report.Case) error {
	c.Parameters["record"], c.Parameters["rate"] = "1KiB", 200
	return r.against(ctx, c, r.rounds(2, 5), slowly(r.rounds(2, 4)), 64<<20)
}

// slowly is a load of one record at a time.
func slowly(seconds int) func(spec *load.Spec, fill bool) {
	return func(spec *load.Spec, _ bool) {
		spec.BatchBytes, spec.RecordBytes, spec.Connections, spec.Depth, spec.Rate = 1<<10, 1<<10, 3, 64, 200
		spec.Warm, spec.Run = 500*time.Millisecond, time.Duration(seconds)*time.Second
	}
}

// against runs a load with acks=1 on one replica and with acks=all on three, in turn, on the cluster.
func (r *Replication) against(ctx context.Context, c *report.Case, rounds int, shape func(*load.Spec, bool), retain Size) error {
	k, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	return compare(ctx, c, k.Nodes[0].Addr, k.Usage, rounds, shape, retain)
}

func (r *Replication) latencyInOne(ctx context.Context, c *report.Case) error {
	c.Parameters["record"], c.Parameters["rate"] = "1KiB", 200
	p, err := peer.StartBrokers(ctx, r.Config, 3)
	if err != nil {
		return err
	}
	defer p.Stop()
	first, _, _ := strings.Cut(p.Bootstrap, ",")
	return compare(ctx, c, first, p.Usage, r.rounds(2, 5), slowly(r.rounds(1, 4)), 64<<20)
}

func compare(ctx context.Context, c *report.Case, addr string, usage func() proc.Usage, rounds int, shape func(*load.Spec, bool), retain Size) error {
	variants := []struct {
		result   string
		replicas int
		acks     int16
		topic    *wire.Topic
	}{{alone, 1, 1, nil}, {"millrace", 3, -1, nil}}
	for i := range variants {
		v := &variants[i]
		var err error
		if v.topic, err = replicatedTopic(addr, 6, v.replicas, retain); err != nil {
			return err
		}
		defer deleteTopic(addr, v.topic.Name)
	}
	for round := range rounds {
		for _, v := range variants {
			spec := load.Spec{Bootstrap: addr, Topic: v.topic, Partitions: len(v.topic.Leaders), Acks: v.acks, RetainBytes: int64(retain),
				Usage: usage}
			shape(&spec, round == 0)
			res, err := load.Produce(ctx, spec)
			if err != nil {
				return fmt.Errorf("%s: %w", v.result, err)
			}
			s := session{Params: Base(), target: &peer.Target{}}
			o := s.figures(res)
			c.Result(v.result).Add(o.figures, o.latency)
		}
	}
	return nil
}

// TellGoals prints what was reached. It fails if something is worse than loose times its limit, or wasn't measured though it should.
func TellGoals(w io.Writer, rep *report.Report, goals []report.Goal, loose float64) error {
	var bad []error
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GOAL\tTARGET\tSEEN\t")
	for _, o := range rep.Check(goals) {
		if rep.Find(o.Goal.Case) == nil {
			continue
		}
		f := report.About(o.Goal.Figure)
		unit, format := "", f.Format
		if o.Goal.Against != "" {
			unit, format = "×", report.Figure{}.Format
		}
		if !o.Known {
			fmt.Fprintf(t, "%s\t≤ %s%s\tnot measured\t\n", o.Goal.Text, unit, format(o.Goal.Limit))
			bad = append(bad, fmt.Errorf("%s: not measured", o.Goal.Text))
			continue
		}
		word := "missed"
		if o.Reached {
			word = ""
		}
		fmt.Fprintf(t, "%s\t≤ %s%s\t%s%s\t%s\n", o.Goal.Text, unit, format(o.Goal.Limit), unit, format(o.Value), word)
		if o.Value > o.Goal.Limit*loose {
			bad = append(bad, fmt.Errorf("%s: %s%s, more than %g times the target of %s", o.Goal.Text, unit, format(o.Value), loose, format(o.Goal.Limit)))
		}
	}
	return errors.Join(append(bad, t.Flush())...)
}
