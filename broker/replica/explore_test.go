package replica_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A seeded random walk through what can happen to a partition, with everything checked after each action. A failure prints
// its seed and the shortest list of actions that shows it. More of it:
//
//	go test -run TestExplore ./broker/replica -explore.for 10m
//	go test -run TestExplore ./broker/replica -explore.seed 123 -explore.runs 1
var (
	exploreSeed = flag.Uint64("explore.seed", 0, "seed of the first run; 0: one from the clock")
	exploreRuns = flag.Int("explore.runs", 3000, "number of runs")
	exploreFor  = flag.Duration("explore.for", 0, "explore for so long instead")
)

const actionsPerRun = 300

func TestExplore(t *testing.T) {
	seed := *exploreSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	started, runs, total := time.Now(), 0, tally{}
	for ; runs < *exploreRuns || *exploreFor > 0; runs++ {
		if *exploreFor > 0 && time.Since(started) > *exploreFor {
			break
		}
		f := explore(seed+uint64(runs), allControllerRules, nil, &total)
		if f != nil {
			t.Fatalf("seed %d: %s", seed+uint64(runs), f.shrink().story())
		}
	}
	t.Logf("seed %d: %d runs, %d actions, %d records committed, %d elections, %d losses declared, in %v", seed, runs,
		total.actions, total.committed, total.epochs, total.losses, time.Since(started).Round(time.Millisecond))
	if total.committed == 0 || total.losses == 0 {
		t.Error("nothing happened that could have gone wrong")
	}
}

type tally struct{ actions, committed, epochs, losses int }

// finding is a list of actions that leads to a violation.
type finding struct {
	brokers   int
	rules     controllerRules
	kinds     []string // of violations that were looked for; nil: all
	actions   []action
	healed    bool // it was found when all was to be well again
	violation string
}

// explore is one run.
func explore(seed uint64, rules controllerRules, kinds []string, total *tally) *finding {
	r := rand.New(rand.NewPCG(seed, 0))
	f := finding{brokers: 3 + r.IntN(2), rules: rules, kinds: kinds}
	w := f.world()
	t := drawTemper(r)
	for len(f.actions) < actionsPerRun && w.oracle.violation == "" {
		a := t.draw(w, r)
		if !w.apply(a) && a.kind != doTick {
			continue
		}
		f.actions = append(f.actions, a)
		w.oracle.check()
	}
	if w.oracle.violation == "" && seed%2 == 0 {
		f.healed = true
		w.heal()
	}
	total.actions += len(f.actions)
	total.committed += len(w.oracle.committed)
	total.epochs += int(w.controller.now().leaderEpoch)
	total.losses += int(w.controller.now().lossGeneration)
	if f.violation = w.oracle.violation; f.violation == "" {
		return nil
	}
	return &f
}

func (f *finding) world() *world {
	w := newWorld(f.brokers, 2, f.rules)
	w.oracle.kinds = f.kinds
	return w
}

// replay does the actions in a world of their own.
func (f *finding) replay(trace func(string, ...any)) *world {
	w := f.world()
	w.trace = trace
	for _, a := range f.actions {
		before := len(w.controller.images)
		if w.apply(a); len(w.controller.images) > before {
			w.say("  → %v", w.controller.now())
		}
		w.oracle.check()
		if w.oracle.violation != "" {
			return w
		}
	}
	if f.healed {
		w.heal()
	}
	return w
}

func (f *finding) kind() string { return strings.SplitN(f.violation, ":", 2)[0] }

// shrink leaves out what isn't needed, as long as the same kind of thing goes wrong.
func (f *finding) shrink() *finding {
	best := *f
	for size := len(best.actions) / 2; size > 0; {
		shorter := false
		for at := 0; at+size <= len(best.actions); {
			try := best
			try.actions = slices.Delete(slices.Clone(best.actions), at, at+size)
			try.violation = try.replay(nil).oracle.violation
			if try.violation != "" && try.kind() == best.kind() {
				best, shorter = try, true
			} else {
				at += size
			}
		}
		if !shorter || size > len(best.actions) {
			size /= 2
		}
	}
	return &best
}

// story tells what happened.
func (f *finding) story() string {
	var s strings.Builder
	s.WriteString(f.violation + "\n")
	w := f.replay(func(format string, args ...any) { writeLine(&s, format, args...) })
	for _, n := range w.nodes {
		writeLine(&s, "%v", n)
	}
	writeLine(&s, "%v", w.controller.now())
	return s.String()
}

// TestExploreSees lets the controller forget a rule and wants the exploration to see it, and to tell it in few words. The
// rules of the machine itself take the build tag mutants.
func TestExploreSees(t *testing.T) {
	for _, tt := range []struct {
		name       string
		forget     func(*controllerRules)
		violation  string
		actionsMax int // a shrunk story that is longer is not shrunk
	}{
		{"R1", func(r *controllerRules) { r.entriesHaveIncarnations = false }, lostRecord, 40},
		{"R3", func(r *controllerRules) { r.emptyISR = false }, lostRecord, 40},
		{"ELR", func(r *controllerRules) { r.elr = false }, needlessLoss, 40},
		{"R6", func(r *controllerRules) { r.lossRaisesBase = false }, reusedOffset, 40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules := allControllerRules
			tt.forget(&rules)
			for seed := range uint64(5000) {
				f := explore(seed, rules, []string{tt.violation}, &tally{})
				if f == nil {
					continue
				}
				short := f.shrink()
				if short.kind() != tt.violation || len(short.actions) > tt.actionsMax {
					t.Errorf("%d actions shrunk to %d: %s", len(f.actions), len(short.actions), short.story())
				}
				if again := short.replay(nil).oracle.violation; again != short.violation {
					t.Errorf("replayed %q, was %q", again, short.violation)
				}
				return
			}
			t.Error("nothing seen")
		})
	}
}
