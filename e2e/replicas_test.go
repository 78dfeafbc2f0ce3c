package e2e

import (
	"strings"
	"testing"
)

// The Java administrator's client places a topic, moves it, and has leaders elected.
func TestJavaAdministersReplicas(t *testing.T) {
	java, s := Java(t), Shared(t)
	out := Run(t, Program{Args: append(java, "Cases", "replicas", s.List(), Name(t, "t"))})
	want := `elected ElectionNotNeededException
moved null
unknown broker InvalidReplicaAssignmentException
cancelled NoReassignmentInProgressException
all elected yes
replicas [2, 0] leader 2 isr 2
quorum true true true true
unregistered BrokerIdNotRegisteredException
`
	if got := strings.TrimSpace(out.Stdout); got != strings.TrimSpace(want) {
		t.Errorf("%s\nwant:\n%s\n%s", got, want, out.Stderr)
	}
}
