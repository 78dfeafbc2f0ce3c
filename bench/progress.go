package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Progress shows how far a run is and how long it will still take: a bar that rewrites itself on a terminal, a line for
// each case elsewhere. A nil Progress shows nothing.
type Progress struct {
	W        io.Writer
	Terminal bool

	plan  []float64 // estimated seconds of each case
	at    int
	begun time.Time
	shown string
	last  string
}

// Begin starts with the estimated seconds of each case.
func (p *Progress) Begin(plan []float64) {
	if p != nil {
		p.plan, p.at, p.begun = plan, 0, time.Now()
	}
}

// Step shows what is being done; done is how much of the case at hand is behind, from 0 to 1.
func (p *Progress) Step(what string, done float64) {
	if p == nil {
		return
	}
	var before, all float64
	for i, s := range p.plan {
		all += s
		if i < p.at {
			before += s
		} else if i == p.at {
			before += s * done
		}
	}
	left := all - before
	// What has been takes the measure for what is to come, as soon as there is enough of it.
	if spent := time.Since(p.begun).Seconds(); before > 5 {
		left *= spent / before
	}
	share := 0.0
	if all > 0 {
		share = before / all
	}
	if !p.Terminal {
		name, _, _ := strings.Cut(what, " ")
		if name != p.last {
			p.last = name
			_, _ = fmt.Fprintf(p.W, "%3.0f %%  %s, %v left\n", 100*share, name, duration(left))
		}
		return
	}
	const width = 30
	full := int(share * width)
	line := fmt.Sprintf("[%s%s] %3.0f %%  %v left  %s", strings.Repeat("#", full), strings.Repeat(".", width-full), 100*share,
		duration(left), what)
	p.show(line)
}

// Say shows something that has no place in the plan.
func (p *Progress) Say(format string, args ...any) {
	if p != nil && p.Terminal {
		p.show(fmt.Sprintf(format, args...))
	}
}

// Skip goes on to the next case.
func (p *Progress) Skip() {
	if p != nil {
		p.at++
	}
}

// Clear takes the bar away, so that something else can be printed.
func (p *Progress) Clear() {
	if p != nil && p.shown != "" {
		p.show("")
	}
}

// End is Clear for good.
func (p *Progress) End() { p.Clear() }

func (p *Progress) show(line string) {
	pad := max(len(p.shown)-len(line), 0)
	_, _ = fmt.Fprintf(p.W, "\r%s%s", line, strings.Repeat(" ", pad))
	if p.shown = line; line == "" {
		_, _ = fmt.Fprint(p.W, "\r")
	}
}

func duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}
