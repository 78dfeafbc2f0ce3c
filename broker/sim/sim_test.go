package sim_test

import (
	"flag"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/broker/sim"
	"millrace/slab"
)

// make sim SEED=17 STEPS=500 does that run again; make sim FOR=10m goes on for so long.
var (
	simSeed  = flag.Uint64("sim.seed", 0, "seed of the first run; 0: one from the clock")
	simSteps = flag.Int("sim.steps", 500, "actions of a run")
	simRuns  = flag.Int("sim.runs", 600, "number of runs")
	simFor   = flag.Duration("sim.for", 0, "run for so long instead")
)

// TestSim runs clusters from seeds, on all cores. A failure prints its seed, and the shortest list of actions that shows it.
func TestSim(t *testing.T) {
	first := *simSeed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	var next atomic.Uint64
	var mu sync.Mutex // guards total and failed
	var total sim.Tally
	var failed *sim.Finding
	started := time.Now()
	more := func(run uint64) bool {
		mu.Lock()
		defer mu.Unlock()
		if *simFor > 0 {
			return failed == nil && time.Since(started) < *simFor
		}
		return failed == nil && run < uint64(*simRuns)
	}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			pool := newPool(t)
			for run := next.Add(1) - 1; more(run); run = next.Add(1) - 1 {
				var tally sim.Tally
				f := sim.Run(sim.Options{Seed: first + run, Steps: *simSteps, Pool: pool}, &tally)
				mu.Lock()
				total.Add(&tally)
				if f != nil && failed == nil {
					failed = f
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	took := time.Since(started)
	t.Logf("first seed %d: %v, in %v, %.0f actions/s", first, &total, took.Round(time.Millisecond),
		float64(total.Actions)/took.Seconds())
	if failed != nil {
		report(t, failed)
	}
	if total.Runs >= 500 {
		checkVariety(t, &total)
	}
}

func report(t *testing.T, f *sim.Finding) {
	t.Helper()
	pool := newPool(t)
	f.UsePool(pool)
	short := f.Shrink()
	t.Errorf("make sim SEED=%d STEPS=%d\n%s\nshrunk from %d actions to %d:\n%s", f.Seed, *simSteps, f.Violation, f.Actions(),
		short.Actions(), short.Story())
}

// checkVariety: a simulator in which nothing can go wrong finds nothing.
func checkVariety(t *testing.T, total *sim.Tally) {
	for what, n := range map[string]int{"committed": total.Committed, "acked": total.Acked, "losses": total.Losses,
		"truncations": total.Truncations, "snapshots": total.Snapshots, "offsets": total.Offsets, "compactions": total.Compactions} {
		if n == 0 {
			t.Errorf("%s: none", what)
		}
	}
	for kind, n := range total.ByAction() {
		if n == 0 {
			t.Errorf("%s: never", kind)
		}
	}
}

// newPool wants everything back at the end.
func newPool(t *testing.T) *slab.Pool {
	pool := slab.NewPool(slab.Options{LimitBytes: 1 << 30})
	t.Cleanup(func() {
		if n := pool.Close(); n != 0 && !t.Failed() {
			t.Errorf("%d slabs were not released", n)
		}
	})
	return pool
}

// TestSameAgain: a seed decides everything.
func TestSameAgain(t *testing.T) {
	pool := newPool(t)
	var stories [2]string
	for i := range stories {
		for seed := range uint64(20) {
			stories[i] += sim.Trace(sim.Options{Seed: seed, Steps: 300, Pool: pool})
		}
	}
	a, b := strings.Split(stories[0], "\n"), strings.Split(stories[1], "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d was %q, then %q", i, a[i], b[i])
		}
	}
	if len(a) != len(b) || len(a) < 1000 {
		t.Errorf("%d lines, then %d", len(a), len(b))
	}
}

// TestSees puts a bug in and wants the simulator to see it, and to tell it in few words. The other bugs, and those of the
// machines, take the build tag mutants.
func TestSees(t *testing.T) {
	pool := newPool(t)
	for _, tt := range []struct {
		name       string
		bugs       sim.Bugs
		violation  string
		actionsMax int // a shrunk story that is longer is not shrunk
	}{
		{"lease id as incarnation", sim.Bugs{LeaseIsIncarnation: true}, "lost record", 60},
		{"no ELR", sim.Bugs{NoELR: true}, "loss declared without enough crashes", 60},
		{"R6", sim.Bugs{LossKeepsBase: true}, "offset used twice", 60},
		{"R7", sim.Bugs{PIDsReused: true}, "acknowledged without being committed", 40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := firstFinding(sim.Options{Bugs: tt.bugs, Kinds: []string{tt.violation}, Pool: pool}, 5000)
			if f == nil {
				t.Fatal("nothing seen")
			}
			short := f.Shrink()
			if short.Kind() != tt.violation || short.Actions() > tt.actionsMax {
				t.Errorf("%d actions shrunk to %d: %s", f.Actions(), short.Actions(), short.Story())
			}
			if again := short.Replay(); again != short.Violation {
				t.Errorf("replayed %q, was %q", again, short.Violation)
			}
		})
	}
}

func firstFinding(o sim.Options, runs uint64) *sim.Finding {
	for o.Seed = range runs {
		if f := sim.Run(o, &sim.Tally{}); f != nil {
			return f
		}
	}
	return nil
}
