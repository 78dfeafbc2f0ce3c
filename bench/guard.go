package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"millrace/bench/report"
)

// Guard holds what a change costs against what was committed: the ratios of Millrace's CPU to the floor's in a few
// cases, which no other machine and no neighbour changes much.
type Guard struct {
	Schema string `json:"schema"`
	// Tolerance is how far above its ratio a case may go.
	Tolerance float64               `json:"tolerance"`
	Ratios    map[string]GuardRatio `json:"ratios"`
}

// GuardRatio is a case's committed ratio.
type GuardRatio struct {
	Figure string  `json:"figure"`
	Ratio  float64 `json:"millrace_over_floor"`
}

const (
	guardSchema    = "millrace-bench-guard/1"
	guardTolerance = 1.25
	// guardBudget is when no further rounds begin. The whole must stay below three minutes.
	guardBudget = 140 * time.Second
	guardRounds = 5
	// updateTime is for how long ratios are taken that are going to be committed.
	updateTime = 4 * time.Minute
)

// guardCases are short, and cover the hot path from both sides.
func guardCases() []Case {
	short := func(c Case) Case {
		c.Params.Warm, c.Params.Run, c.Params.Retain, c.Params.Backlog = 200*time.Millisecond, 800*time.Millisecond, 128<<20, 64<<20
		return c
	}
	return []Case{
		short(newCase("produce-64K", "produce", nil)),
		short(newCase("produce-16K", "produce", batch(16<<10))),
		short(newCase("produce-1K", "produce", batch(1<<10))),
		short(newCase("fetch-64K", "fetch", batch(64<<10))),
		short(newCase("fetch-1M", "fetch", batch(1<<20))),
		short(newCase("e2e-5k", "e2e", func(p *Params) { p.Rate = 5000 })),
	}
}

// guardFigure is what a case is held to.
func guardFigure(c *Case) string {
	if c.Workload == "e2e" {
		return "server_cpu_us_per_record"
	}
	return "server_cpu_s_per_gb"
}

// ReadGuard reads the committed ratios.
func ReadGuard(path string) (*Guard, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var g Guard
	if err := json.Unmarshal(b, &g); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if g.Schema != guardSchema || g.Tolerance < 1 {
		return nil, fmt.Errorf("%s: schema %q with tolerance %g", path, g.Schema, g.Tolerance)
	}
	return &g, nil
}

// RunGuard measures the cases on floor and Millrace. A case beyond its limit is run again while there is time, since a
// neighbour may have had a part in it; what is still beyond makes the error, by name. With update the ratios are
// written instead.
func (r *Runner) RunGuard(ctx context.Context, path string, update bool, out io.Writer) error {
	held, err := ReadGuard(path)
	if update && errors.Is(err, os.ErrNotExist) || update && err == nil {
		held = &Guard{Schema: guardSchema, Tolerance: guardTolerance, Ratios: map[string]GuardRatio{}}
	} else if err != nil {
		return err
	}
	r.Targets, r.Rounds, r.Out = []string{"floor", "millrace"}, guardRounds, nil
	begun := time.Now()
	measured := map[string]*report.Case{}
	take := func(cases []Case) error {
		rep, err := r.Run(ctx, "guard", cases)
		for _, c := range rep.Cases {
			measured[c.Name] = merge(measured[c.Name], c)
		}
		return err
	}
	if err := take(guardCases()); err != nil {
		return err
	}
	for update && time.Since(begun) < updateTime { // what others are held to takes its time
		if err := take(guardCases()); err != nil {
			return err
		}
	}
	for time.Since(begun) < guardBudget && !update {
		again := slices.DeleteFunc(guardCases(), func(c Case) bool { return held.verdict(&c, measured[c.Name]) == nil })
		if len(again) == 0 {
			break
		}
		if err := take(again[:1]); err != nil {
			return err
		}
	}
	if update {
		return held.write(path, measured, out)
	}
	return held.tell(measured, out)
}

// merge appends the rounds of b to a.
func merge(a, b *report.Case) *report.Case {
	if a == nil {
		return b
	}
	for _, from := range b.Results {
		to := a.Result(from.Target)
		for _, f := range from.Rounds {
			to.Add(f, nil)
		}
		if to.Error = from.Error; len(to.Rounds) > 0 && len(from.Rounds) > 0 {
			to.Error = ""
		}
	}
	return a
}

// verdict is nil if a case is within its limit.
func (g *Guard) verdict(c *Case, measured *report.Case) error {
	ratio, ok := 0.0, false
	if measured != nil {
		for _, r := range measured.Results {
			if r.Error != "" {
				return fmt.Errorf("%s: %s: %s", c.Name, r.Target, r.Error)
			}
		}
		ratio, ok = measured.Ratio(guardFigure(c), "millrace", "floor")
	}
	held, known := g.Ratios[c.Name]
	switch {
	case !ok:
		return fmt.Errorf("%s: nothing was measured", c.Name)
	case !known:
		return fmt.Errorf("%s: no committed ratio; `bench guard --update` writes them", c.Name)
	case ratio > held.Ratio*g.Tolerance:
		return fmt.Errorf("%s: %s is ×%.2f of the floor's, ×%.2f is committed and ×%.2f the limit", c.Name, held.Figure, ratio,
			held.Ratio, held.Ratio*g.Tolerance)
	}
	return nil
}

// tell prints every case and gives what is beyond its limit as one error.
func (g *Guard) tell(measured map[string]*report.Case, out io.Writer) error {
	var bad []string
	for _, c := range guardCases() {
		err := g.verdict(&c, measured[c.Name])
		if err != nil {
			bad = append(bad, err.Error())
		}
		m := measured[c.Name]
		if m == nil {
			continue
		}
		ratio, _ := m.Ratio(guardFigure(&c), "millrace", "floor")
		word := "ok"
		if err != nil {
			word = "BEYOND"
		}
		if _, err := fmt.Fprintf(out, "%-12s %-26s ×%.2f of the floor's, committed ×%.2f, %d rounds: %s\n", c.Name,
			guardFigure(&c), ratio, g.Ratios[c.Name].Ratio, len(m.Result("millrace").Rounds), word); err != nil {
			return err
		}
	}
	if bad != nil {
		return errors.New("guard: " + strings.Join(bad, "; "))
	}
	return nil
}

func (g *Guard) write(path string, measured map[string]*report.Case, out io.Writer) error {
	for _, c := range guardCases() {
		m := measured[c.Name]
		if m == nil {
			return fmt.Errorf("%s: nothing was measured", c.Name)
		}
		ratio, ok := m.Ratio(guardFigure(&c), "millrace", "floor")
		if !ok {
			return fmt.Errorf("%s: %s%s", c.Name, m.Result("floor").Error, m.Result("millrace").Error)
		}
		g.Ratios[c.Name] = GuardRatio{Figure: guardFigure(&c), Ratio: float64(int(ratio*100+0.5)) / 100}
		if _, err := fmt.Fprintf(out, "%-12s ×%.2f\n", c.Name, ratio); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
