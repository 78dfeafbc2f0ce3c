package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace/bench/peer"
	"millrace/bench/report"
)

// smoke makes a case of a workload that takes about a second.
func smoke(w *Workload, client string) Case {
	p := w.Defaults()
	p.Client, p.Run, p.Warm = client, time.Second, 100*time.Millisecond
	p.Retain, p.Backlog, p.Partitions, p.Rate = 16<<20, 16<<20, min(p.Partitions, 50), min(p.Rate, 500)
	switch w.Name {
	case "connections":
		p.Connections, p.Active = 200, 20
	case "replay":
		p.Run = 30 * time.Second // at most; it ends with the backlog
	}
	return Case{Name: w.Name + "-" + client, Workload: w.Name, Params: p}
}

// TestSmoke runs every workload for a second against Millrace and kfake (and the floor, where it takes part), with every
// client that needs nothing but Go. It needs a binary: MILLRACE_BIN.
func TestSmoke(t *testing.T) {
	binary := os.Getenv("MILLRACE_BIN")
	if binary == "" {
		t.Skip("MILLRACE_BIN is not set")
	}
	defer goleak.VerifyNone(t)
	binary, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
	for _, w := range Workloads() {
		for _, client := range w.Clients {
			if client != Java {
				cases = append(cases, smoke(w, client))
			}
		}
	}
	var out bytes.Buffer
	r := &Runner{Config: &peer.Config{Self: []string{binary, "bench", "floor"}, Millrace: binary, Cache: t.TempDir(),
		Modules: "peers", Log: &out}, Targets: []string{"floor", "millrace", "kfake"}, Rounds: 1, Out: &out}
	rep, err := r.Run(t.Context(), "smoke", cases)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(r.Targets, "kfake") {
		t.Error("kfake could not be built")
	}
	for _, c := range rep.Cases {
		for _, res := range c.Results {
			switch {
			case c.Client == Franz && c.Workload == "fetch" && res.Target == "floor": // whose log never ends
			case res.Error != "":
				t.Errorf("%s against %s: %s", c.Name, res.Target, res.Error)
			case res.Median[c.Main] <= 0:
				t.Errorf("%s against %s has no %s: %v", c.Name, res.Target, c.Main, res.Median)
			}
		}
	}
	if err := report.WriteAll(t.TempDir(), rep); err != nil {
		t.Error(err)
	}
}
