package sim

import (
	"errors"

	"millrace/broker/group"
	"millrace/broker/replica"
	"millrace/protocol/record"
)

// coordinator hosts the real machine of groups at the leader of partition 0, whose log it shares with producers: their records
// are passed over when it is loaded. It does what broker's coordinator does.
type coordinator struct {
	p        *partition
	m        *group.Machine
	serving  bool
	end      int64 // of the log when it was loaded: what is not committed yet may still go, and nobody may see it
	builder  record.Builder
	writes   []groupWrite // oldest first; not yet known to be durable
	stepping bool
	cutTo    int64 // the log's start, when its content has been written anew
	cutWhen  int64 // the high watermark that makes it so; 0: nothing is to be cut
}

type groupWrite struct {
	id  group.PersistID
	end int64 // the high watermark that makes them durable
	err error // the log refused them
}

// coordinate begins or ends the coordinator, and tells it what has become durable. It comes after each step of the machine.
func (p *partition) coordinate() {
	leads := p.machine.Role() == replica.Leader
	if c := p.groups; c != nil && (!leads || p.restarted) {
		p.groups = nil
		c.close()
	}
	p.restarted = false
	switch {
	case !leads || !p.n.w.cluster.groups || p.index != 0:
	case p.groups == nil:
		p.groups = &coordinator{p: p}
		p.groups.load()
	default:
		p.groups.durable()
	}
}

func (c *coordinator) load() {
	config := group.DefaultConfig()
	config.OffsetCommitTimeoutMs = requestMs
	c.m = group.New(config)
	for b := range c.p.log.Batches(c.p.log.StartOffset(), c.p.log.EndOffset()) {
		if err := b.Each(nil, func(r record.Record) error {
			if err := c.m.Load(r.Key, r.Value); err != nil && r.Key != nil && err != group.ErrUnknownRecord {
				return err
			}
			return nil
		}); err != nil {
			c.p.oracle().violate(brokenLog, "a group's record at %d: %v", b.BaseOffset(), err)
		}
	}
	c.end = c.p.log.EndOffset()
	c.durable()
}

func (c *coordinator) step(e group.Event, token any) {
	c.stepping = true
	c.carryOut(e, token)
	c.settle()
}

// durable is called when the high watermark may have risen. During a step it is looked at anyway.
func (c *coordinator) durable() {
	switch {
	case c.stepping:
	case c.serving:
		c.stepping = true
		c.settle()
	case c.p.machine.HighWatermark() >= c.end || c.p.n.w.bugs.ServedUncommitted:
		c.serving = true
		c.step(&group.Loaded{}, nil)
	}
}

func (c *coordinator) settle() {
	for c.m != nil && len(c.writes) > 0 {
		w := c.writes[0]
		if w.err == nil && w.end > c.p.machine.HighWatermark() && !c.p.n.w.bugs.OffsetsEarly {
			break
		}
		c.writes = c.writes[1:]
		c.carryOut(&group.Persisted{ID: w.id, Err: w.err}, nil)
	}
	c.cut()
	c.stepping = false
}

func (c *coordinator) carryOut(e group.Event, token any) {
	e.Stamp(c.p.n.w.nowMs, token)
	for _, f := range c.m.Step(e) {
		switch f.Kind {
		case group.EffectReply:
			c.reply(f)
		case group.EffectPersist:
			w := groupWrite{id: f.ID, err: c.write(f.Records)}
			w.end = c.p.log.EndOffset()
			c.writes = append(c.writes, w)
		}
	}
}

func (c *coordinator) write(records []group.Record) error {
	p, w := c.p, c.p.n.w
	w.values++
	c.builder.Reset(record.Options{})
	for _, r := range records {
		c.builder.Append(record.Record{Timestamp: w.values, Key: r.Key, Value: r.Value})
	}
	if err := p.machine.Admit(true, int32(len(records))); err != nil {
		return group.ErrCoordinatorNotAvailable
	}
	p.oracle().appending(p, p.log.EndOffset()+int64(len(records)))
	if _, err := p.log.Append(c.builder.Bytes(), p.machine.LeaderEpoch(), w.nowMs); err != nil {
		return group.ErrNotCoordinator
	}
	p.step(&replica.Appended{Head: p.n.now(), EndOffset: p.log.EndOffset()})
	return nil
}

// reply answers a committer; an offset that it has been promised is looked for from now on.
func (c *coordinator) reply(f group.Effect) {
	q, ok := f.Token.(*message)
	if !ok { // asked by the oracle
		return
	}
	a := &message{kind: groupAnswer, offset: q.offset, err: f.Err}
	if f.Err == nil && q.offset > 0 {
		c.p.oracle().offsetAcked(c.p, q.offset)
	}
	c.p.n.reply(q, a)
}

func (c *coordinator) close() {
	c.carryOut(&group.Unload{}, nil)
	c.m, c.writes = nil, nil
}

// compact writes the content of the log anew; what was before it goes when that is durable.
func (c *coordinator) compact() bool {
	if !c.serving || c.cutWhen > 0 || len(c.writes) > 0 || !c.m.Idle() {
		return false
	}
	start := c.p.log.EndOffset()
	var records []group.Record
	for r := range c.m.Snapshot {
		records = append(records, r)
	}
	if len(records) == 0 || c.write(records) != nil {
		return false
	}
	c.cutTo, c.cutWhen = start, c.p.log.EndOffset()
	if c.p.n.w.bugs.CutEarly {
		c.cutTo, c.cutWhen = min(start, c.p.machine.HighWatermark()), 1
	}
	c.cut()
	return true
}

func (c *coordinator) cut() {
	if c.cutWhen > 0 && c.m != nil && c.cutWhen <= c.p.machine.HighWatermark() {
		c.cutWhen = 0
		c.p.n.w.compactions++
		c.p.trimTo(c.cutTo)
	}
}

// offset is what the group has committed, as far as this coordinator knows; 0: nothing.
func (c *coordinator) offset() (at int64) {
	for _, f := range c.m.Step(&group.FetchOffsets{Head: group.Head{NowMs: c.p.n.w.nowMs}, GroupID: groupID, All: true}) {
		if r, ok := f.Result.(*group.OffsetsResult); ok && len(r.Topics) > 0 {
			return r.Topics[0].Partitions[0].Offset
		}
	}
	return 0
}

const groupID = "g"

// committer commits offsets that rise, one at a time: it waits for the answer, or until the connection breaks.
type committer struct {
	w     *world
	known int32
	last  int64
	asked int32 // the broker that is to answer; 0: none
	acked int
}

func (c *committer) commit(asked int32) bool {
	leader, ok := c.w.leader(asked, 0, &c.known)
	if !ok || c.asked != 0 {
		return false
	}
	c.asked = leader
	c.last++
	c.w.net = append(c.w.net, &message{kind: groupRequest, from: committerID, to: leader,
		toLife: c.w.processes[leader].incarnation, offset: c.last}) // the connection ends with the process
	return true
}

// broken: the connection to a broker; with it goes what it was asked.
func (c *committer) broken(id int32) {
	if c.asked == id {
		c.asked = 0
	}
}

func (c *committer) answered(m *message) {
	if c.asked == 0 || m.offset != c.last {
		return // of a connection that was given up
	}
	c.asked = 0
	if m.err == nil {
		c.acked++
	}
}

func (n *process) commit(m *message) {
	p := n.hosted(0)
	if p == nil || p.groups == nil || !p.groups.serving {
		n.reply(m, &message{kind: groupAnswer, offset: m.offset, err: errors.New("not the coordinator")})
		return
	}
	p.groups.step(&group.Commit{GroupID: groupID, Generation: -1, RetentionMs: -1, Topics: []group.CommitTopic{
		{Name: topicName, Partitions: []group.CommitPartition{{Partition: 0, Offset: m.offset, LeaderEpoch: -1}}},
	}}, m)
}
