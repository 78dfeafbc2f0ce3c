package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report gathers what happened, tells it as it happens, and sums it up.
type report struct {
	out   io.Writer
	began time.Time
	steps []*step

	kinds      map[kind]int
	acked      int
	oneAcked   int
	consumed   int
	final      int
	losses     []string
	errors     map[string]int
	gaps       map[kind][]time.Duration
	violations []violation
}

// step is faults that were begun together.
type step struct {
	faults   []fault
	from, to time.Time
}

// gapLeast is how long nothing must be acknowledged to a partition to be counted as unavailable.
const gapLeast = 500 * time.Millisecond

// gapTold is how long a window must be to be told of by itself.
const gapTold = 5 * time.Second

func newReport(out io.Writer) *report {
	return &report{out: out, began: time.Now(), kinds: map[kind]int{}, errors: map[string]int{}, gaps: map[kind][]time.Duration{}}
}

func (r *report) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.out, "%6.1f s  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

func (r *report) begin(number int, faults []fault) *step {
	var words []string
	for _, f := range faults {
		r.kinds[f.kind]++
		words = append(words, f.String())
	}
	r.say("%3d  %s", number, strings.Join(words, "; and "))
	s := &step{faults: faults, from: time.Now()}
	r.steps = append(r.steps, s)
	return s
}

// end notes that the cluster is whole again, and how long it took once all was healed.
func (r *report) end(s *step, took time.Duration) {
	s.to = time.Now()
	if took > 0 {
		r.say("     all in sync after %.1f s", took.Seconds())
	}
}

// judged takes a history that was checked.
func (r *report) judged(name string, w *workload, found []violation) {
	h := w.h
	acked, one, consumed, final := 0, 0, 0, 0
	for _, wr := range h.writers {
		for _, a := range wr.acks {
			switch {
			case a.offset < 0:
			case wr.all:
				acked++
			default:
				one++
			}
		}
	}
	for _, rd := range h.readers {
		consumed += rd.count()
	}
	for _, b := range append(h.before, checkpoint{there: h.final}) {
		for _, p := range b.there {
			final += len(p)
		}
	}
	for _, l := range h.losses {
		r.losses = append(r.losses, l.String())
	}
	for _, g := range h.gaps(gapLeast) {
		k := r.during(g)
		r.gaps[k] = append(r.gaps[k], g.length())
		if g.length() > gapTold {
			r.say("     partition %d acknowledged nothing from %.1f s to %.1f s", g.partition, g.from.Sub(r.began).Seconds(), g.to.Sub(r.began).Seconds())
		}
	}
	w.errors.mu.Lock()
	for e, n := range w.errors.n {
		r.errors[e] += n
	}
	w.errors.mu.Unlock()
	r.acked, r.oneAcked, r.consumed, r.final = r.acked+acked, r.oneAcked+one, r.consumed+consumed, r.final+final
	r.say("%s: %d acked by all, %d by one, %d read back, %d consumed meanwhile; declared losses: %d; violations: %d", name, acked, one,
		final, consumed, len(h.losses), len(found))
	for _, v := range found {
		r.violate(v)
	}
}

// during gives the kind of fault that a gap belongs to: the one in whose step most of it lies.
func (r *report) during(g gap) kind {
	most, best := time.Duration(0), kind("none")
	for _, s := range r.steps {
		from, to := s.from, s.to
		if to.IsZero() {
			to = g.to
		}
		if g.from.After(from) {
			from = g.from
		}
		if g.to.Before(to) {
			to = g.to
		}
		if d := to.Sub(from); d > most {
			most, best = d, s.faults[0].kind
		}
	}
	return best
}

// violationsShown bounds what is told of each kind.
const violationsShown = 10

func (r *report) violate(v violation) {
	same := 0
	for _, o := range r.violations {
		if o.kind == v.kind {
			same++
		}
	}
	r.violations = append(r.violations, v)
	if same < violationsShown {
		r.say("VIOLATION %s", v)
	}
}

// broken notes that a phase could not be carried to its end.
func (r *report) broken(name string, c *cluster, w *workload, err error) {
	c.mu.Lock()
	crashes := c.crashes
	c.mu.Unlock()
	w.errors.mu.Lock()
	r.say("%s: clients' errors so far: %v", name, w.errors.n)
	w.errors.mu.Unlock()
	for _, v := range crashes {
		r.violate(v)
	}
	r.violate(violation{unavailable, err.Error()})
}

// sum prints the end of the report.
func (r *report) sum() {
	t := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nFAULT\tTIMES\tUNAVAILABLE (partition windows over %v)\tLONGEST\n", gapLeast)
	longest := time.Duration(0)
	kinds := slices.Sorted(maps.Keys(r.kinds))
	if len(r.gaps["none"]) > 0 {
		kinds = append(kinds, "none")
	}
	for _, k := range kinds {
		top := time.Duration(0)
		for _, g := range r.gaps[k] {
			top = max(top, g)
		}
		longest = max(longest, top)
		fmt.Fprintf(t, "%s\t%d\t%d\t%.1f s\n", k, r.kinds[k], len(r.gaps[k]), top.Seconds())
	}
	_ = t.Flush()
	w := r.out
	fmt.Fprintf(w, "\nacked by all: %d; by one: %d; consumed: %d; read back: %d\n", r.acked, r.oneAcked, r.consumed, r.final)
	for _, e := range slices.Sorted(maps.Keys(r.errors)) {
		fmt.Fprintf(w, "client error, %d times: %s\n", r.errors[e], e)
	}
	fmt.Fprintf(w, "declared losses: %d\n", len(r.losses))
	for _, l := range r.losses[:min(len(r.losses), 2*violationsShown)] {
		fmt.Fprintf(w, "  %s\n", l)
	}
	fmt.Fprintf(w, "longest time without an acknowledgement to a partition: %.1f s\n", longest.Seconds())
	counts := map[string]int{}
	for _, v := range r.violations {
		counts[v.kind]++
	}
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "  %s: %d\n", k, counts[k])
	}
	fmt.Fprintf(w, "violations: %d\n", len(r.violations))
}
