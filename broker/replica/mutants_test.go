//go:build mutants

package replica_test

import (
	"flag"
	"slices"
	"testing"
	"time"

	"millrace/broker/replica"
)

// TestMutants switches the rules off, one by one, and wants the exploration to see what goes wrong:
//
//	go test -tags mutants -run TestMutants -v ./broker/replica
var (
	mutantRuns = flag.Int("mutants.runs", 500_000, "runs that a mutant may survive")
	mutantTell = flag.Bool("mutants.tell", false, "tell how each was found")
)

// controllerMutants are the controller's rules.
var controllerMutants = map[string]func(*controllerRules){
	"entries have incarnations (R1)": func(r *controllerRules) { r.entriesHaveIncarnations = false },
	"no leader without a past (R3)":  func(r *controllerRules) { r.emptyISR = false },
	"ELR":                            func(r *controllerRules) { r.elr = false },
	"joining incarnation checked":    func(r *controllerRules) { r.proposalsChecked = false },
	"partition epoch compared":       func(r *controllerRules) { r.epochsChecked = false },
	"removal raises leader epoch":    func(r *controllerRules) { r.removalRaisesEpoch = false },
	"loss raises base (R6)":          func(r *controllerRules) { r.lossRaisesBase = false },
}

// losses are the rules without which a record must be seen to be lost, or a loss to be declared for too little. Of the others
// any violation will do.
var losses = []string{"entries have incarnations (R1)", "leader bound to incarnation (R2)", "no leader without a past (R3)", "ELR",
	"maximal ISR", "HW needs minISR", "join at epoch start", "fetch epoch"}

func TestMutants(t *testing.T) {
	names := replica.Rules()
	for name := range controllerMutants {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { mutant(t, name) })
	}
}

func mutant(t *testing.T, name string) {
	rules := allControllerRules
	if change := controllerMutants[name]; change != nil {
		change(&rules)
	} else {
		replica.SwitchRule(name, false)
		defer replica.SwitchRule(name, true)
		rules.leaderBound = name != "leader bound to incarnation (R2)" // which takes two to break
	}
	var kinds []string
	if slices.Contains(losses, name) {
		kinds = []string{lostRecord, needlessLoss}
	}
	started := time.Now()
	for seed := range uint64(*mutantRuns) {
		f := explore(seed, rules, kinds, &tally{})
		if f == nil {
			continue
		}
		t.Logf("%-34s run %6d, %6v: %s", name, seed+1, time.Since(started).Round(time.Millisecond), f.kind())
		if *mutantTell {
			t.Log(f.shrink().story())
		}
		return
	}
	t.Errorf("%s: not missed in %d runs, %v", name, *mutantRuns, time.Since(started))
}
