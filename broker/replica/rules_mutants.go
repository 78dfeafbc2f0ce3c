//go:build mutants

package replica

import "fmt"

// The rules of rules.go as switches, for the tests of the tests: `go test -tags mutants` switches off one after the other
// and wants to see each missed. They are global; a machine reads them at each step.
var (
	ruleLeaderBound      = true
	ruleMaximalISR       = true
	ruleHighNeedsMinISR  = true
	ruleJoinAtHigh       = true
	ruleJoinAtEpochStart = true
	ruleFetchEpoch       = true
	ruleFetchIncarnation = true
	ruleResetProgress    = true
	ruleDivergence       = true
	ruleExactEpochEnd    = true
	ruleOwnEpochEnd      = true
	ruleTruncateByEpoch  = true
	ruleAnswerEpoch      = true
	ruleClipHigh         = true
	ruleComparable       = true
	ruleWithdraw         = true
	ruleAckAtHigh        = true
	ruleLossReset        = true
	ruleCeiling          = true
)

var switches = map[string]*bool{
	"leader bound to incarnation (R2)": &ruleLeaderBound,
	"maximal ISR":                      &ruleMaximalISR,
	"HW needs minISR":                  &ruleHighNeedsMinISR,
	"join at HW":                       &ruleJoinAtHigh,
	"join at epoch start":              &ruleJoinAtEpochStart,
	"fetch epoch":                      &ruleFetchEpoch,
	"fetch incarnation":                &ruleFetchIncarnation,
	"progress per epoch":               &ruleResetProgress,
	"divergence":                       &ruleDivergence,
	"exact epoch end":                  &ruleExactEpochEnd,
	"own epoch end":                    &ruleOwnEpochEnd,
	"truncate by epoch":                &ruleTruncateByEpoch,
	"answer's epoch":                   &ruleAnswerEpoch,
	"clip HW":                          &ruleClipHigh,
	"comparable":                       &ruleComparable,
	"withdraw":                         &ruleWithdraw,
	"ack at HW":                        &ruleAckAtHigh,
	"loss drops all (R5)":              &ruleLossReset,
	"offset ceiling (R6)":              &ruleCeiling,
}

// Rules are the names of the rules that SwitchRule knows, in no order.
func Rules() (names []string) {
	for name := range switches {
		names = append(names, name)
	}
	return names
}

// SwitchRule switches one rule for all machines of the process.
func SwitchRule(name string, on bool) {
	rule := switches[name]
	if rule == nil {
		panic(fmt.Sprintf("replica: no rule %q", name))
	}
	*rule = on
}
