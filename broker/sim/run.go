package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"millrace/slab"
)

// Options of a run.
type Options struct {
	Seed  uint64
	Steps int        // actions; default 500
	Bugs  Bugs       // none: all has to go well
	Kinds []string   // of violations to look for; nil: all
	Pool  *slab.Pool // required; where the logs are
}

// Finding is a list of actions that leads to a violation.
type Finding struct {
	Seed      uint64
	Violation string
	cluster   cluster
	kinds     []string
	pool      *slab.Pool
	actions   []action
	healed    bool // it was found when all was to be well again
}

// Run is one run. It returns nil if all went well.
func Run(o Options, total *Tally) *Finding { return run(o, total, nil) }

// Trace is a run told action by action.
func Trace(o Options) string {
	var s strings.Builder
	run(o, &Tally{}, func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) })
	return s.String()
}

func run(o Options, total *Tally, trace func(string, ...any)) *Finding {
	if o.Steps == 0 {
		o.Steps = 500
	}
	r := rand.New(rand.NewPCG(o.Seed, 0))
	f := &Finding{Seed: o.Seed, kinds: o.Kinds, pool: o.Pool, cluster: drawCluster(r)}
	f.cluster.bugs = o.Bugs
	t := drawTemper(r)
	w := f.world()
	defer w.close()
	w.trace = trace
	w.guard(func() {
		for tries := 0; len(f.actions) < o.Steps && w.violation == "" && tries < 20*o.Steps; tries++ {
			a := t.draw(w, r)
			f.actions = append(f.actions, a)
			if !w.apply(a) && a.kind != doTick {
				f.actions = f.actions[:len(f.actions)-1]
			}
		}
		if w.violation == "" && o.Seed%2 == 0 {
			f.healed = true
			w.heal()
		}
	})
	total.count(w, f)
	if f.Violation = w.violation; f.Violation == "" {
		return nil
	}
	return f
}

func drawCluster(r *rand.Rand) cluster {
	return cluster{
		brokers: []int{3, 3, 3, 4, 4, 5}[r.IntN(6)], partitions: []int{1, 1, 2}[r.IntN(3)], producers: 2 + r.IntN(6),
		txnMax: []int{0, 8, 127}[r.IntN(3)], groups: r.IntN(3) == 0, compact: r.IntN(4) == 0, prompt: r.IntN(2) == 0,
	}
}

// guard makes a violation of a panic: the machines and the log watch themselves.
func (w *world) guard(f func()) {
	defer func() {
		if why := recover(); why != nil {
			w.oracles[0].violate(panicked, "%v", why)
			if w.violation == "" {
				panic(why)
			}
		}
	}()
	f()
}

func (f *Finding) world() *world {
	w := newWorld(f.cluster, f.pool)
	w.kinds = f.kinds
	return w
}

// replay does the actions in a world of their own, which the caller closes.
func (f *Finding) replay(trace func(string, ...any)) *world {
	w := f.world()
	w.trace = trace
	w.guard(func() {
		for _, a := range f.actions {
			if w.apply(a); w.violation != "" {
				return
			}
		}
		if f.healed {
			w.heal()
		}
	})
	return w
}

// UsePool has replays keep their logs elsewhere.
func (f *Finding) UsePool(p *slab.Pool) { f.pool = p }

// Kind of the violation.
func (f *Finding) Kind() string { return strings.SplitN(f.Violation, ":", 2)[0] }

// Actions is the number of them.
func (f *Finding) Actions() int { return len(f.actions) }

// Replay does it all again, and returns the violation.
func (f *Finding) Replay() string {
	w := f.replay(nil)
	w.close()
	return w.violation
}

// Shrink leaves out what isn't needed, as long as the same kind of thing goes wrong.
func (f *Finding) Shrink() *Finding {
	best := *f
	for size := len(best.actions) / 2; size > 0; {
		shorter := false
		for at := 0; at+size <= len(best.actions); {
			try := best
			try.actions = slices.Delete(slices.Clone(best.actions), at, at+size)
			if try.Violation = try.Replay(); try.Violation != "" && try.Kind() == best.Kind() {
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

// Story tells what happened, action by action.
func (f *Finding) Story() string {
	var s strings.Builder
	fmt.Fprintln(&s, f.Violation)
	w := f.replay(func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) })
	defer w.close()
	for _, n := range w.processes[1:] {
		fmt.Fprintln(&s, n)
	}
	for i := range w.oracles {
		fmt.Fprintf(&s, "partition %d: %s\n", i, showPartition(w.truth(i)))
	}
	return s.String()
}
