//go:build mutants

package sim_test

import (
	"flag"
	"slices"
	"testing"
	"time"

	"millrace/broker/replica"
	"millrace/broker/sim"
)

var (
	mutantRuns = flag.Int("mutants.runs", 100_000, "runs that a mutant may survive")
	mutantTell = flag.Bool("mutants.tell", false, "tell how each was found")
)

var bugs = map[string]sim.Bugs{
	"lease id as incarnation":          {LeaseIsIncarnation: true},
	"entries renewed (R1)":             {EntriesRenewed: true},
	"last entry stays (R3)":            {LastEntryStays: true},
	"no ELR":                           {NoELR: true},
	"loss keeps base (R6)":             {LossKeepsBase: true},
	"removal keeps leader epoch":       {RemovalKeepsEpoch: true},
	"partition states not compared":    {StatesNotCompared: true},
	"registrations not compared":       {LivesNotCompared: true},
	"producer ids reused (R7)":         {PIDsReused: true},
	"snapshots without producers (R7)": {BareSnapshots: true},
	"truncation keeps sequences":       {SequencesKept: true},
	"broker leaves at once (R9)":       {LeaveAtOnce: true},
	"consumers read uncommitted":       {UncommittedRead: true},
}

func TestMutants(t *testing.T) {
	names := replica.Rules()
	for name := range bugs {
		names = append(names, name)
	}
	slices.Sort(names)
	pool := newPool(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			o := sim.Options{Pool: pool, Bugs: bugs[name]}
			if _, ok := bugs[name]; !ok {
				replica.SwitchRule(name, false)
				defer replica.SwitchRule(name, true)
			}
			started := time.Now()
			for o.Seed = range uint64(*mutantRuns) {
				f := sim.Run(o, &sim.Tally{})
				if f == nil {
					continue
				}
				t.Logf("%-34s run %6d, %6v: %s", name, o.Seed+1, time.Since(started).Round(time.Millisecond), f.Kind())
				if *mutantTell {
					t.Log(f.Shrink().Story())
				}
				return
			}
			t.Errorf("%s: not missed in %d runs, %v", name, *mutantRuns, time.Since(started))
		})
	}
}
