// Package report holds what a run has measured and writes it: a table with ratios for the terminal, the line of
// kafka-producer-perf-test, JSON (held to schema.json), CSV, HDR percentile files, SVG plots, and the tables of
// docs/performance.md.
//
//	r := report.New(command, machine); c := r.Case(…); c.Add(target, figures, histogram)
//	report.Table(w, c); report.WriteAll(dir, r); report.Markdown(w, r, goals, notes)
//
// A figure is a number with a name; the name ends in its unit and Known says how to print it. Rounds keep every
// figure of every round; what is shown is the median with the least and the most.
//
// # Ratios
//
// A ratio is the median of the ratios of the same round: the two runs of a round are neighbours in time, so what the
// machine did to one it did to the other. Dividing two medians would lose that.
//
// # Invariants
//
//   - A report is appended to by one goroutine and then only read.
//   - A figure that a target doesn't have is absent, never zero.
//   - Nothing here knows how a figure was measured, and nothing names the host it was measured on.
package report
