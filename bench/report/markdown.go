package report

import (
	"fmt"
	"io"
	"strings"
)

// Goal is something that a run shall show: a figure of a case, alone or as a ratio to another target's.
type Goal struct {
	Text    string
	Case    string
	Figure  string
	Against string  // a target; empty: the figure itself is held against Limit
	Base    string  // another case of the subject; its figure is what the ratio is to
	Limit   float64 // of the figure, or of the ratio
	AtLeast bool    // the figure or ratio shall be at least Limit, else at most
}

// Outcome is what a run says about a goal.
type Outcome struct {
	Goal    Goal
	Value   float64
	Known   bool
	Reached bool
}

// Check holds goals against a report. What wasn't measured is not known.
func (r *Report) Check(goals []Goal) []Outcome {
	var all []Outcome
	for _, g := range goals {
		o := Outcome{Goal: g}
		if c := r.Find(g.Case); c != nil && c.Has(c.Subject()) {
			o.Value, o.Known = r.value(c, g)
		}
		o.Reached = o.Known && (o.Value <= g.Limit || g.AtLeast) && (o.Value >= g.Limit || !g.AtLeast)
		all = append(all, o)
	}
	return all
}

func (r *Report) value(c *Case, g Goal) (float64, bool) {
	subject := c.Subject()
	switch {
	case g.Against != "":
		return c.Ratio(g.Figure, subject, g.Against)
	case g.Base != "":
		base := r.Find(g.Base)
		if base == nil {
			return 0, false
		}
		under, ok := base.Result(subject).Median[g.Figure]
		over, ok2 := c.Result(subject).Median[g.Figure]
		if !ok || !ok2 || under == 0 {
			return 0, false
		}
		return over / under, true
	}
	v, ok := c.Result(subject).Median[g.Figure]
	return v, ok
}

// Markdown writes docs/performance.md: how it was measured, the goals, a table for each case, and the notes, which
// people keep by hand. plots is where the SVG files are, seen from the page; empty: without plots.
func Markdown(w io.Writer, r *Report, goals []Goal, notes, plots string) error {
	var b strings.Builder
	b.WriteString("<!-- Written by `millrace bench`; the notes come from performance-notes.md. Don't edit. -->\n\n# Performance\n\n")
	r.writeHow(&b)
	r.writeGoals(&b, goals)
	b.WriteString("## Results\n\nMedians; in brackets the least and the most of the rounds. A ratio is the median of the " +
		"ratios of each round.\n\n")
	for _, c := range r.Cases {
		writeCase(&b, c, plots)
	}
	if notes = strings.TrimSpace(notes); notes != "" {
		b.WriteString(notes + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeHow(b *strings.Builder) {
	m := r.Machine
	fmt.Fprintf(b, "Measured %s on a machine with %d cores (%s), %.0f GiB, %s, kernel %s, %s, TCP over loopback (%s). "+
		"Client and servers share the cores, and other work may have too: trust the CPU seconds and the ratios more than "+
		"GB/s and the tails of latencies.\n\n", r.Date[:10], m.Cores, orUnknown(m.CPU), float64(m.MemoryBytes)/(1<<30), m.OS,
		orUnknown(m.Kernel), m.Go, orUnknown(m.Congestion))
	fmt.Fprintf(b, "    %s\n\n", r.Command)
	b.WriteString("Runs alternate: every round runs each target once, one after the other, on the same bytes. Server CPU is read " +
		"from the process's own CPU clock over the measured window.\n\n")
	b.WriteString("| target | what | version | settings that differ from its defaults |\n|---|---|---|---|\n")
	for _, t := range r.Targets {
		settings := "–"
		if len(t.Settings) > 0 {
			settings = "`" + strings.Join(t.Settings, "` `") + "`"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", t.Name, t.About, orUnknown(t.Version), settings)
	}
	b.WriteString("\n")
}

func orUnknown(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func (r *Report) writeGoals(b *strings.Builder, goals []Goal) {
	if len(goals) == 0 {
		return
	}
	b.WriteString("## Goals\n\n| goal | limit | measured | |\n|---|---|---|---|\n")
	for _, o := range r.Check(goals) {
		g := o.Goal
		f := About(g.Figure)
		sign, unit := "≤", " "+f.Title
		if g.AtLeast {
			sign = "≥"
		}
		format := f.Format
		if g.Against != "" || g.Base != "" {
			unit, format = " ×", func(v float64) string { return Figure{}.Format(v) }
		}
		value, verdict := "not measured", ""
		if o.Known {
			value, verdict = format(o.Value)+unit, "**missed**"
			if o.Reached {
				verdict = "reached"
			}
		}
		fmt.Fprintf(b, "| %s | %s %s%s | %s | %s |\n", g.Text, sign, format(g.Limit), unit, value, verdict)
	}
	b.WriteString("\n")
}

func writeCase(b *strings.Builder, c *Case, plots string) {
	fmt.Fprintf(b, "### %s\n\nWorkload `%s`, %s client%s\n\n", c.Name, c.Workload, c.Client, parameters(c.Parameters))
	var heads, rules []string
	for _, r := range c.Results {
		heads, rules = append(heads, r.Target), append(rules, "---:")
	}
	fmt.Fprintf(b, "| | %s |\n|---|%s|\n", strings.Join(heads, " | "), strings.Join(rules, "|"))
	for i, f := range c.columns() {
		var cells []string
		for _, r := range c.Results {
			cells = append(cells, cell(r, f, i == 0))
		}
		title := f.Title
		if i == 0 {
			title = "**" + title + "**"
		}
		fmt.Fprintf(b, "| %s | %s |\n", title, strings.Join(cells, " | "))
		if ratios := c.ratioRow(f.Name); i == 0 && ratios != nil {
			fmt.Fprintf(b, "| %s |\n", strings.Join(ratios, " | "))
		}
	}
	b.WriteString("\n")
	for _, r := range c.Results {
		if r.Error != "" {
			fmt.Fprintf(b, "%s: %s\n\n", r.Target, strings.ReplaceAll(r.Error, "\n", " "))
		}
	}
	if plots != "" {
		fmt.Fprintf(b, "![%s](%s/%s.svg)\n", c.Name, plots, fileName(c.Name))
		if c.hasLatency() {
			fmt.Fprintf(b, "![%s, latency](%s/%s-latency.svg)\n", c.Name, plots, fileName(c.Name))
		}
		b.WriteString("\n")
	}
}
