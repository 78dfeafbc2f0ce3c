package sim

import (
	"fmt"

	"millrace/broker/replica"
)

// showEffect is how stories tell an effect.
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
		return fmt.Sprintf("complete %v: %v", f.Token, f.Err)
	case replica.EffectAnswerFetch:
		q := f.Token.(*message)
		return fmt.Sprintf("answer fetch of %d@%x at %d after epoch %d: %v high %d start %d diverging %d at %d", q.from, q.life,
			q.position.Offset, q.position.LastEpoch, f.Err, f.Answer.HighWatermark, f.Answer.LogStart, f.Answer.DivergingEpoch,
			f.Answer.DivergingEnd)
	case replica.EffectAlterPartition:
		p := f.Proposal
		return fmt.Sprintf("propose %d in %d/%d: isr %v ceiling %d", p.ID, p.LeaderEpoch, p.PartitionEpoch, asMembers(p.ISR),
			p.OffsetCeiling)
	case replica.EffectFetch:
		return fmt.Sprintf("fetch from %d in epoch %d, %d after epoch %d", f.Position.Leader.Broker, f.Position.LeaderEpoch,
			f.Position.Offset, f.Position.LastEpoch)
	case replica.EffectCopySnapshot:
		return fmt.Sprintf("copy a snapshot at %d or above", f.Offset)
	case replica.EffectInstallSnapshot:
		return fmt.Sprintf("install snapshot %v at %d", f.Token, f.Offset)
	case replica.EffectStopFetch:
		return "stop fetching"
	}
	return fmt.Sprintf("%s %d", map[replica.EffectKind]string{replica.EffectAppend: "append at", replica.EffectTruncate: "truncate to",
		replica.EffectTrim: "trim to", replica.EffectReset: "reset at"}[f.Kind], f.Offset)
}
