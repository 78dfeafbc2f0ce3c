package group

import "strings"

// State is where a group stands.
type State uint8

// The states of classic and consumer groups, with Kafka's names.
const (
	// Dead: gone, or led elsewhere. Groups in the machine's map are never dead; DescribeGroups says it of unknown ones.
	Dead State = iota
	// Empty: no members; it stays while it has offsets. Also a group that only ever committed.
	Empty
	// PreparingRebalance: JoinGroups are parked until all members have joined or the time is up.
	PreparingRebalance
	// CompletingRebalance: the members know their generation and wait for the leader's assignment.
	CompletingRebalance
	// Stable: everyone has an assignment or can fetch it. In a consumer group: everyone has what the target assigns.
	Stable
	// Assigning: a consumer group has changed since its target assignment was computed.
	Assigning
	// Reconciling: a consumer group whose members are on their way to the target assignment.
	Reconciling
)

var stateNames = [...]string{
	"Dead", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Assigning", "Reconciling",
}

// String is the name that Kafka puts on the wire.
func (s State) String() string { return stateNames[s] }

// mayFollow[to] has a bit for each state that a group may be in before it becomes `to`. Those of a consumer group follow from what
// it holds (consumerGroup.state); only its end is here.
var mayFollow = [...]uint8{
	Dead:                1<<Dead | 1<<Empty | 1<<PreparingRebalance | 1<<CompletingRebalance | 1<<Stable | 1<<Assigning | 1<<Reconciling,
	Empty:               1 << PreparingRebalance,
	PreparingRebalance:  1<<Empty | 1<<CompletingRebalance | 1<<Stable,
	CompletingRebalance: 1 << PreparingRebalance,
	Stable:              1 << CompletingRebalance,
	Reconciling:         0,
}

func (s State) mayBecome(to State) bool { return mayFollow[to]&(1<<s) != 0 }

func (s State) named(name string) bool { return strings.EqualFold(strings.TrimSpace(name), s.String()) }
