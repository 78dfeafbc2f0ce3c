package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"millrace/broker/group"
	"millrace/broker/plog"
	"millrace/broker/replica"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/record"
)

// partition is one replica: the machine and the log under test, and what has to be done around them.
type partition struct {
	n       *process
	index   int
	machine *replica.Machine
	log     *plog.Log
	seqs    sequences

	position replica.Position // to fetch from
	fetching bool
	arrived  []byte // the records of the answer that is being stepped
	high     int64  // as the effects told

	groups    *coordinator // nil: none
	restarted bool         // the log has been dropped since the coordinator was looked at
}

// epochs lets the machine look at the log, which may be replaced.
type epochs struct{ p *partition }

func (e epochs) EpochEnd(epoch int32) (int32, int64) { return e.p.log.EpochEnd(epoch) }
func (e epochs) EpochAt(offset int64) int32          { return e.p.log.EpochAt(offset) }
func (e epochs) BatchStart(offset int64) int64       { return e.p.log.BatchStart(offset) }

func newPartition(n *process, index int) *partition {
	p := &partition{n: n, index: index, log: plog.New(n.w.pool, n.w.logConfig(), 0)}
	p.machine = replica.New(replica.Config{Self: asReplica(n.member()), LagTimeMaxMs: lagTimeMaxMs, AlterRetryMs: alterRetryMs,
		FetchBackoffMs: backoffMs, OffsetCeilingStep: ceilingStep}, epochs{p})
	return p
}

func (p *partition) oracle() *oracle { return p.n.w.oracles[p.index] }

// step gives the machine an event and carries out the effects.
func (p *partition) step(e replica.Event) {
	w := p.n.w
	appending := false
	for _, f := range p.machine.Step(e) {
		w.happened[f.Kind]++
		if w.trace != nil {
			w.say("    %d/%d: %s", p.n.id, p.index, showEffect(f))
		}
		appending = appending || f.Kind == replica.EffectAppend
		p.carryOut(f)
	}
	if appending {
		err := p.replicate()
		p.step(&replica.Replicated{Head: p.n.now(), EndOffset: p.log.EndOffset(), Err: err})
		return
	}
	p.coordinate()
}

func (p *partition) carryOut(f replica.Effect) {
	switch f.Kind {
	case replica.EffectComplete:
		p.complete(f)
	case replica.EffectAlterPartition:
		q := *f.Proposal
		q.ISR = slices.Clone(q.ISR)
		p.n.send(&message{kind: alterRequest, to: p.n.id, toLife: p.n.incarnation, part: p.index, proposal: q, leader: p})
	case replica.EffectAnswerFetch:
		p.answer(f)
	case replica.EffectFetch:
		p.position, p.fetching = f.Position, true
	case replica.EffectStopFetch:
		p.fetching = false
	case replica.EffectCopySnapshot:
		p.n.send(&message{kind: snapshotRequest, to: f.Position.Leader.Broker, part: p.index, follower: p, epoch: f.Position.LeaderEpoch})
	case replica.EffectRole:
		p.oracle().tookRole(p, f)
	case replica.EffectHighWatermark:
		p.oracle().highMoved(p, f.Offset)
		p.high = f.Offset
	case replica.EffectBeginEpoch:
		p.oracle().epochBegan(p, f)
		p.log.BeginEpoch(f.LeaderEpoch)
	case replica.EffectTruncate:
		p.log.Truncate(f.Offset)
		if !p.n.w.bugs.SequencesKept {
			p.seqs.truncate(f.Offset)
		}
		p.oracle().dirty = true
	case replica.EffectTrim:
		if err := p.log.DeleteRecords(f.Offset); err != nil {
			p.oracle().violate(brokenLog, "broker %d can't trim to %d", p.n.id, f.Offset)
		}
		p.oracle().dirty = true
	case replica.EffectReset:
		p.restart(f.Offset, &snapshot{})
	case replica.EffectInstallSnapshot:
		p.restart(f.Offset, f.Token.(*snapshot))
	}
}

func (p *partition) restart(offset int64, s *snapshot) {
	p.log.Close()
	p.log = plog.NewAt(p.n.w.pool, p.n.w.logConfig(), offset, s.epochs)
	p.seqs = s.seqs.clone()
	p.high, p.restarted = offset, true
	p.oracle().dirty = true
}

var errFull = errors.New("memory is full")

// replicate appends what has arrived.
func (p *partition) replicate() error {
	from := p.log.EndOffset()
	records, full := p.arrived, false
	if k := p.n.fullAfter; k >= 0 {
		for rest := records; k > 0 && len(rest) > 0; k-- {
			_, rest, _ = record.Next(rest)
			records = p.arrived[:len(p.arrived)-len(rest)]
		}
		if p.n.fullAfter == 0 {
			records = nil
		}
		full, p.n.fullAfter = len(records) < len(p.arrived), -1
	}
	err := p.log.AppendReplicated(records, p.n.w.nowMs)
	if err != nil {
		p.oracle().violate(brokenLog, "broker %d: %v", p.n.id, err)
	}
	for b := range p.log.Batches(from, math.MaxInt64) {
		p.seqs.note(b, b.BaseOffset())
	}
	if full {
		return errFull
	}
	return err
}

func (p *partition) sendFetch() bool {
	if !p.fetching {
		return false
	}
	p.n.send(&message{kind: fetchRequest, to: p.position.Leader.Broker, part: p.index, position: p.position, follower: p})
	return true
}

// answer sends what the machine says to the fetch whose message is the token.
func (p *partition) answer(f replica.Effect) {
	q := f.Token.(*message)
	a := &message{kind: fetchAnswer, position: q.position, follower: q.follower, err: f.Err, answer: f.Answer}
	if f.Err == nil && !f.Answer.Diverges() {
		a.records = p.read(q.position.Offset, math.MaxInt64)
	}
	p.n.reply(q, a)
}

// read copies some batches.
func (p *partition) read(from, upTo int64) (records []byte) {
	views, _, err := p.log.Read(from, bytesPerAnswer, upTo, true, make([]protocol.View, 0, 4))
	if err != nil {
		p.oracle().violate(brokenLog, "broker %d is asked for %d of %d…%d", p.n.id, from, p.log.StartOffset(), p.log.EndOffset())
	}
	for _, v := range views {
		records = append(records, v.Bytes...)
		v.Slab.Release()
	}
	return records
}

// snapshot is what a log that begins in the middle has to know.
type snapshot struct {
	epochs []plog.EpochStart
	seqs   sequences
}

func (s *snapshot) String() string { return fmt.Sprintf("%v", s.epochs) }

func (n *process) giveSnapshot(m *message) {
	a := &message{kind: snapshotAnswer, follower: m.follower, epoch: m.epoch, err: replica.ErrNotLeader}
	if p := n.hosted(m.part); p != nil {
		if a.err = p.machine.CheckEpoch(m.epoch); a.err == nil {
			a.offset = p.log.StartOffset()
			a.snapshot = &snapshot{epochs: p.log.Epochs(), seqs: p.seqs.clone()}
			a.snapshot.seqs.truncate(a.offset)
			if n.w.bugs.BareSnapshots {
				a.snapshot.seqs = sequences{}
			}
		}
	}
	n.reply(m, a)
}

func (n *process) snapshotArrived(m *message) {
	p := m.follower
	if n.hosted(p.index) == p {
		p.step(&replica.Snapshot{Head: n.now(), LeaderEpoch: m.epoch, Err: m.err, StartOffset: m.offset, Token: m.snapshot})
	}
}

func (n *process) snapshotLost(m *message) {
	n.snapshotArrived(&message{follower: m.follower, epoch: m.epoch, err: replica.ErrNotLeader})
}

// trim removes records from the start, in the middle of a batch too.
func (p *partition) trim(share int) bool {
	start, high := p.log.StartOffset(), p.machine.HighWatermark()
	if p.machine.Role() != replica.Leader || high <= start {
		return false
	}
	if p.groups != nil {
		return p.groups.compact()
	}
	to := high
	if share%2 == 0 { // not all
		to = start + 1 + (high-start-1)*int64(share%8)/8
	}
	p.trimTo(to)
	return true
}

func (p *partition) trimTo(to int64) {
	if err := p.log.DeleteRecords(to); err != nil {
		panic(err)
	}
	p.oracle().trimmed(to)
	p.step(&replica.LogStart{Head: p.n.now(), Offset: to})
}

func (p *partition) tick() (did bool) {
	now := p.n.w.nowMs
	if now >= p.machine.NextDeadline() {
		p.step(&replica.Tick{Head: p.n.now()})
		did = true
	}
	if c := p.groups; c != nil && c.serving && now >= c.m.NextDeadline() {
		c.step(&group.Tick{}, nil)
		did = true
	}
	return did
}

func alterError(errs ...error) error {
	for _, err := range errs {
		switch {
		case errors.Is(err, metadata.ErrIneligibleReplica):
			return replica.ErrIneligibleReplica
		case err != nil:
			return err
		}
	}
	return nil
}

// clean takes some steps of a compaction, which belongs to this replica alone.
func (p *partition) clean(steps int) bool {
	w := p.n.w
	rules := plog.CleanRules{NowMs: w.nowMs, UpTo: p.machine.HighWatermark(), KeepEmpty: p.seqs.last}
	if w.bugs.CleanedUncommitted {
		rules.UpTo = p.log.EndOffset()
	}
	if !w.cluster.compact || !p.log.CleanDue(&rules) {
		return false
	}
	p.oracle().dirty = true
	for range steps {
		more, err := p.n.cleaner.Step(p.log, &rules)
		if err != nil {
			panic(err)
		}
		if !more {
			w.cleanings++
			break
		}
	}
	return true
}

// entry is one record as far as it matters: a value that no other batch has, which record of the batch it is, and the epoch; if
// logs are compacted the key too.
type entry struct {
	value int64
	delta int32
	epoch int32
	key   string
}

// records walks over [from, to). It says where it found a hole, or to; a log that is compacted has holes.
func (p *partition) records(from, to int64, f func(offset int64, e entry, b record.Batch) bool) (end int64) {
	if p.n.w.cluster.compact {
		p.keyed(from, to, f)
		return to
	}
	next := from
	for b := range p.log.Batches(from, to) {
		base := b.BaseOffset()
		if base > next {
			return next
		}
		e := entry{value: b.BaseTimestamp(), epoch: b.PartitionLeaderEpoch()}
		for last := min(b.LastOffset(), to-1); next <= last; next++ {
			if e.delta = int32(next - base); !f(next, e, b) {
				return to
			}
		}
	}
	return next
}

// keyed is records for a log with holes.
func (p *partition) keyed(from, to int64, f func(offset int64, e entry, b record.Batch) bool) {
	for b := range p.log.Batches(from, to) {
		if err := eachEntry(b, from, to, func(at int64, e entry) bool { return f(at, e, b) }); err == errEnough {
			return
		} else if err != nil {
			p.oracle().violate(brokenLog, "batch at %d: %v", b.BaseOffset(), err)
		}
	}
}

var errEnough = errors.New("enough")

// eachEntry looks at the records of a batch that are in [from, to).
func eachEntry(b record.Batch, from, to int64, f func(at int64, e entry) bool) error {
	return b.Each(nil, func(r record.Record) error {
		at := b.BaseOffset() + int64(r.OffsetDelta)
		if at < from || at >= to || f(at, entry{b.BaseTimestamp(), r.OffsetDelta, b.PartitionLeaderEpoch(), string(r.Key)}) {
			return nil
		}
		return errEnough
	})
}

func (p *partition) String() string {
	m := p.machine
	s := fmt.Sprintf("partition %d: %v epoch %d/%d log %d…%d high %d:", p.index, m.Role(), m.LeaderEpoch(), m.PartitionEpoch(),
		p.log.StartOffset(), p.log.EndOffset(), m.HighWatermark())
	for b := range p.log.Batches(p.log.StartOffset(), math.MaxInt64) {
		s += fmt.Sprintf(" %d–%d:%d/%d", b.BaseOffset(), b.LastOffset(), b.PartitionLeaderEpoch(), b.BaseTimestamp())
	}
	return s
}
