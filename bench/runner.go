package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"millrace/bench/peer"
	"millrace/bench/proc"
	"millrace/bench/report"
)

// Case is a workload with parameters under a name.
type Case struct {
	Name     string
	Workload string
	Params   Params
	// Targets, if there are any, are those that the case is about; else all that the workload makes sense for.
	Targets []string
	// Rounds is how often it runs if not as often as the runner says: fewer where a round is long.
	Rounds int
}

// Runner runs cases. It belongs to one goroutine.
type Runner struct {
	Config   *peer.Config
	Targets  []string     // names of peers, in the order of their turns
	External *peer.Target // a broker that runs already, the target "external"
	Rounds   int
	Calm     bool // wait before each run for a moment in which nobody else works
	Calls    bool // count system calls, in runs of their own
	Progress *Progress
	Out      io.Writer // gets a table for each case; nil: none

	versions map[string]string
	running  map[string]*running
}

// running is a target that later cases may use again.
type running struct {
	target *peer.Target
	needs  peer.Needs
}

// Run runs the cases and gives the report. It ends early only when ctx is done, then with what there is.
func (r *Runner) Run(ctx context.Context, command string, cases []Case) (*report.Report, error) {
	rep := report.New(command, proc.Describe())
	r.running = map[string]*running{}
	defer r.stopAll()
	if err := r.prepare(ctx, rep); err != nil {
		return rep, err
	}
	for _, c := range cases {
		if _, err := r.plan(&c); err != nil {
			return rep, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	r.Progress.Begin(r.steps(cases))
	defer r.Progress.End()
	for _, c := range cases {
		rc, err := r.runCase(ctx, rep, &c)
		if rc != nil && r.Out != nil {
			r.Progress.Clear()
			if terr := report.Table(r.Out, rc); err == nil {
				err = terr
			}
		}
		if err != nil {
			return rep, err
		}
	}
	return rep, nil
}

// prepare builds and fetches what the targets need. A peer that can't be had is left out, and said to be; Millrace and
// the floor can't be left out.
func (r *Runner) prepare(ctx context.Context, rep *report.Report) error {
	r.versions = map[string]string{}
	var have []string
	for _, name := range r.Targets {
		p, err := peer.ByName(name)
		if err != nil {
			return err
		}
		r.Progress.Say("preparing %s", name)
		version, err := p.Prepare(ctx, r.Config)
		if err != nil {
			if name == "millrace" || name == "floor" {
				return fmt.Errorf("%s: %w", name, err)
			}
			r.Progress.Clear()
			_, _ = fmt.Fprintf(r.Config.Log, "leaving %s out: %v\n", name, err)
			continue
		}
		have = append(have, name)
		r.versions[name] = version
		rep.AddTarget(report.Target{Name: name, About: p.About, Version: version})
	}
	r.Targets = have
	if r.External != nil {
		rep.AddTarget(report.Target{Name: "external", About: "a broker that was there already, at " + r.External.Bootstrap})
		r.Targets = append(r.Targets, "external")
	}
	if len(r.Targets) == 0 {
		return errors.New("there is no target")
	}
	return nil
}

// plan checks a case and gives the targets that take part.
func (r *Runner) plan(c *Case) (targets []string, err error) {
	w, err := FindWorkload(c.Workload)
	if err != nil {
		return nil, err
	}
	if err := c.Params.Check(); err != nil {
		return nil, err
	}
	if !slices.Contains(w.Clients, c.Params.Client) {
		return nil, fmt.Errorf("%s can be run with %v, not with %s", w.Name, w.Clients, c.Params.Client)
	}
	for _, name := range r.Targets {
		if slices.Contains(w.Targets, name) && (len(c.Targets) == 0 || name == "external" || slices.Contains(c.Targets, name)) {
			targets = append(targets, name)
		}
	}
	return targets, nil
}

// parameters are what the report says of a case. The Java tools have their own defaults for most.
func (c *Case) parameters(w *Workload) map[string]any {
	if c.Params.Client == Java {
		return c.Params.Map([]string{"record", "partitions", "acks", "rate", "bytes"})
	}
	return c.Params.Map(w.Uses)
}

func (r *Runner) rounds(c *Case) int {
	if c.Rounds > 0 {
		return min(c.Rounds, max(r.Rounds, 1))
	}
	return max(r.Rounds, 1)
}

// steps estimates the seconds of each case.
func (r *Runner) steps(cases []Case) (seconds []float64) {
	for _, c := range cases {
		targets, _ := r.plan(&c)
		each := (c.Params.Warm + c.Params.Run).Seconds() + 1.5
		seconds = append(seconds, each*float64(r.rounds(&c)*len(targets)))
	}
	return seconds
}

func (r *Runner) runCase(ctx context.Context, rep *report.Report, c *Case) (*report.Case, error) {
	w, err := FindWorkload(c.Workload)
	if err != nil {
		return nil, err
	}
	targets, err := r.plan(c)
	if err != nil || len(targets) == 0 {
		r.Progress.Skip()
		return nil, err
	}
	rc := &report.Case{Name: c.Name, Workload: c.Workload, Client: c.Params.Client, Main: w.Main,
		Parameters: c.parameters(w), Results: []*report.Result{}}
	rep.Cases = append(rep.Cases, rc)
	for _, name := range targets {
		rc.Result(name) // in this order
	}
	rounds := r.rounds(c)
	for round := range rounds {
		for i, name := range targets {
			result := rc.Result(name)
			if result.Error != "" {
				continue
			}
			r.Progress.Step(fmt.Sprintf("%s %s round %d/%d", c.Name, name, round+1, rounds),
				float64(round*len(targets)+i)/float64(rounds*len(targets)))
			o, err := r.runOnce(ctx, w, c, name, rep)
			switch {
			case ctx.Err() != nil:
				return rc, ctx.Err()
			case errors.Is(err, context.DeadlineExceeded):
				result.Error = "it took too long: " + err.Error()
			case err != nil:
				result.Error = err.Error()
			default:
				result.Add(o.figures, o.latency)
			}
		}
	}
	r.Progress.Skip()
	return rc, nil
}

// runOnce runs a case against one target, once.
func (r *Runner) runOnce(ctx context.Context, w *Workload, c *Case, name string, rep *report.Report) (outcome, error) {
	// A peer that hangs costs its part in this case, and no more.
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute+4*(c.Params.Warm+c.Params.Run))
	defer cancel()
	n := needs(&c.Params)
	s := &session{Params: c.Params, config: r.Config, calls: r.Calls}
	if name != "external" {
		p, err := peer.ByName(name)
		if err != nil {
			return outcome{}, err
		}
		s.start = func(ctx context.Context, n peer.Needs) (*peer.Target, error) { return p.Start(ctx, r.Config, n) }
	}
	if w.Name == "idle" || w.Name == "connections" {
		n.RetainBytes, n.ShelfBytes = 8<<20, 1<<20 // what the floor may hold would be counted as its cost
	}
	if w.Name == "first" { // starts its own
		s.target = &peer.Target{Name: name, Speaks: peer.Kafka}
		r.calm(ctx)
		return w.run(ctx, s)
	}
	fresh := w.Fresh || c.Params.FirstTouch
	first := r.running[name] == nil && !fresh
	t, stop, err := r.acquire(ctx, name, n, fresh)
	if err != nil {
		return outcome{}, err
	}
	defer stop()
	for i := range rep.Targets {
		if rep.Targets[i].Name == name && t.Settings != nil {
			rep.Targets[i].Settings = t.Settings
		}
	}
	s.target = t
	defer s.close()
	r.calm(ctx)
	if p, err := peer.ByName(name); err == nil && p.Compiles && first {
		_, _ = w.run(ctx, s) // an error will come again
	}
	o, err := w.run(ctx, s)
	if err != nil && !t.Alive() {
		delete(r.running, name)
		err = fmt.Errorf("%w; the process has ended: %s", err, t.LogTail())
		t.Stop()
	}
	return o, err
}

// acquire gives a running target: a new process if it must be fresh, else the one that ran before if it is good for
// this too. stop is called when the run is over.
func (r *Runner) acquire(ctx context.Context, name string, n peer.Needs, fresh bool) (t *peer.Target, stop func(), err error) {
	if name == "external" {
		return r.External, func() {}, nil
	}
	if have := r.running[name]; have != nil && !fresh {
		if have.target.Alive() && (name != "floor" || have.needs == n) {
			return have.target, func() {}, nil
		}
		have.target.Stop()
		delete(r.running, name)
	}
	p, err := peer.ByName(name)
	if err != nil {
		return nil, nil, err
	}
	if t, err = p.Start(ctx, r.Config, n); err != nil {
		return nil, nil, err
	}
	if fresh {
		return t, t.Stop, nil
	}
	r.running[name] = &running{t, n}
	return t, func() {}, nil
}

func (r *Runner) stopAll() {
	for _, run := range r.running {
		run.target.Stop()
	}
	r.running = nil
}

// calm waits, three seconds at most, for a moment in which nobody else uses the machine.
func (r *Runner) calm(ctx context.Context) {
	if !r.Calm {
		return
	}
	for range 15 {
		before := proc.Busy()
		if pause(ctx, 200*time.Millisecond) != nil || proc.Busy()-before <= 40*time.Millisecond {
			return
		}
	}
}
