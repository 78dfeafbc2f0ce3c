package replica_test

import (
	"errors"
	"fmt"
	"strings"

	"millrace/broker/replica"
)

// How traces and golden scripts write effects.

func showEffect(f replica.Effect) string {
	switch f.Kind {
	case replica.EffectRole:
		return fmt.Sprintf("%v in epoch %d", f.Role, f.LeaderEpoch)
	case replica.EffectBeginEpoch:
		return fmt.Sprintf("begin epoch %d at %d", f.LeaderEpoch, f.Offset)
	case replica.EffectHighWatermark:
		return fmt.Sprintf("high watermark %d", f.Offset)
	case replica.EffectISR:
		return "isr changed"
	case replica.EffectComplete:
		return fmt.Sprintf("complete %v %s", f.Token, errorName(f.Err))
	case replica.EffectAnswerFetch:
		return showAnswer(f)
	case replica.EffectAlterPartition:
		p := f.Proposal
		return fmt.Sprintf("alter %d in %d/%d: isr %s ceiling %d", p.ID, p.LeaderEpoch, p.PartitionEpoch, showMembers(p.ISR),
			p.OffsetCeiling)
	case replica.EffectFetch:
		return "fetch " + showPosition(f.Position)
	case replica.EffectCopySnapshot:
		return fmt.Sprintf("copy snapshot at %d or above, of %s", f.Offset, showPosition(f.Position))
	case replica.EffectInstallSnapshot:
		return fmt.Sprintf("install snapshot %v at %d", f.Token, f.Offset)
	}
	name := map[replica.EffectKind]string{replica.EffectStopFetch: "stop fetching", replica.EffectAppend: "append at",
		replica.EffectTruncate: "truncate to", replica.EffectTrim: "trim to", replica.EffectReset: "reset at"}[f.Kind]
	if f.Kind == replica.EffectStopFetch {
		return name
	}
	return fmt.Sprintf("%s %d", name, f.Offset)
}

func showAnswer(f replica.Effect) string {
	token := f.Token
	if m, ok := token.(*message); ok {
		token = fmt.Sprintf("from %d@%x", m.from, m.fromMember.Incarnation)
	}
	s := fmt.Sprintf("answer fetch %v: %s high %d start %d", token, errorName(f.Err), f.Answer.HighWatermark, f.Answer.LogStart)
	if f.AtOnce {
		s += " at once"
	}
	if f.Answer.Diverges() {
		s += fmt.Sprintf(" epoch %d ends at %d", f.Answer.DivergingEpoch, f.Answer.DivergingEnd)
	}
	return s
}

func showPosition(p replica.Position) string {
	return fmt.Sprintf("%s epoch %d offset %d after epoch %d", showMember(p.Leader), p.LeaderEpoch, p.Offset, p.LastEpoch)
}

func showMember(m replica.Member) string {
	if m == replica.NoMember {
		return "nobody"
	}
	return fmt.Sprintf("%d@%x", m.Broker, m.Incarnation)
}

func showMembers(list []replica.Member) string {
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = showMember(m)
	}
	return "[" + strings.Join(names, " ") + "]"
}

var errorNames = map[string]error{
	"NotLeader": replica.ErrNotLeader, "FencedLeaderEpoch": replica.ErrFencedLeaderEpoch,
	"UnknownLeaderEpoch": replica.ErrUnknownLeaderEpoch, "NotReplica": replica.ErrNotReplica,
	"StaleIncarnation": replica.ErrStaleIncarnation, "OffsetOutOfRange": replica.ErrOffsetOutOfRange,
	"NotEnoughReplicas": replica.ErrNotEnoughReplicas, "OffsetCeiling": replica.ErrOffsetCeiling,
	"NotEnoughReplicasAfterAppend": replica.ErrNotEnoughReplicasAfterAppend, "RequestTimedOut": replica.ErrRequestTimedOut,
	"OffsetNotAvailable": replica.ErrOffsetNotAvailable, "IneligibleReplica": replica.ErrIneligibleReplica,
	"Stale": errStaleProposal, "Full": errFull,
}

// errFull is an error of a driver's.
var errFull = errors.New("memory full")

func errorNamed(name string) error {
	if err := errorNames[name]; err != nil || name == "" {
		return err
	}
	panic("no error " + name)
}

func errorName(err error) string {
	if err == nil {
		return "ok"
	}
	for name, e := range errorNames {
		if errors.Is(err, e) {
			return name
		}
	}
	return err.Error()
}

func writeLine(s *strings.Builder, format string, args ...any) {
	fmt.Fprintf(s, format+"\n", args...)
}
