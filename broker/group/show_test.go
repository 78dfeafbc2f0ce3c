package group

import (
	"errors"
	"fmt"
	"strings"
)

// How the golden scripts write effects.

func showEffect(f Effect) string {
	switch f.Kind {
	case EffectPersist:
		parts := make([]string, len(f.Records))
		for i, r := range f.Records {
			parts[i] = showRecord(r)
		}
		if f.Transactional {
			return fmt.Sprintf("persist %d of %d/%d: %s", f.ID, f.ProducerID, f.ProducerEpoch, strings.Join(parts, "; "))
		}
		return fmt.Sprintf("persist %d: %s", f.ID, strings.Join(parts, "; "))
	case EffectGroupChanged:
		g := f.Group
		return fmt.Sprintf("changed %s %v generation=%d members=%d: %s", g.GroupID, g.State, g.Generation, g.Members, g.Reason)
	}
	outcome := "ok"
	if f.Err != nil {
		outcome = errorName(f.Err)
	}
	return strings.TrimRight(fmt.Sprintf("reply %v %s %s", f.Token, outcome, showResult(f.Result)), " ")
}

func showResult(r any) string {
	switch r := r.(type) {
	case *JoinResult:
		return showJoin(r)
	case *SyncResult:
		return fmt.Sprintf("%s/%s %q", show(r.ProtocolType), show(r.ProtocolName), r.Assignment)
	case *LeaveResult:
		var parts []string
		for _, x := range r.Members {
			outcome := "ok"
			if x.Err != nil {
				outcome = errorName(x.Err)
			}
			parts = append(parts, showMember(x.MemberID, x.InstanceID)+"="+outcome)
		}
		return strings.Join(parts, " ")
	case *CommitResult:
		var parts []string
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				if p.Err != nil {
					parts = append(parts, fmt.Sprintf("%s/%d=%s", t.Name, p.Partition, errorName(p.Err)))
				}
			}
		}
		return strings.Join(parts, " ")
	case *OffsetsResult:
		var parts []string
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				if p.Err != nil {
					parts = append(parts, fmt.Sprintf("%s/%d %s", t.Name, p.Partition, errorName(p.Err)))
					continue
				}
				parts = append(parts, fmt.Sprintf("%s/%d=%d epoch=%d %q", t.Name, p.Partition, p.Offset, p.LeaderEpoch, p.Metadata))
			}
		}
		return strings.Join(parts, ", ")
	case *DescribeResult:
		s := fmt.Sprintf("%v %s/%s generation=%d", r.State, r.ProtocolType, r.Protocol, r.Generation)
		for _, x := range r.Members {
			s += fmt.Sprintf(" [%s client=%s host=%s %s %q]", showMember(x.MemberID, x.InstanceID), x.ClientID, x.ClientHost,
				showMetadata(x.Metadata), x.Assignment)
		}
		return s
	case *DeleteOffsetsResult:
		var parts []string
		for _, err := range r.Topics {
			parts = append(parts, errorName(err))
		}
		return strings.Join(parts, ", ")
	case *ConsumerHeartbeatResult:
		s := fmt.Sprintf("member=%s epoch=%d", r.MemberID, r.MemberEpoch)
		if r.AssignmentGiven {
			s += " has " + showTopicPartitions(r.Assignment)
		}
		return s
	case *DescribeConsumerResult:
		return showConsumers(r)
	case *ListResult:
		var parts []string
		for _, g := range r.Groups {
			parts = append(parts, fmt.Sprintf("%q %s %v %s", g.GroupID, g.ProtocolType, g.State, g.Type))
		}
		return strings.Join(parts, ", ")
	}
	return ""
}

func showJoin(r *JoinResult) string {
	if r.Generation < 0 {
		return fmt.Sprintf("member=%q", r.MemberID)
	}
	s := fmt.Sprintf("member=%q generation=%d %s/%s leader=%q", r.MemberID, r.Generation, show(r.ProtocolType),
		show(r.ProtocolName), r.Leader)
	if r.SkipAssignment {
		s += " skip"
	}
	for _, x := range r.Members {
		s += fmt.Sprintf(" [%s %s]", showMember(x.MemberID, x.InstanceID), showMetadata(x.Metadata))
	}
	return s
}

func show(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func showMember(id string, instance *string) string {
	if instance == nil {
		return id
	}
	return id + "@" + *instance
}

func showMetadata(b []byte) string {
	if topics, ok := subscribedTopics(b); ok {
		return strings.Join(topics, "+")
	}
	return fmt.Sprintf("%q", b)
}

func showRecord(r Record) string {
	k, err := parseKey(r.Key)
	switch {
	case err != nil:
		return err.Error()
	case k.kind > keyGroup:
		return showConsumerRecord(k, r.Value)
	case k.kind == keyGroup && r.Value == nil:
		return fmt.Sprintf("group %s: tombstone", k.group)
	case r.Value == nil:
		return fmt.Sprintf("offset %s %s/%d: tombstone", k.group, k.topic, k.partition)
	case k.kind == keyGroup:
		s, err := parseGroup(r.Value)
		if err != nil {
			return err.Error()
		}
		text := fmt.Sprintf("group %s: generation=%d %s/%s leader=%s", k.group, s.generation, s.protocolType,
			show(s.protocolName), show(s.leader))
		for _, x := range s.members {
			text += fmt.Sprintf(" [%s %q]", showMember(x.id, x.instanceID), x.assignment)
		}
		return text
	}
	o, err := parseOffset(r.Value)
	return errors.Join(err, fmt.Errorf("offset %s %s/%d: %d epoch=%d %q committed=%d expires=%d", k.group, k.topic, k.partition,
		o.offset, o.leaderEpoch, o.metadata, o.committedMs, o.expiresMs)).Error()
}
