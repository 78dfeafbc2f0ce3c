package controller

import (
	"fmt"
	"slices"
	"strings"

	"millrace/metadata"
)

// replication runs the commands of TestScripts that are about replication.
func (s *script) replication(verb string, args []string, specs [][]string) bool {
	switch verb {
	case "fence":
		var members []metadata.Member
		for _, arg := range args {
			members = append(members, s.member(arg))
		}
		s.apply(s.FenceBrokers(s.img, members))
	case "unfence":
		deltas, err := s.UnfenceBroker(s.img, s.member(args[0]))
		s.apply(deltas)
		s.answer("broker "+args[0], err)
	case "unregister":
		deltas, err := s.UnregisterBroker(s.img, int32(number(args[0])))
		s.apply(deltas)
		s.answer("broker "+args[0], err)
	case "announce":
		deltas, err := s.Announce(s.img, s.member(args[0]), metadata.LeaseID(number(args[1])))
		s.apply(deltas)
		s.answer("broker "+args[0], err)
	case "drain":
		s.drain(s.member(args[0]), slices.Contains(args, "leave"))
	case "cancel-drain":
		deltas, err := s.CancelDrain(s.img, s.member(args[0]))
		s.apply(deltas)
		s.answer("broker "+args[0], err)
	case "only-copies":
		fmt.Fprintln(&s.out, refsText(OnlyCopies(s.img, int32(number(args[0])))))
	case "settle":
		s.apply(s.Settle(s.img))
	case "internal-factor":
		s.InternalReplicationFactor = int16(number(args[0]))
	case "grow":
		s.apply(s.GrowInternal(s.img))
	case "balance":
		most := 0
		if len(args) > 0 {
			most = number(args[0])
		}
		deltas, left := s.BalanceLeaders(s.img, most)
		s.apply(deltas)
		fmt.Fprintf(&s.out, "%d left\n", left)
	case "alter":
		s.alter(s.member(args[0]), specs)
	case "elect":
		s.elect(args)
	case "reassign":
		s.reassign(specs)
	case "reassignments":
		for _, r := range Reassignments(s.img, refs(args)) {
			fmt.Fprintf(&s.out, "%s-%d %v adding=%v removing=%v\n", r.Topic, r.Partition, r.Replicas, r.Adding, r.Removing)
		}
	default:
		return false
	}
	return true
}

// member is ID, in its newest life, or ID@LIFE.
func (s *script) member(text string) metadata.Member {
	id, life, old := strings.Cut(text, "@")
	m := metadata.Member{Broker: int32(number(id))}
	if old {
		m.Incarnation = uint64(number(life))
	} else if b := s.img.Broker(m.Broker); b != nil {
		m = b.Member()
	}
	return m
}

func ref(text string) metadata.PartitionRef {
	i := strings.LastIndexByte(text, '-')
	return metadata.PartitionRef{Topic: text[:i], Partition: int32(number(text[i+1:]))}
}

func refs(texts []string) (list []metadata.PartitionRef) {
	for _, text := range texts {
		list = append(list, ref(text))
	}
	return list
}

func refText(ref metadata.PartitionRef) string { return fmt.Sprintf("%s-%d", ref.Topic, ref.Partition) }

func refsText(refs []metadata.PartitionRef) string {
	var texts []string
	for _, ref := range refs {
		texts = append(texts, refText(ref))
	}
	return "[" + strings.Join(texts, " ") + "]"
}

func (s *script) drain(m metadata.Member, leave bool) {
	deltas, state, err := s.Drain(s.img, m, leave)
	s.apply(deltas)
	if err == nil {
		fmt.Fprintf(&s.out, "leading %d, copying %s, waiting %s, stuck %s", state.Leading,
			refsText(state.Copying), refsText(state.Waiting), refsText(state.Stuck))
		switch {
		case state.Left:
			fmt.Fprint(&s.out, ", left")
		case state.Ready():
			fmt.Fprint(&s.out, ", ready")
		}
		fmt.Fprintln(&s.out)
	}
	s.answer(fmt.Sprintf("broker %d", m.Broker), err)
}

// alter's first spec begins with the leader.
func (s *script) alter(from metadata.Member, specs [][]string) {
	specs[0] = specs[0][1:]
	var list []metadata.AlterPartitionSpec
	for _, f := range specs {
		at := ref(f[0])
		spec := metadata.AlterPartitionSpec{Topic: metadata.TopicID{9}, Partition: at.Partition}
		if t := s.img.Topic(at.Topic); t != nil {
			spec.Topic = t.ID
		}
		if t := s.img.Topic(at.Topic); f[1] == "now" {
			p := &t.Partitions[at.Partition]
			spec.LeaderEpoch, spec.PartitionEpoch = p.LeaderEpoch, p.PartitionEpoch
		} else if _, err := fmt.Sscanf(f[1], "%d/%d", &spec.LeaderEpoch, &spec.PartitionEpoch); err != nil {
			panic(err)
		}
		for part := range strings.SplitSeq(f[2], ",") {
			spec.ISR = append(spec.ISR, s.member(part))
		}
		if len(f) > 3 {
			spec.OffsetCeiling = int64(number(strings.TrimPrefix(f[3], "ceiling=")))
		}
		list = append(list, spec)
	}
	deltas, results := s.AlterPartitions(s.img, from, list)
	s.apply(deltas)
	for i, r := range results {
		s.answer(specs[i][0], r.Err)
	}
}

func (s *script) elect(args []string) {
	spec := metadata.ElectionSpec{Partitions: refs(args[1:])}
	switch args[0] {
	case "unclean":
		spec.Type = metadata.ElectUnclean
	case "preferred":
	default:
		spec.Type = 7
	}
	deltas, results := s.ElectLeaders(s.img, spec)
	s.apply(deltas)
	for _, r := range results {
		s.answer(refText(r.PartitionRef), r.Err)
	}
}

func (s *script) reassign(specs [][]string) {
	allow := true
	if specs[0][0] == "fixed" {
		allow, specs[0] = false, specs[0][1:]
	}
	var list []metadata.ReassignmentSpec
	for _, f := range specs {
		spec := metadata.ReassignmentSpec{PartitionRef: ref(f[0])}
		switch {
		case len(f) == 1:
			spec.Replicas = []int32{}
		case f[1] != "cancel":
			spec.Replicas = ints(f[1])
		}
		list = append(list, spec)
	}
	deltas, results := s.AlterReassignments(s.img, list, allow)
	s.apply(deltas)
	for _, r := range results {
		s.answer(refText(r.PartitionRef), r.Err)
	}
}
