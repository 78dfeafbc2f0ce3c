package txn

import (
	"fmt"
	"strings"
)

// How the golden scripts write effects.

func showEffect(f Effect) string {
	switch f.Kind {
	case EffectPersist:
		return fmt.Sprintf("persist %d: %s", f.ID, showRecord(f.Records[0]))
	case EffectMarkers:
		k, word := f.Marker, "abort"
		if k.Commit {
			word = "commit"
		}
		return fmt.Sprintf("markers %s %d/%d %s %s", k.TransactionalID, k.ProducerID, k.ProducerEpoch, word, showPartitions(k.Partitions))
	case EffectProducerID:
		return "draw a producer id"
	case EffectChanged:
		c := f.Change
		return fmt.Sprintf("changed %s %d/%d %v: %s", c.TransactionalID, c.ProducerID, c.ProducerEpoch, c.State, c.Reason)
	}
	outcome := "ok"
	if f.Err != nil {
		outcome = errorName(f.Err)
	}
	return strings.TrimRight(fmt.Sprintf("reply %v %s %s", f.Token, outcome, showResult(f.Result)), " ")
}

func showResult(r any) string {
	switch r := r.(type) {
	case *InitResult:
		return fmt.Sprintf("%d/%d", r.ProducerID, r.ProducerEpoch)
	case *EndResult:
		return fmt.Sprintf("%d/%d", r.ProducerID, r.ProducerEpoch)
	case *AddResult:
		var parts []string
		for _, err := range r.Errs {
			if err != nil {
				parts = append(parts, errorName(err))
			} else {
				parts = append(parts, "ok")
			}
		}
		return strings.Join(parts, " ")
	case *DescribeResult:
		return fmt.Sprintf("%v %d/%d timeout=%d start=%d %s", r.State, r.ProducerID, r.ProducerEpoch, r.TimeoutMs, r.StartMs,
			showPartitions(r.Partitions))
	case *ListResult:
		var parts []string
		for _, t := range r.Transactions {
			parts = append(parts, fmt.Sprintf("%s %d %v", t.TransactionalID, t.ProducerID, t.State))
		}
		return strings.Join(parts, ", ")
	}
	return ""
}

func showPartitions(all []Partition) string {
	var parts []string
	for _, p := range all {
		parts = append(parts, fmt.Sprintf("%s/%d", p.Topic, p.Index))
	}
	return strings.Join(parts, ",")
}

func showRecord(r Record) string {
	id, err := parseKey(r.Key)
	if err != nil {
		return err.Error()
	}
	if r.Value == nil {
		return id + " tombstone"
	}
	v, err := parseValue(r.Value)
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%s %v %d/%d timeout=%d start=%d update=%d", id, v.state, v.producerID, v.epoch, v.timeoutMs, v.startMs, v.updateMs)
	if v.prevProducerID != None {
		text += fmt.Sprintf(" prev=%d", v.prevProducerID)
	}
	if v.nextProducerID != None {
		text += fmt.Sprintf(" next=%d", v.nextProducerID)
	}
	if v.version != 0 {
		text += fmt.Sprintf(" v=%d", v.version)
	}
	return strings.TrimRight(text+" "+showPartitions(v.partitions), " ")
}
