package sim

import (
	"fmt"

	"millrace/broker/replica"
)

// Tally counts what happened, over many runs.
type Tally struct {
	Runs, Actions, Faults, Effects        int
	Committed, Acked                      int // records; batches
	Elections, Losses                     int
	Truncations, Snapshots, Reassignments int
	Offsets, Compactions                  int // of groups
	Cleanings                             int

	actions [actionKinds]int
}

func (t *Tally) count(w *world, f *Finding) {
	t.Runs++
	t.Actions += len(f.actions)
	for _, n := range w.happened {
		t.Effects += n
	}
	t.Truncations += w.happened[replica.EffectTruncate]
	t.Snapshots += w.happened[replica.EffectInstallSnapshot]
	for _, o := range w.oracles {
		t.Committed += len(o.committed)
		t.Elections += len(o.leaders) - 1
		t.Losses += int(o.generation)
		t.Reassignments += o.reassigned
	}
	for _, p := range w.producers {
		t.Acked += p.acked
	}
	t.Offsets += w.committer.acked
	t.Compactions += w.compactions
	t.Cleanings += w.cleanings
	for _, a := range f.actions {
		t.actions[a.kind]++
		if a.kind >= doCrash || a.kind == doLose || a.kind == doRepeat {
			t.Faults++
		}
	}
}

// Add adds what another counted.
func (t *Tally) Add(o *Tally) {
	for _, sum := range []struct {
		to *int
		n  int
	}{
		{&t.Runs, o.Runs}, {&t.Actions, o.Actions}, {&t.Faults, o.Faults}, {&t.Effects, o.Effects}, {&t.Committed, o.Committed},
		{&t.Acked, o.Acked}, {&t.Elections, o.Elections}, {&t.Losses, o.Losses}, {&t.Truncations, o.Truncations},
		{&t.Snapshots, o.Snapshots}, {&t.Reassignments, o.Reassignments},
		{&t.Offsets, o.Offsets}, {&t.Compactions, o.Compactions}, {&t.Cleanings, o.Cleanings},
	} {
		*sum.to += sum.n
	}
	for kind, n := range o.actions {
		t.actions[kind] += n
	}
}

// ByAction is how often each kind of action was taken.
func (t *Tally) ByAction() map[string]int {
	m := map[string]int{}
	for kind, n := range t.actions {
		m[actionNames[kind]] = n
	}
	return m
}

func (t *Tally) String() string {
	return fmt.Sprintf("%d runs, %d actions (%d of them faults), %d effects, %d records committed, %d batches acknowledged, "+
		"%d elections, %d losses declared, %d truncations, %d snapshots, %d reassignments ended, %d offsets committed, "+
		"%d logs of groups compacted, %d logs cleaned", t.Runs, t.Actions, t.Faults, t.Effects, t.Committed, t.Acked, t.Elections, t.Losses,
		t.Truncations, t.Snapshots, t.Reassignments, t.Offsets, t.Compactions, t.Cleanings)
}
