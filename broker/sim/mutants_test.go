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

// TestMutants puts in one bug after the other, those of this package and those of the machines, and wants each to be seen:
//
//	go test -tags mutants -run TestMutants -v ./broker/sim
var (
	mutantRuns = flag.Int("mutants.runs", 20_000, "runs that a mutant may survive")
	mutantTell = flag.Bool("mutants.tell", false, "tell how each was found")
)

var mutants = map[string]sim.Bugs{
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
	"offsets acknowledged early":       {OffsetsEarly: true},
	"uncommitted offsets served":       {ServedUncommitted: true},
	"compaction beyond the HW":         {CleanedUncommitted: true},
	"compaction cuts early":            {CutEarly: true},
}

// elsewhere are rules that it takes minutes to miss here, and seconds in package replica, where there is less around them.
var elsewhere = []string{"comparable", "withdraw"}

func TestMutants(t *testing.T) {
	var names []string
	for _, rule := range replica.Rules() {
		if !slices.Contains(elsewhere, rule) {
			names = append(names, rule)
		}
	}
	for name := range mutants {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { mutant(t, name) })
	}
	t.Logf("%d mutants", len(names))
}

func mutant(t *testing.T, name string) {
	o := sim.Options{Pool: newPool(t)}
	if bugs, ok := mutants[name]; ok {
		o.Bugs = bugs
	} else {
		replica.SwitchRule(name, false)
		defer replica.SwitchRule(name, true)
	}
	started := time.Now()
	f := firstFinding(o, uint64(*mutantRuns))
	took := time.Since(started).Round(time.Millisecond)
	if f == nil {
		t.Errorf("%s: not missed in %d runs, %v", name, *mutantRuns, took)
		return
	}
	t.Logf("%-34s run %6d, %6v: %s", name, f.Seed+1, took, f.Kind())
	if *mutantTell {
		t.Log(f.Shrink().Story())
	}
}
