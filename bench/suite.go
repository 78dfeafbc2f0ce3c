package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"millrace/bench/peer"
	"millrace/bench/report"
)

// newCase makes a case of a workload's defaults.
func newCase(name, workload string, with func(*Params), targets ...string) Case {
	w, err := FindWorkload(workload)
	if err != nil {
		panic(err) // a name that is written in this package
	}
	p := w.Defaults()
	if with != nil {
		with(&p)
	}
	return Case{Name: name, Workload: workload, Params: p, Targets: targets}
}

// batch sets the size of batches, and so of responses.
func batch(bytes Size) func(*Params) {
	return func(p *Params) {
		p.BatchBytes, p.FetchBytes = bytes, bytes+1<<10
		p.RecordBytes = min(p.RecordBytes, bytes)
	}
}

// Suite is what docs/performance.md is made of. It takes about three quarters of an hour with every peer.
func Suite() []Case {
	kafkas := []string{"floor", "millrace", "kfake", "kafka"}
	ours := []string{"floor", "millrace"}
	few := func(c Case, rounds int) Case {
		c.Rounds = rounds
		return c
	}
	produce := []Case{
		newCase("produce-64K", "produce", nil, kafkas...),
		newCase("produce-16K", "produce", batch(16<<10), ours...),
		newCase("produce-1M", "produce", batch(1<<20), ours...),
		newCase("produce-1K", "produce", batch(1<<10)),
		newCase("produce-100B-in-16K", "produce", func(p *Params) { batch(16 << 10)(p); p.RecordBytes = 100 }, kafkas...),
		newCase("produce-1000-connections", "produce", func(p *Params) { p.Connections, p.Depth, p.Partitions = 1000, 1, 64 },
			ours...),
		newCase("produce-first-touch", "produce", func(p *Params) { p.FirstTouch, p.BytesMax = true, 2<<30 }, ours...),
		newCase("produce-idempotent-acks-all", "produce", func(p *Params) { p.Idempotent, p.Acks, p.Depth = true, -1, 5 },
			kafkas...),
		newCase("produce-franz", "produce", func(p *Params) { p.Client, p.Connections = Franz, 2 }, kafkas...),
		few(newCase("produce-java", "produce", func(p *Params) { p.Client, p.RecordBytes = Java, 1000 }, kafkas[1:]...), 3),
		few(newCase("retained-100M", "produce", func(p *Params) { p.Retain = 100 << 20 }, "millrace"), 3),
		few(newCase("retained-10G", "produce", func(p *Params) { p.Retain = 10 << 30 }, "millrace"), 3),
	}
	fetch := []Case{
		newCase("fetch-64K", "fetch", batch(64<<10)),
		newCase("fetch-1M", "fetch", batch(1<<20), kafkas...),
		newCase("fetch-franz", "fetch", func(p *Params) { p.Client, p.Connections, p.FetchBytes = Franz, 2, 1<<20 },
			kafkas[1:]...),
		few(newCase("fetch-java", "fetch", func(p *Params) { p.Client, p.RecordBytes, p.FetchBytes = Java, 1000, 1<<20 },
			kafkas[1:]...), 3),
	}
	both := []Case{
		newCase("e2e-1k", "e2e", nil),
		newCase("e2e-10k", "e2e", func(p *Params) { p.Rate = 10000 }),
		newCase("fanout-3", "fanout", nil, kafkas...),
	}
	memory := []Case{
		few(newCase("replay-2G", "replay", nil, "millrace", "kfake", "kafka"), 3),
		few(newCase("replay-200B", "replay", func(p *Params) { batch(200)(p); p.Backlog, p.FetchBytes = 128<<20, 1<<20 },
			"millrace", "kafka"), 3),
		newCase("first", "first", nil),
		few(newCase("idle", "idle", nil), 3),
	}
	many := []Case{
		few(newCase("connections-10000", "connections", nil), 3),
		few(newCase("connections-10000-active-10", "connections", func(p *Params) { p.Active = 10 }, ours...), 3),
		few(newCase("connections-10-active-10", "connections", func(p *Params) { p.Connections, p.Active = 10, 10 }, ours...), 3),
		few(newCase("partitions-10", "partitions", func(p *Params) { p.Partitions = 10 }, kafkas[1:]...), 3),
		few(newCase("partitions-10000", "partitions", nil, "millrace", "kfake"), 3),
		few(newCase("topics-10000", "partitions", func(p *Params) { p.Topics, p.Partitions, p.Run = 10000, 10, time.Second },
			"millrace"), 3),
	}
	return append(append(append(append(produce, fetch...), both...), memory...), many...)
}

// Goals are what Millrace shall reach in one run of the suite.
func Goals() []report.Goal {
	const cpu, gbs = "server_cpu_s_per_gb", "throughput_gb_per_s"
	g := []report.Goal{
		{Text: "produce, 64 KiB batches, against the floor", Case: "produce-64K", Figure: cpu, Against: "floor", Limit: 1.3},
		{Text: "produce, 16 KiB", Case: "produce-16K", Figure: cpu, Against: "floor", Limit: 1.5},
		{Text: "produce, 1 MiB", Case: "produce-1M", Figure: cpu, Against: "floor", Limit: 1.2},
		{Text: "produce, 1,000 connections", Case: "produce-1000-connections", Figure: cpu, Against: "floor", Limit: 1.5},
		{Text: "produce, single 1 KiB records, CPU a request", Case: "produce-1K", Figure: "server_cpu_us_per_request",
			Against: "floor", Limit: 2},
		{Text: "fetch, 64 KiB responses", Case: "fetch-64K", Figure: cpu, Against: "floor", Limit: 1.3},
		{Text: "fetch, 1 MiB responses", Case: "fetch-1M", Figure: cpu, Against: "floor", Limit: 1.15},
		{Text: "produce, 64 KiB, against Kafka", Case: "produce-64K", Figure: cpu, Against: "kafka", Limit: 1.0 / 8},
		{Text: "produce, 64 KiB, against kfake", Case: "produce-64K", Figure: cpu, Against: "kfake", Limit: 1.0 / 4},
		{Text: "produce, 100 B in 16 KiB, against Kafka", Case: "produce-100B-in-16K", Figure: cpu, Against: "kafka",
			Limit: 1.0 / 8},
		{Text: "produce throughput against Kafka", Case: "produce-64K", Figure: gbs, Against: "kafka", Limit: 3, AtLeast: true},
		{Text: "produce throughput against kfake", Case: "produce-64K", Figure: gbs, Against: "kfake", Limit: 2, AtLeast: true},
		{Text: "fetch, 64 KiB, against Kafka", Case: "fetch-64K", Figure: cpu, Against: "kafka", Limit: 0.75},
		{Text: "fetch, 64 KiB, against kfake", Case: "fetch-64K", Figure: cpu, Against: "kfake", Limit: 1.0 / 3},
		{Text: "the Java producer with defaults, against Kafka", Case: "produce-java", Figure: cpu, Against: "kafka",
			Limit: 1.0 / 3},
		{Text: "the Java consumer with defaults, against Kafka", Case: "fetch-java", Figure: cpu, Against: "kafka", Limit: 1},
	}
	for _, rate := range []string{"e2e-1k", "e2e-10k"} {
		g = append(g, report.Goal{Text: rate + ": p50 against the echo floor's", Case: rate, Figure: "latency_p50_us",
			Against: "floor", Limit: 2})
		for _, p := range []string{"kafka", "kfake", "nats", "redis"} {
			g = append(g, report.Goal{Text: rate + ": p99 against " + p, Case: rate, Figure: "latency_p99_us", Against: p, Limit: 1})
		}
		g = append(g, report.Goal{Text: rate + ": CPU a record against Kafka", Case: rate, Figure: "server_cpu_us_per_record",
			Against: "kafka", Limit: 1.0 / 3})
	}
	return append(g,
		report.Goal{Text: "process start → first acknowledged produce", Case: "first", Figure: "first_ack_ms", Limit: 15},
		report.Goal{Text: "idle RSS, one broker", Case: "idle", Figure: "rss_bytes", Limit: 16 << 20},
		report.Goal{Text: "RSS a retained byte, 2 GiB in 64 KiB batches", Case: "replay-2G", Figure: "rss_per_retained_byte",
			Limit: 1.05},
		report.Goal{Text: "RSS a retained byte, single 200-byte records", Case: "replay-200B", Figure: "rss_per_retained_byte",
			Limit: 1.6},
		report.Goal{Text: "idle connection, of 10,000", Case: "connections-10000", Figure: "rss_bytes_per_connection",
			Limit: 2 << 10},
		report.Goal{Text: "CPU a request with 10,000 connections, against 10", Case: "connections-10000-active-10",
			Figure: "server_cpu_us_per_request", Base: "connections-10-active-10", Limit: 1.2},
		report.Goal{Text: "CPU a record with 10,000 partitions, against 10", Case: "partitions-10000",
			Figure: "server_cpu_us_per_record", Base: "partitions-10", Limit: 1.2},
		report.Goal{Text: "CPU a byte with 10 GiB retained, against 100 MiB", Case: "retained-10G", Figure: cpu,
			Base: "retained-100M", Limit: 1.2},
		report.Goal{Text: "a topic with 10,000 partitions made", Case: "partitions-10000", Figure: "create_topics_ms", Limit: 300},
		report.Goal{Text: "Metadata of 10,000 topics", Case: "topics-10000", Figure: "all_metadata_ms", Limit: 10})
}

// PerfLine is kafka-producer-perf-test's line for a result of a case; empty if it has none.
func PerfLine(c *report.Case, r *report.Result) string {
	var record Size
	if s, ok := c.Parameters["record"].(string); !ok || record.Set(s) != nil {
		return ""
	}
	span, err := time.ParseDuration(fmt.Sprint(c.Parameters["run"]))
	if err != nil { // the Java tools print their own
		return ""
	}
	return report.PerfLine(r, span.Seconds(), int(record))
}

// List prints what there is.
func List(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKLOADS")
	for _, l := range Workloads() {
		fmt.Fprintf(t, "  %s\t%s\n", l.Name, l.About)
	}
	fmt.Fprintln(t, "\nTARGETS")
	for _, p := range peer.All() {
		fmt.Fprintf(t, "  %s\t%s\n", p.Name, p.About)
	}
	fmt.Fprintln(t, "\nPRESETS")
	listCases(t, Presets())
	fmt.Fprintln(t, "\nSUITE")
	listCases(t, Suite())
	fmt.Fprintln(t, "\nGUARD")
	listCases(t, guardCases())
	return t.Flush()
}

func listCases(w io.Writer, cases []Case) {
	for _, c := range cases {
		l, err := FindWorkload(c.Workload)
		if err != nil {
			continue
		}
		var parts []string
		for _, name := range l.Uses {
			if v, ok := c.Params.Map(l.Uses)[name]; ok {
				parts = append(parts, fmt.Sprintf("%s=%v", name, v))
			}
		}
		fmt.Fprintf(w, "  %s\t%s, %s client: %s\n", c.Name, c.Workload, c.Params.Client, strings.Join(parts, " "))
	}
}
