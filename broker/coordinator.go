package broker

import (
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"millrace/broker/group"
	"millrace/broker/plog"
	"millrace/config"
	"millrace/jobs"
	"millrace/metadata"
	"millrace/protocol/record"
)

// Coordinator hosts the group machine of one partition of __consumer_offsets, on that partition's worker: it brings
// the machine its events and carries out what the machine asks for. Records go into the partition's own log, and what
// waits for them is answered when the high watermark has passed them.
type Coordinator struct {
	partition *Partition
	machine   *group.Machine // nil while the log is replayed, and after the partition has left
	closed    bool
	stepping  bool
	replayed  *group.Machine // waits until what it has read is committed
	servesAt  int64          // the high watermark at which it is
	writes    []groupWrite   // into the log, oldest first; not yet known to be durable
	builder   record.Builder
	compactAt int64           // the size of the log at which it is written anew
	cutTo     int64           // the log's start, when it has been
	cutWhen   int64           // the high watermark that makes it so; 0: nothing is to be cut
	gone      []string        // topics that were deleted while the log was replayed
	image     *metadata.Image // the last one whose topics this coordinator was told of; nil: none yet

	began   time.Time
	beganMs int64

	timer   jobs.Timer
	armedMs int64 // when the timer fires, by the machine's clock
	ticking atomic.Bool
	tick    tickTask
}

// groupWrite are records that the machine wants to be durable, or a transaction's marker that it hears of when it is.
type groupWrite struct {
	id    group.PersistID
	end   int64 // the high watermark that makes them so
	err   error // the log refused them
	ended *group.TransactionEnded
}

// batchBytesMax bounds the batches that a coordinator writes: a commit of ten thousand partitions is several.
const batchBytesMax = 256 << 10

func newCoordinator(p *Partition) *Coordinator {
	d := &p.broker.deps
	c := &Coordinator{partition: p, began: d.Now(), beganMs: d.NowMs()}
	c.tick.coordinator = c
	c.timer.Init(c.wakeUp)
	c.armedMs = noDeadline
	return c
}

// groupConfig is what the settings say about groups.
func groupConfig(c *config.Config) group.Config {
	g := group.DefaultConfig()
	g.InitialRebalanceDelayMs = int64(c.GroupInitialRebalanceDelayMs)
	g.MinSessionTimeoutMs, g.MaxSessionTimeoutMs = c.GroupMinSessionTimeoutMs, c.GroupMaxSessionTimeoutMs
	g.MaxSize = int(c.GroupMaxSize)
	g.ConsumerSessionTimeoutMs = int64(c.GroupConsumerSessionTimeoutMs)
	g.ConsumerHeartbeatIntervalMs = c.GroupConsumerHeartbeatIntervalMs
	g.ConsumerMaxSize = int(c.GroupConsumerMaxSize)
	g.Assignors = c.GroupConsumerAssignors
	g.OffsetMetadataMaxSize = int(c.OffsetMetadataMaxBytes)
	g.OffsetsRetentionMs = int64(c.OffsetsRetentionMinutes) * 60_000
	g.OffsetsRetentionCheckIntervalMs = c.OffsetsRetentionCheckIntervalMs
	g.OffsetCommitTimeoutMs = int64(c.OffsetsCommitTimeoutMs)
	return g
}

// nowMs is the machine's clock: the time of day when the coordinator began, and what has passed since. When somebody
// sets the machine's clock, no session ends for it.
func (c *Coordinator) nowMs() int64 {
	return c.beganMs + c.partition.broker.deps.Now().Sub(c.began).Milliseconds()
}

// serving says whether requests can be answered.
func (c *Coordinator) serving() error {
	switch {
	case c == nil || c.closed:
		return group.ErrNotCoordinator
	case c.machine == nil:
		return group.ErrLoading
	}
	return nil
}

// step brings the machine one event and does what follows from it.
func (c *Coordinator) step(e group.Event, token any) {
	c.stepping = true
	c.carryOut(e, token)
	c.goOn()
}

// durable is called when the high watermark has risen. During a step it is looked at anyway.
func (c *Coordinator) durable() {
	c.begin()
	if !c.stepping && !c.closed && (len(c.writes) > 0 || c.cutWhen > 0) {
		c.stepping = true
		c.goOn()
	}
}

// goOn ends a step: what follows from events may be events.
func (c *Coordinator) goOn() {
	c.settle()
	for !c.closed && c.machine.NextDeadline() <= c.nowMs() {
		c.carryOut(&group.Tick{}, nil)
		c.settle()
	}
	c.arm()
	c.cut()
	c.compact()
	c.stepping = false
}

// settle tells the machine which of its records are durable, or lost.
func (c *Coordinator) settle() {
	for len(c.writes) > 0 {
		w := c.writes[0]
		if w.err == nil && w.end > c.partition.highWatermark() {
			return
		}
		c.writes = c.writes[1:]
		if w.ended != nil {
			c.carryOut(w.ended, nil)
		} else {
			c.carryOut(&group.Persisted{ID: w.id, Err: w.err}, nil)
		}
	}
	c.writes = nil
}

func (c *Coordinator) carryOut(e group.Event, token any) {
	e.Stamp(c.nowMs(), token)
	for _, f := range c.machine.Step(e) {
		switch f.Kind {
		case group.EffectReply:
			f.Token.(*groupCall).done(f.Result, f.Err)
		case group.EffectPersist:
			w := groupWrite{id: f.ID, err: c.write(f.Records, batchOf(&f))}
			w.end = c.partition.log.EndOffset()
			c.writes = append(c.writes, w)
		case group.EffectGroupChanged:
			c.changed(f.Group)
		}
	}
}

// batchOf says what batches an EffectPersist wants.
func batchOf(f *group.Effect) record.Options {
	if !f.Transactional {
		return record.Options{}
	}
	return record.Options{Transactional: true, Idempotent: true, ProducerID: f.ProducerID, ProducerEpoch: f.ProducerEpoch, BaseSequence: -1}
}

// ended notes a transaction's marker that was just appended to the log. While the log is replayed it will be found there.
func (c *Coordinator) ended(b record.Batch) {
	if m, ok := b.Marker(); ok && c.serving() == nil {
		c.writes = append(c.writes, groupWrite{end: c.partition.log.EndOffset(),
			ended: &group.TransactionEnded{ProducerID: b.ProducerID(), Commit: m.Commit}})
	}
}

// write appends records to the partition's log, in as few batches as their size allows. If it fails after the first
// batch, some are there: offsets that were committed although the client was told to try again, which it will.
func (c *Coordinator) write(records []group.Record, o record.Options) error {
	p := c.partition
	now := p.broker.deps.Now()
	nowMs := now.UnixMilli()
	for len(records) > 0 {
		c.builder.Reset(o)
		for len(records) > 0 && (c.builder.Count() == 0 || c.builder.SizeBytes() < batchBytesMax) {
			c.builder.Append(record.Record{Timestamp: nowMs, Key: records[0].Key, Value: records[0].Value})
			records = records[1:]
		}
		if err := p.appendOwn(c.builder.Bytes(), now); err != nil {
			return refusal(err)
		}
	}
	return nil
}

// appendOwn appends a batch that a coordinator has made of its own.
func (p *Partition) appendOwn(b record.Batch, now time.Time) error {
	if err := p.machine.Admit(true, b.Count()); err != nil {
		return err
	}
	appended, err := p.log.Append(b, p.LeaderEpoch(), now.UnixMilli())
	if err != nil {
		return err
	}
	p.appended(b, appended, now)
	return nil
}

// refusal is what those who wait are told when the log refuses records; the same codes as on Apache Kafka.
func refusal(err error) error {
	switch {
	case errors.Is(err, plog.ErrStorage):
		return group.ErrNotCoordinator
	case errors.Is(err, plog.ErrMessageTooLarge), errors.Is(err, plog.ErrRecordListTooLarge):
		return group.ErrUnknownServerError
	}
	return group.ErrCoordinatorNotAvailable
}

// changed logs what an operator wants to know of a group, and tells who watches.
func (c *Coordinator) changed(g group.GroupChange) {
	fields := []zap.Field{zap.String("group", g.GroupID), zap.Int32("generation", g.Generation),
		zap.Int("members", g.Members), zap.String("reason", g.Reason)}
	log := c.partition.broker.deps.Log
	switch g.State {
	case group.PreparingRebalance:
		log.Info("group rebalances", fields...)
	case group.Stable:
		log.Info("group is stable", fields...)
	default:
		log.Debug("group changed", append(fields, zap.Stringer("state", g.State))...)
	}
	if watch := c.partition.broker.groupWatch.Load(); watch != nil {
		(*watch)(g)
	}
}

// topicDeleted drops the offsets that were committed for a topic.
func (c *Coordinator) topicDeleted(name string) {
	switch {
	case c.closed:
	case c.machine == nil:
		c.gone = append(c.gone, name)
	default:
		c.step(&group.TopicDeleted{Topic: name}, nil)
	}
}

// close answers everyone who waits: the partition is led elsewhere, or nowhere.
func (c *Coordinator) close() {
	if c.closed {
		return
	}
	c.partition.broker.deps.Wheel.Cancel(&c.timer)
	if c.machine != nil {
		c.carryOut(&group.Unload{}, nil)
	}
	c.closed, c.machine, c.writes = true, nil, nil
}

const noDeadline = 1<<63 - 1

// arm sets the timer to the machine's next deadline. Most steps leave it as it is.
func (c *Coordinator) arm() {
	if c.closed {
		return
	}
	next := c.machine.NextDeadline()
	if next == c.armedMs {
		return
	}
	c.armedMs = next
	if next == noDeadline {
		c.partition.broker.deps.Wheel.Cancel(&c.timer)
		return
	}
	c.partition.broker.deps.Wheel.Schedule(&c.timer, time.Duration(max(0, next-c.nowMs()))*time.Millisecond)
}

// wakeUp runs on the wheel's goroutine.
func (c *Coordinator) wakeUp() {
	// The timer may be set again, and fire, before the worker has come to the first tick; a task is queued once only.
	if !c.ticking.Swap(true) && !c.partition.worker.Defer(&c.tick) {
		c.ticking.Store(false)
	}
}

// tickTask brings the machine the time, on the worker.
type tickTask struct {
	jobs.Link
	coordinator *Coordinator
}

func (t *tickTask) Run() {
	c := t.coordinator
	c.ticking.Store(false)
	c.armedMs = noDeadline
	if c.serving() == nil {
		c.step(&group.Tick{}, nil)
	}
}
