package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// columns are the figures that any result of a case has, in their order; the main one first.
func (c *Case) columns() []Figure {
	has := func(name string) bool {
		return slices.ContainsFunc(c.Results, func(r *Result) bool { _, ok := r.Median[name]; return ok })
	}
	var cols []Figure
	if has(c.Main) {
		cols = append(cols, About(c.Main))
	}
	for _, f := range Known {
		if f.Name != c.Main && has(f.Name) {
			cols = append(cols, f)
		}
	}
	return cols
}

// Subject is the target that ratios are of: Millrace, or whatever external broker was measured, or the first.
func (c *Case) Subject() string {
	for _, name := range []string{"millrace", "external"} {
		if c.Has(name) {
			return name
		}
	}
	if len(c.Results) > 0 {
		return c.Results[0].Target
	}
	return ""
}

// Table prints a case for people: a row for each figure, a column for each target, the spread of the main figure, and
// the subject's ratio to each of the others.
func Table(w io.Writer, c *Case) error {
	fmt.Fprintf(w, "%s (%s, %s client)%s\n", c.Name, c.Workload, c.Client, parameters(c.Parameters))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")+"\t") }
	head := []string{""}
	for _, r := range c.Results {
		head = append(head, r.Target)
	}
	row(head...)
	for i, f := range c.columns() {
		cells := []string{f.Title}
		for _, r := range c.Results {
			cells = append(cells, cell(r, f, i == 0))
		}
		row(cells...)
		if i == 0 {
			if ratios := c.ratioRow(f.Name); ratios != nil {
				row(ratios...)
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range c.Results {
		if r.Error != "" {
			fmt.Fprintf(w, "  %s: %s\n", r.Target, r.Error)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (c *Case) ratioRow(figure string) []string {
	subject := c.Subject()
	cells, any := []string{subject + " / this"}, false
	for _, r := range c.Results {
		ratio, ok := c.Ratio(figure, subject, r.Target)
		if !ok || r.Target == subject {
			cells = append(cells, "")
			continue
		}
		any = true
		cells = append(cells, fmt.Sprintf("×%.2f", ratio))
	}
	if !any {
		return nil
	}
	return cells
}

func cell(r *Result, f Figure, spread bool) string {
	v, ok := r.Median[f.Name]
	if !ok {
		return "–"
	}
	s := f.Format(v)
	if spread && len(r.Rounds) > 1 {
		s += fmt.Sprintf(" (%s–%s)", f.Format(r.Least[f.Name]), f.Format(r.Most[f.Name]))
	}
	return s
}

func parameters(p map[string]any) string {
	var parts []string
	for k, v := range p {
		parts = append(parts, fmt.Sprintf("%s=%v", k, v))
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, " ")
}

// PerfLine is the line that kafka-producer-perf-test ends with, of a result's medians; empty if it has no latencies.
func PerfLine(r *Result, span float64, recordBytes int) string {
	m := r.Median
	if _, ok := m["latency_p50_us"]; !ok || m["records_per_s"] == 0 {
		return ""
	}
	ms := func(name string) float64 { return m[name] / 1000 }
	rate := m["records_per_s"]
	return fmt.Sprintf("%.0f records sent, %.6f records/sec (%.2f MB/sec), %.2f ms avg latency, %.2f ms max latency, "+
		"%.0f ms 50th, %.0f ms 95th, %.0f ms 99th, %.0f ms 99.9th.", rate*span, rate, rate*float64(recordBytes)/(1<<20),
		ms("latency_avg_us"), ms("latency_max_us"), ms("latency_p50_us"), ms("latency_p95_us"), ms("latency_p99_us"),
		ms("latency_p999_us"))
}
