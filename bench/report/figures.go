package report

import (
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Figure says what a name stands for.
type Figure struct {
	Name  string
	Title string // with its unit
	// Scale is multiplied with before printing; 0 is 1.
	Scale float64
	More  bool // more is better
}

// Known are the figures, in the order of columns.
var Known = []Figure{
	{Name: "throughput_gb_per_s", Title: "GB/s", More: true},
	{Name: "requests_per_s", Title: "requests/s", More: true},
	{Name: "records_per_s", Title: "records/s", More: true},
	{Name: "server_cpu_s_per_gb", Title: "server CPU s/GB"},
	{Name: "server_cpu_us_per_request", Title: "server CPU µs/request"},
	{Name: "server_cpu_us_per_record", Title: "server CPU µs/record"},
	{Name: "client_cpu_s_per_gb", Title: "client CPU s/GB"},
	{Name: "latency_p50_us", Title: "p50 µs"},
	{Name: "latency_p95_us", Title: "p95 µs"},
	{Name: "latency_p99_us", Title: "p99 µs"},
	{Name: "latency_p999_us", Title: "p99.9 µs"},
	{Name: "latency_max_us", Title: "max µs"},
	{Name: "latency_avg_us", Title: "mean µs"},
	{Name: "unanswered", Title: "unanswered"},
	{Name: "delivered_records_per_s", Title: "delivered records/s", More: true},
	{Name: "delivered_bytes_per_s", Title: "delivered MB/s", Scale: 1e-6, More: true},
	{Name: "server_cpu_s_per_delivered_gb", Title: "server CPU s/delivered GB"},
	{Name: "first_ack_ms", Title: "start → first ack, ms"},
	{Name: "rss_bytes", Title: "RSS MiB", Scale: 1.0 / (1 << 20)},
	{Name: "rss_growth_bytes", Title: "RSS growth in the window, MiB", Scale: 1.0 / (1 << 20)},
	{Name: "rss_per_retained_byte", Title: "RSS/retained byte"},
	{Name: "rss_bytes_per_connection", Title: "KiB/connection", Scale: 1.0 / (1 << 10)},
	{Name: "goroutines", Title: "goroutines"},
	{Name: "threads", Title: "threads"},
	{Name: "context_switches_per_request", Title: "context switches/request"},
	{Name: "io_calls_per_request", Title: "reads+writes/request"},
	{Name: "system_calls_per_request", Title: "system calls/request"},
	{Name: "idle_cpu_ms_per_s", Title: "idle CPU ms/s"},
	{Name: "idle_context_switches_per_s", Title: "idle context switches/s"},
	{Name: "create_topics_ms", Title: "CreateTopics ms"},
	{Name: "leaders_known_ms", Title: "all leaders known ms"},
	{Name: "metadata_ms", Title: "Metadata ms"},
	{Name: "all_metadata_ms", Title: "Metadata of all topics ms"},
	{Name: "fetch_sessions", Title: "fetch sessions", More: true},
	{Name: "records_per_fetch", Title: "records/fetch", More: true},
	{Name: "connects_per_s", Title: "connects/s", More: true},
	{Name: "server_cpu_us_per_connect", Title: "server CPU µs/connect"},
	{Name: "churn_connections_per_s", Title: "churn connections/s", More: true},
	{Name: "churn_server_cpu_us_per_connection", Title: "churn server CPU µs/connection"},
	{Name: "failover_ms", Title: "death → next ack, ms"},
	{Name: "all_leaders_ms", Title: "all leaders, ms"},
	{Name: "all_ready_ms", Title: "all ready, ms"},
	{Name: "all_in_sync_ms", Title: "all in sync, ms"},
	{Name: "leaders_moved_ms", Title: "death → leaders moved, ms"},
	{Name: "idle_cpu_percent", Title: "idle CPU, % of a core"},
	{Name: "restarts_s", Title: "all restarted, s"},
	{Name: "acked", Title: "acknowledged", More: true},
	{Name: "errors", Title: "errors"},
	{Name: "lost", Title: "lost"},
	{Name: "duplicated", Title: "duplicated"},
	{Name: "pause_max_ms", Title: "longest pause, ms"},
	{Name: "fill_gb_per_s", Title: "fill GB/s", More: true},
	{Name: "fill_server_cpu_s_per_gb", Title: "fill server CPU s/GB"},
}

// About finds what is known of a figure; a name that isn't known stands for itself.
func About(name string) Figure {
	for _, f := range Known {
		if f.Name == name {
			return f
		}
	}
	return Figure{Name: name, Title: name}
}

// Format prints a value with three digits that count, and without an exponent.
func (f Figure) Format(v float64) string {
	if f.Scale != 0 {
		v *= f.Scale
	}
	switch a := math.Abs(v); {
	case v == math.Trunc(v) && a < 1e9:
		return fmt.Sprintf("%.0f", v)
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

// SetLatency puts the percentiles of a histogram of nanoseconds into f.
func (f Figures) SetLatency(h *hdrhistogram.Histogram) {
	if h == nil || h.TotalCount() == 0 {
		return
	}
	us := func(ns float64) float64 { return ns / float64(time.Microsecond) }
	for name, q := range map[string]float64{"latency_p50_us": 50, "latency_p95_us": 95, "latency_p99_us": 99,
		"latency_p999_us": 99.9} {
		f[name] = us(float64(h.ValueAtQuantile(q)))
	}
	f["latency_max_us"] = us(float64(h.Max()))
	f["latency_avg_us"] = us(h.Mean())
}
