package bench

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"millrace/bench/proc"
	"millrace/bench/report"
)

// A figure beyond its target is told; it is an error when it is beyond that many times over, or wasn't measured.
func TestTellGoals(t *testing.T) {
	rep := report.New("test", proc.Machine{})
	add := func(name, target string, f report.Figures) {
		c := rep.Find(name)
		if c == nil {
			c = &report.Case{Name: name, Results: []*report.Result{}}
			rep.Cases = append(rep.Cases, c)
		}
		c.Result(target).Add(f, nil)
	}
	add("cpu", "millrace", report.Figures{"server_cpu_s_per_gb": 4})
	add("cpu", alone, report.Figures{"server_cpu_s_per_gb": 1})
	add("kill", "millrace", report.Figures{"failover_ms": 100})
	add("roll", "millrace", report.Figures{"lost": 0, "errors": 1})
	goals := []report.Goal{
		{Text: "cpu", Case: "cpu", Figure: "server_cpu_s_per_gb", Against: alone, Limit: 3},
		{Text: "kill", Case: "kill", Figure: "failover_ms", Limit: 500},
		{Text: "lost", Case: "roll", Figure: "lost"},
		{Text: "left out", Case: "nothing", Figure: "lost"},
	}
	for _, c := range []struct {
		goals []report.Goal
		loose float64
		want  string // in the error
	}{
		{goals, 2, ""},
		{goals, 1, "cpu: ×4, more than 1 times the target of 3"},
		{append(slices.Clone(goals), report.Goal{Text: "errors", Case: "roll", Figure: "errors"}), 3, "errors: 1, more than 3 times the target of 0"},
		{append(slices.Clone(goals), report.Goal{Text: "gone", Case: "kill", Figure: "lost"}), 3, "gone: not measured"},
	} {
		var out bytes.Buffer
		err := TellGoals(&out, rep, c.goals, c.loose)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("loose %g: %v, want %q", c.loose, err, c.want)
		}
		if !strings.Contains(out.String(), "missed") || strings.Contains(out.String(), "left out") {
			t.Errorf("%s", out.String())
		}
	}
}

// Every goal is one of a case that there is.
func TestReplicationGoals(t *testing.T) {
	for _, g := range ReplicationGoals() {
		if !slices.ContainsFunc(replicationCases(), func(c replicationCase) bool { return c.name == g.Case }) {
			t.Errorf("%s: no case %s", g.Text, g.Case)
		}
		if report.About(g.Figure).Title == g.Figure && g.Figure != "errors" && g.Figure != "lost" && g.Figure != "duplicated" {
			t.Errorf("%s: figure %s isn't known", g.Text, g.Figure)
		}
	}
}
