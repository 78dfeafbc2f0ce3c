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

// drawCluster is a plain one in every second run: much in one place finds what needs a certain order of events.
func drawCluster(r *rand.Rand) cluster {
	c := cluster{brokers: replicationFactor, partitions: 1, producers: 2 + r.IntN(6), txnMax: []int{0, 8, 127}[r.IntN(3)],
		prompt: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		return c
	}
	c.brokers, c.partitions = []int{3, 4, 5}[r.IntN(3)], 1+r.IntN(2)
	c.groups, c.compact = r.IntN(2) == 0, r.IntN(2) == 0
	return c
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

// Story tells what happened, action by action. Of a very long one the middle is left out: a cluster that doesn't heal says the same
// over and over.
func (f *Finding) Story() string {
	var lines []string
	w := f.replay(func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
	defer w.close()
	if n := len(lines); n > storyHead+storyTail {
		left := fmt.Sprintf("… %d lines …", n-storyHead-storyTail)
		lines = slices.Concat(lines[:storyHead], []string{left}, lines[n-storyTail:])
	}
	for _, n := range w.processes[1:] {
		lines = append(lines, n.String())
	}
	for i := range w.oracles {
		lines = append(lines, fmt.Sprintf("partition %d: %s", i, showPartition(w.truth(i))))
	}
	return f.Violation + "\n" + strings.Join(lines, "\n")
}

// The lines of a story.
const (
	storyHead = 300
	storyTail = 60
)
