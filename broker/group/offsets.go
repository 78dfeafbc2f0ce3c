package group

import (
	"maps"
	"slices"
)

// offset is a committed offset.
type offset struct {
	offset      int64
	leaderEpoch int32 // -1: unknown
	metadata    string
	committedMs int64
	expiresMs   int64  // -1: by the coordinator's retention
	order       uint64 // of two, the one with the larger was put into the log later
}

// offsetWrite is an offset on its way into the log; remove stands for a tombstone.
type offsetWrite struct {
	topic     string
	partition int32
	value     offset
	remove    bool
}

func (m *Machine) commit(e *Commit) {
	g := m.groups[e.GroupID]
	if err := m.checkCommit(g, e); err != nil {
		m.reply(e.Token, err, nil)
		return
	}
	if g != nil && g.consumer == nil && (g.state == Stable || g.state == PreparingRebalance) {
		m.startSession(g.byID[e.MemberID]) // who commits lives
	}
	r, writes := m.judgeCommit(e)
	if len(writes) == 0 {
		m.reply(e.Token, nil, r)
		return
	}
	if g == nil {
		g, _ = m.group(e.GroupID)
	}
	m.persistWrites(g, writes, e.Token, r)
}

// persistWrites puts offsets into the log; the token is then answered with r.
func (m *Machine) persistWrites(g *Group, writes []offsetWrite, token any, r *CommitResult) {
	records := make([]Record, len(writes))
	for i, w := range writes {
		records[i] = offsetRecord(g.id, w)
	}
	p := m.persist(g, records, func(err error) {
		if err != nil {
			m.reply(token, err, nil)
			return
		}
		m.reply(token, nil, r)
	})
	p.writes = writes
}

// checkCommit says who may commit: members of the current generation, and anybody (generation -1) while there are no members.
func (m *Machine) checkCommit(g *Group, e *Commit) error {
	switch {
	case len(e.GroupID) > maxString:
		return ErrInvalidGroupID
	case g == nil && e.Generation < 0:
		return nil // it becomes a simple group
	case g == nil && e.GroupNotFound:
		return ErrGroupNotFound
	case g == nil:
		return ErrIllegalGeneration
	case e.Generation < 0 && g.state == Empty:
		return nil
	case g.consumer != nil:
		return g.consumer.checkCommit(e, m.topics)
	case e.Generation < 0 && e.MemberID == "" && e.InstanceID == nil:
		return ErrUnknownMemberID
	}
	if err := g.check(e.MemberID, e.InstanceID); err != nil {
		return err
	}
	if e.Generation != g.generation {
		return ErrIllegalGeneration
	}
	if g.state == CompletingRebalance {
		// It knows the new generation but has no assignment in it yet.
		return ErrRebalanceInProgress
	}
	return nil
}

// judgeCommit sorts out what is too long and turns the rest into writes.
func (m *Machine) judgeCommit(e *Commit) (*CommitResult, []offsetWrite) {
	n := 0
	for i := range e.Topics {
		n += len(e.Topics[i].Partitions)
	}
	writes := make([]offsetWrite, 0, n)
	results := make([]CommitPartitionResult, 0, n)
	m.order++
	r := &CommitResult{Topics: make([]CommitTopicResult, len(e.Topics))}
	expiresMs := int64(-1)
	if e.RetentionMs >= 0 {
		expiresMs = m.nowMs + e.RetentionMs
	}
	for i, t := range e.Topics {
		from := len(results)
		for _, p := range t.Partitions {
			if len(p.Metadata) > maxString || utf16Length(p.Metadata) > m.config.OffsetMetadataMaxSize {
				results = append(results, CommitPartitionResult{p.Partition, ErrOffsetMetadataTooLarge})
				continue
			}
			results = append(results, CommitPartitionResult{p.Partition, nil})
			writes = append(writes, offsetWrite{topic: t.Name, partition: p.Partition, value: offset{
				offset: p.Offset, leaderEpoch: p.LeaderEpoch, metadata: p.Metadata, committedMs: m.nowMs, expiresMs: expiresMs, order: m.order,
			}})
		}
		r.Topics[i] = CommitTopicResult{Name: t.Name, Partitions: results[from:len(results):len(results)]}
	}
	return r, writes
}

// utf16Length is what Java calls the length of a string, and so what the limit counts.
func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// apply makes durable offsets visible.
func (g *Group) apply(writes []offsetWrite) {
	for _, w := range writes {
		partitions := g.offsets[w.topic]
		switch {
		case w.remove:
			delete(partitions, w.partition)
			if len(partitions) == 0 {
				delete(g.offsets, w.topic)
			}
		case partitions == nil:
			if g.offsets == nil {
				g.offsets = map[string]map[int32]offset{}
			}
			g.offsets[w.topic] = map[int32]offset{w.partition: w.value}
		default:
			partitions[w.partition] = w.value
		}
	}
}

func (m *Machine) fetchOffsets(e *FetchOffsets) {
	g := m.groups[e.GroupID]
	if g != nil && g.consumer != nil && e.MemberID != nil {
		if err := g.consumer.checkEpoch(*e.MemberID, e.MemberEpoch); err != nil {
			m.reply(e.Token, err, nil)
			return
		}
	}
	if g != nil && e.RequireStable {
		if p := m.lastPersist(g); p != nil {
			// What is on its way may be what is asked for. Only those commits that were there first are waited for.
			p.then = append(p.then, func(err error) {
				if err == ErrCoordinatorNotAvailable || err == ErrNotCoordinator {
					// Of these two the consumer before 3.9 knows only this one here (Kafka maps it so).
					m.reply(e.Token, ErrNotCoordinator, nil)
					return
				}
				m.reply(e.Token, nil, m.fetch(g, e))
			})
			return
		}
	}
	m.reply(e.Token, nil, m.fetch(g, e))
}

// fetch reads offsets, and tells of those that are not stable if they have to be.
func (m *Machine) fetch(g *Group, e *FetchOffsets) *OffsetsResult {
	r := g.fetch(e)
	if e.RequireStable && g != nil && g.unsettled > 0 {
		for _, t := range r.Topics {
			for i := range t.Partitions {
				if p := &t.Partitions[i]; m.unstable(g, t.Name, p.Partition) {
					*p = OffsetsPartition{Partition: p.Partition, Err: ErrUnstableOffset, Offset: -1, LeaderEpoch: -1}
				}
			}
		}
	}
	return r
}

// fetch reads offsets; an unknown group (nil) has none, which is no error.
func (g *Group) fetch(e *FetchOffsets) *OffsetsResult {
	if e.All {
		return g.fetchAll()
	}
	r := &OffsetsResult{Topics: make([]OffsetsTopic, len(e.Topics))}
	for i, t := range e.Topics {
		var has map[int32]offset
		if g != nil {
			has = g.offsets[t.Name]
		}
		partitions := make([]OffsetsPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			partitions[j] = OffsetsPartition{Partition: p, Offset: -1, LeaderEpoch: -1}
			if o, ok := has[p]; ok {
				partitions[j] = o.fetched(p)
			}
		}
		r.Topics[i] = OffsetsTopic{Name: t.Name, Partitions: partitions}
	}
	return r
}

func (g *Group) fetchAll() *OffsetsResult {
	r := &OffsetsResult{}
	if g == nil {
		return r
	}
	r.Topics = make([]OffsetsTopic, 0, len(g.offsets))
	for _, topic := range slices.Sorted(maps.Keys(g.offsets)) {
		t := OffsetsTopic{Name: topic, Partitions: make([]OffsetsPartition, 0, len(g.offsets[topic]))}
		for _, p := range slices.Sorted(maps.Keys(g.offsets[topic])) {
			t.Partitions = append(t.Partitions, g.offsets[topic][p].fetched(p))
		}
		r.Topics = append(r.Topics, t)
	}
	return r
}

func (o offset) fetched(partition int32) OffsetsPartition {
	return OffsetsPartition{Partition: partition, Offset: o.offset, LeaderEpoch: o.leaderEpoch, Metadata: o.metadata}
}
