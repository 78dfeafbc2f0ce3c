package report

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"millrace/bench/proc"
)

// SchemaName stands in every JSON file, so that a reader knows what it has.
const SchemaName = "millrace-bench/1"

// Report is a run.
type Report struct {
	Schema  string       `json:"schema"`
	Date    string       `json:"date"` // RFC 3339, UTC
	Command string       `json:"command"`
	Machine proc.Machine `json:"machine"`
	Targets []Target     `json:"targets"`
	Cases   []*Case      `json:"cases"`
}

// Target is what was measured, or compared with.
type Target struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Version  string   `json:"version"`
	Settings []string `json:"settings"`
}

// Case is one workload with one set of parameters, run against some targets.
type Case struct {
	Name       string         `json:"name"`
	Workload   string         `json:"workload"`
	Client     string         `json:"client"`
	Parameters map[string]any `json:"parameters"`
	// Main is the figure that the case is about.
	Main    string    `json:"main"`
	Results []*Result `json:"results"`
}

// Figures are numbers by name.
type Figures map[string]float64

// Result is a target's part in a case.
type Result struct {
	Target string    `json:"target"`
	Error  string    `json:"error,omitempty"` // why there are fewer rounds, or none
	Rounds []Figures `json:"rounds"`
	Median Figures   `json:"median"`
	Least  Figures   `json:"least"`
	Most   Figures   `json:"most"`

	latency *hdrhistogram.Histogram // of all rounds together
}

// New starts a report.
func New(command string, machine proc.Machine) *Report {
	return &Report{Schema: SchemaName, Date: time.Now().UTC().Format(time.RFC3339), Command: command, Machine: machine}
}

// AddTarget notes a target once.
func (r *Report) AddTarget(t Target) {
	if slices.ContainsFunc(r.Targets, func(o Target) bool { return o.Name == t.Name }) {
		return
	}
	if t.Settings == nil {
		t.Settings = []string{}
	}
	r.Targets = append(r.Targets, t)
}

// Find gives a case by name, or nil.
func (r *Report) Find(name string) *Case {
	for _, c := range r.Cases {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Result gives a target's part, which is made if there is none yet.
func (c *Case) Result(target string) *Result {
	for _, r := range c.Results {
		if r.Target == target {
			return r
		}
	}
	r := &Result{Target: target, Rounds: []Figures{}, Median: Figures{}, Least: Figures{}, Most: Figures{}}
	c.Results = append(c.Results, r)
	return r
}

// Add appends a round. h may be nil; it is merged into the others.
func (r *Result) Add(f Figures, h *hdrhistogram.Histogram) {
	r.Rounds = append(r.Rounds, f)
	for name := range f {
		v := r.values(name)
		slices.Sort(v)
		r.Median[name], r.Least[name], r.Most[name] = median(v), v[0], v[len(v)-1]
	}
	switch {
	case h == nil:
	case r.latency == nil:
		r.latency = h.Clone()
	default:
		r.latency.Merge(h)
	}
}

// Latency is the histogram of all rounds, in nanoseconds, or nil.
func (r *Result) Latency() *hdrhistogram.Histogram { return r.latency }

// values are a figure's values in the rounds that have it.
func (r *Result) values(name string) (v []float64) {
	for _, f := range r.Rounds {
		if x, ok := f[name]; ok {
			v = append(v, x)
		}
	}
	return v
}

// median is the middle of sorted values, or the mean of the two in the middle.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Ratio gives the median of a figure's ratios, one target over another, of the rounds that both have.
func (c *Case) Ratio(figure, over, under string) (ratio float64, ok bool) {
	a, b := c.Result(over), c.Result(under)
	var v []float64
	for i := range min(len(a.Rounds), len(b.Rounds)) {
		x, ok1 := a.Rounds[i][figure]
		y, ok2 := b.Rounds[i][figure]
		if ok1 && ok2 && y != 0 {
			v = append(v, x/y)
		}
	}
	slices.Sort(v)
	return median(v), len(v) > 0
}

// Has says that a target took part with at least one round.
func (c *Case) Has(target string) bool {
	return slices.ContainsFunc(c.Results, func(r *Result) bool { return r.Target == target && len(r.Rounds) > 0 })
}
