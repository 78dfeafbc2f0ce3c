package bench

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/bench/peer"
	"millrace/bench/report"
)

func TestSize(t *testing.T) {
	tests := []struct {
		in   string
		want Size
		out  string
		bad  bool
	}{
		{"0", 0, "0", false}, {"65536", 64 << 10, "64K", false}, {"64K", 64 << 10, "64K", false}, {"64k", 64 << 10, "64K", false},
		{"1MiB", 1 << 20, "1M", false}, {"2GB", 2 << 30, "2G", false}, {"100", 100, "100", false}, {"1025K", 1025 << 10, "1025K", false},
		{"", 0, "", true}, {"K", 0, "", true}, {"-1", 0, "", true}, {"1.5M", 0, "", true}, {"9999999999G", 0, "", true},
		{"64T", 0, "", true},
	}
	for _, tt := range tests {
		var s Size
		if err := s.Set(tt.in); (err != nil) != tt.bad || !tt.bad && (s != tt.want || s.String() != tt.out) {
			t.Errorf("Set(%q): %d, %q, %v", tt.in, s, s.String(), err)
		}
	}
}

func TestParamsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*Params){
		"no connections": func(p *Params) { p.Connections = 0 }, "acks": func(p *Params) { p.Acks = 2 },
		"record": func(p *Params) { p.RecordBytes = 5 }, "client": func(p *Params) { p.Client = "curl" },
		"rate": func(p *Params) { p.Rate = -1 }, "run": func(p *Params) { p.Run = 0 },
	} {
		p := Base()
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		if change(&p); p.Check() == nil {
			t.Errorf("%s: nobody minds", name)
		}
	}
}

// TestTables holds together what names each other: workloads, presets, suite, guard, goals, schema.
func TestTables(t *testing.T) {
	r := Runner{Targets: []string{"floor", "millrace", "kfake", "kafka", "nats", "redis"}}
	names, figures := map[string]bool{}, map[string]bool{}
	for _, f := range report.Known {
		figures[f.Name] = true
	}
	for _, c := range append(append(Suite(), Presets()...), guardCases()...) {
		if targets, err := r.plan(&c); err != nil || len(targets) == 0 {
			t.Errorf("%s: %v, %v", c.Name, targets, err)
		}
	}
	for _, c := range Suite() {
		if names[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		names[c.Name] = true
	}
	for _, g := range Goals() {
		if !names[g.Case] || g.Base != "" && !names[g.Base] || !figures[g.Figure] || g.Limit == 0 {
			t.Errorf("goal %q: %+v", g.Text, g)
		}
	}
	schema, err := os.ReadFile("report/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range Workloads() {
		if !figures[w.Main] || !strings.Contains(string(schema), `"`+w.Name+`"`) {
			t.Errorf("workload %s: main figure or schema", w.Name)
		}
		p := w.Defaults()
		if m := p.Map(w.Uses); len(m) == 0 {
			t.Errorf("workload %s uses nothing", w.Name)
		}
	}
	if err := List(io.Discard); err != nil {
		t.Error(err)
	}
	if _, err := FindWorkload("dance"); err == nil {
		t.Error("a workload that isn't there")
	}
	if _, err := FindPreset("dance"); err == nil {
		t.Error("a preset that isn't there")
	}
}

// measured is a case with so many times the floor's cost.
func measured(name string, ratios ...float64) *report.Case {
	c := &report.Case{Name: name}
	for _, r := range ratios {
		c.Result("floor").Add(report.Figures{"server_cpu_s_per_gb": 0.2, "server_cpu_us_per_record": 10}, nil)
		c.Result("millrace").Add(report.Figures{"server_cpu_s_per_gb": 0.2 * r, "server_cpu_us_per_record": 10 * r}, nil)
	}
	return c
}

func TestGuardVerdicts(t *testing.T) {
	cases := guardCases()
	failed := measured(cases[0].Name, 1)
	failed.Result("millrace").Error = "it died"
	g := &Guard{Schema: guardSchema, Tolerance: 1.25, Ratios: map[string]GuardRatio{cases[0].Name: {"server_cpu_s_per_gb", 1.4}}}
	tests := []struct {
		name string
		c    Case
		m    *report.Case
		want string // part of the error; empty: none
	}{
		{"as committed", cases[0], measured(cases[0].Name, 1.4, 1.3, 1.5), ""},
		{"at the limit", cases[0], measured(cases[0].Name, 1.7), ""},
		{"one bad round of three", cases[0], measured(cases[0].Name, 1.4, 9, 1.4), ""},
		{"beyond", cases[0], measured(cases[0].Name, 1.8, 1.9, 2), cases[0].Name + ": server_cpu_s_per_gb is ×1.90"},
		{"not committed", cases[1], measured(cases[1].Name, 1), "no committed ratio"},
		{"not measured", cases[0], nil, "nothing was measured"},
		{"failed", cases[0], failed, "it died"},
	}
	for _, tt := range tests {
		err := g.verdict(&tt.c, tt.m)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	all := map[string]*report.Case{}
	for _, c := range cases {
		all[c.Name] = measured(c.Name, 1.2)
	}
	path := filepath.Join(t.TempDir(), "guard.json")
	if err := g.write(path, all, io.Discard); err != nil {
		t.Fatal(err)
	}
	back, err := ReadGuard(path)
	if err != nil || len(back.Ratios) != len(cases) || back.Ratios[cases[0].Name].Ratio != 1.2 {
		t.Errorf("%+v, %v", back, err)
	}
	var out bytes.Buffer
	if err := back.tell(all, &out); err != nil || strings.Count(out.String(), "ok") != len(cases) {
		t.Errorf("%v\n%s", err, out.String())
	}
	all[cases[2].Name] = measured(cases[2].Name, 3)
	if err := back.tell(all, &out); err == nil || !strings.Contains(err.Error(), cases[2].Name) {
		t.Errorf("error: %v", err)
	}
	if merged := merge(measured("x", 1, 1), measured("x", 2)); len(merged.Result("floor").Rounds) != 3 {
		t.Errorf("%d rounds", len(merged.Result("floor").Rounds))
	}
}

// TestCommittedGuard holds the committed file to the cases that there are.
func TestCommittedGuard(t *testing.T) {
	g, err := ReadGuard("guard.json")
	if err != nil {
		t.Fatal(err)
	}
	if g.Tolerance != guardTolerance || len(g.Ratios) != len(guardCases()) {
		t.Errorf("tolerance %v, %d ratios", g.Tolerance, len(g.Ratios))
	}
	for _, c := range guardCases() {
		if r := g.Ratios[c.Name]; r.Ratio < 0.5 || r.Figure != guardFigure(&c) {
			t.Errorf("%s: %+v; `bench guard --update` writes it", c.Name, r)
		}
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{W: &out, Terminal: true}
	p.Say("preparing %s", "floor")
	p.Begin([]float64{10, 30})
	p.Step("first floor round 1/2", 0.5)
	p.Skip()
	p.Step("second", 0)
	p.End()
	for _, want := range []string{"preparing floor", " 12 %", " 25 %", "left", "first floor round 1/2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in %q", want, out.String())
		}
	}
	out.Reset()
	p = &Progress{W: &out}
	p.Begin([]float64{10})
	p.Step("case a", 0)
	p.Step("case b", 0.5)
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("not one line a case: %q", out.String())
	}
	p = nil // shows nothing, and minds nothing
	p.Say("x")
	p.Begin(nil)
	p.Step("x", 0)
	p.Skip()
	p.End()
}

func TestAPeerThatCannotBeHadIsLeftOut(t *testing.T) {
	var log bytes.Buffer
	r := Runner{Targets: []string{"kfake"}, Config: &peer.Config{Modules: t.TempDir(), Cache: t.TempDir(), Log: &log}}
	_, err := r.Run(t.Context(), "test", nil)
	if err == nil || !strings.Contains(log.String(), "leaving kfake out") {
		t.Errorf("%v, %q", err, log.String())
	}
}
