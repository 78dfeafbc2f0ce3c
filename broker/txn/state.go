package txn

import "fmt"

// State is what a transaction is doing. The numbers are those of Kafka's records.
type State int8

// The states. Kafka has two more that are never in a record: Dead and PrepareEpochFence.
const (
	Empty State = iota // no transaction was begun yet, or not since InitProducerId
	Ongoing
	PrepareCommit // decided; markers are being written
	PrepareAbort
	CompleteCommit
	CompleteAbort
	numStates
)

var stateNames = [numStates]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}

// String is the name on the wire.
func (s State) String() string {
	if s < 0 || s >= numStates {
		return fmt.Sprintf("State(%d)", int8(s))
	}
	return stateNames[s]
}

// StateNamed finds a state by its name on the wire.
func StateNamed(name string) (State, bool) {
	for s, n := range stateNames {
		if n == name {
			return State(s), true
		}
	}
	return 0, false
}

// before has, for each state, those that it may follow. A transaction may always be loaded in any.
var before = [numStates][]State{
	Empty:          {Empty, CompleteCommit, CompleteAbort},
	Ongoing:        {Empty, Ongoing, CompleteCommit, CompleteAbort},
	PrepareCommit:  {Ongoing},
	PrepareAbort:   {Ongoing, Empty, CompleteCommit, CompleteAbort}, // an abort without a partition: KIP-890
	CompleteCommit: {PrepareCommit},
	CompleteAbort:  {PrepareAbort},
}

// preparing: the decision was made, the markers are not all there.
func (s State) preparing() bool { return s == PrepareCommit || s == PrepareAbort }
