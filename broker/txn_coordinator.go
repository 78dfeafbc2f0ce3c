package broker

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"millrace/broker/group"
	"millrace/broker/txn"
	"millrace/config"
	"millrace/jobs"
	"millrace/protocol/record"
)

// txnCoordinator hosts the machine of one partition of __transaction_state, on that partition's worker, as Coordinator does
// for groups. Markers go to the leaders of the transactions' partitions (markers.go).
type txnCoordinator struct {
	partition *Partition
	machine   *txn.Machine // nil while the log is replayed, and after the partition has left
	closed    bool
	stepping  bool
	replayed  *txn.Machine // waits until what it has read is committed
	servesAt  int64        // the high watermark at which it is
	writes    []txnWrite   // into the log, oldest first; not yet known to be durable
	builder   record.Builder
	compactAt int64 // the size of the log at which it is written anew
	cutTo     int64 // the log's start, when it has been
	cutWhen   int64 // the high watermark that makes it so; 0: nothing is to be cut

	began   time.Time
	beganMs int64

	timer   jobs.Timer
	armedMs int64 // when the timer fires, by the machine's clock
	ticking atomic.Bool
	tick    txnTick
}

// txnWrite are records that the machine wants to be durable.
type txnWrite struct {
	id  txn.PersistID
	end int64 // the high watermark that makes them so
	err error // the log refused them
}

func newTxnCoordinator(p *Partition) *txnCoordinator {
	d := &p.broker.deps
	c := &txnCoordinator{partition: p, began: d.Now(), beganMs: d.NowMs(), armedMs: noDeadline}
	c.tick.coordinator = c
	c.timer.Init(c.wakeUp)
	return c
}

// txnConfig is what the settings say about transactions.
func txnConfig(c *config.Config) txn.Config {
	t := txn.DefaultConfig()
	t.MaxTimeoutMs = c.TransactionMaxTimeoutMs
	t.IDExpirationMs = int64(c.TransactionalIDExpirationMs)
	t.ExpiryCheckIntervalMs = int64(c.TransactionExpiryCheckMs)
	return t
}

// nowMs is the machine's clock. Unlike that of groups it is close to the time of day: the records have times in them that the
// next coordinator goes on from.
func (c *txnCoordinator) nowMs() int64 {
	return c.beganMs + c.partition.broker.deps.Now().Sub(c.began).Milliseconds()
}

// serving says whether requests can be answered.
func (c *txnCoordinator) serving() error {
	switch {
	case c == nil || c.closed:
		return txn.ErrNotCoordinator
	case c.machine == nil:
		return txn.ErrLoading
	}
	return nil
}

// load replays the partition's log into a new machine, a part at a time; nothing is appended meanwhile.
func (c *txnCoordinator) load() {
	c.replay(txn.New(txnConfig(c.partition.broker.deps.Config)), c.partition.log.StartOffset())
}

func (c *txnCoordinator) replay(m *txn.Machine, from int64) {
	if c.closed {
		return
	}
	p := c.partition
	var scratch record.Scratch
	bytes := 0
	for b := range p.log.Batches(from, p.log.EndOffset()) {
		if bytes > loadBytesMax {
			from = b.BaseOffset()
			p.worker.DoDeferred(func() { c.replay(m, from) })
			return
		}
		bytes += b.SizeBytes()
		if err := b.Each(&scratch, func(r record.Record) error {
			if err := m.Load(r.Key, r.Value); err != nil {
				p.warn("a record was skipped", zap.Int64("offset", b.BaseOffset()+int64(r.OffsetDelta)), zap.Error(err))
			}
			return nil
		}); err != nil {
			p.warn("a batch can't be read", zap.Int64("offset", b.BaseOffset()), zap.Error(err))
		}
	}
	c.replayed, c.servesAt = m, p.log.EndOffset()
	c.begin()
}

// begin puts the machine to work when all that it has read is committed: it may go on with a transaction that the log says is
// to be committed, and must not if the next leader may not have that record.
func (c *txnCoordinator) begin() {
	p, m := c.partition, c.replayed
	if m == nil || c.closed || p.highWatermark() < c.servesAt {
		return
	}
	c.replayed, c.machine = nil, m
	c.compactAt = max(compactBytesMin, 2*p.log.SizeBytes())
	if n := m.Transactions(); n > 0 {
		p.broker.deps.Log.Info("transaction coordinator loaded", zap.Int32("partition", p.Index), zap.Int("transactional_ids", n))
	}
	c.step(&txn.Loaded{}, nil)
}

// step brings the machine one event and does what follows from it.
func (c *txnCoordinator) step(e txn.Event, token any) {
	c.stepping = true
	c.carryOut(e, token)
	c.goOn()
}

// durable is called when the high watermark has risen. During a step it is looked at anyway.
func (c *txnCoordinator) durable() {
	c.begin()
	if !c.stepping && !c.closed && (len(c.writes) > 0 || c.cutWhen > 0) {
		c.stepping = true
		c.goOn()
	}
}

// goOn ends a step: what follows from events may be events.
func (c *txnCoordinator) goOn() {
	c.settle()
	for !c.closed && c.machine.NextDeadline() <= c.nowMs() {
		c.carryOut(&txn.Tick{}, nil)
		c.settle()
	}
	c.arm()
	c.cut()
	c.compact()
	c.stepping = false
}

// settle tells the machine which of its records are durable, or lost.
func (c *txnCoordinator) settle() {
	for len(c.writes) > 0 {
		w := c.writes[0]
		if w.err == nil && w.end > c.partition.highWatermark() {
			return
		}
		c.writes = c.writes[1:]
		c.carryOut(&txn.Persisted{ID: w.id, Err: w.err}, nil)
	}
	c.writes = nil
}

func (c *txnCoordinator) carryOut(e txn.Event, token any) {
	e.Stamp(c.nowMs(), token)
	for _, f := range c.machine.Step(e) {
		switch f.Kind {
		case txn.EffectReply:
			f.Token.(*txnCall).done(f.Result, f.Err)
		case txn.EffectPersist:
			w := txnWrite{id: f.ID, err: c.write(f.Records)}
			w.end = c.partition.log.EndOffset()
			c.writes = append(c.writes, w)
		case txn.EffectMarkers:
			c.mark(f.Marker)
		case txn.EffectProducerID:
			c.draw(f.Token.(*txnCall))
		case txn.EffectChanged:
			c.partition.broker.deps.Log.Debug("transaction changed", zap.String("transactional_id", f.Change.TransactionalID),
				zap.Int64("producer_id", f.Change.ProducerID), zap.Int16("epoch", f.Change.ProducerEpoch),
				zap.Stringer("state", f.Change.State), zap.String("reason", f.Change.Reason))
		}
	}
}

// draw gets a producer id for a request and brings it to the machine again. Never within the step that asked.
func (c *txnCoordinator) draw(call *txnCall) {
	c.partition.broker.NextProducerID(func(id int64, err error) {
		running := c.partition.worker.DoDeferred(func() {
			switch serving := c.serving(); {
			case serving != nil:
				call.done(nil, serving)
			case err != nil:
				call.done(nil, txn.ErrCoordinatorNotAvailable)
			default:
				call.event.DrawnProducerID(id)
				c.step(call.event, call)
			}
		})
		if !running {
			call.done(nil, txn.ErrNotCoordinator)
		}
	})
}

// mark sends markers and brings the machine what became of them. Never within the step that asked.
func (c *txnCoordinator) mark(k txn.Marker) {
	p := c.partition
	p.broker.sendMarkers(&k, p.LeaderEpoch(), func(results []txn.MarkedPartition) {
		p.worker.DoDeferred(func() {
			if c.serving() == nil {
				c.step(&txn.Marked{TransactionalID: k.TransactionalID, ProducerID: k.ProducerID,
					ProducerEpoch: k.ProducerEpoch, Results: results}, nil)
			}
		})
	})
}

// write appends records to the partition's log, in as few batches as their size allows.
func (c *txnCoordinator) write(records []txn.Record) error {
	now := c.partition.broker.deps.Now()
	for len(records) > 0 {
		c.builder.Reset(record.Options{})
		for len(records) > 0 && (c.builder.Count() == 0 || c.builder.SizeBytes() < batchBytesMax) {
			c.builder.Append(record.Record{Timestamp: now.UnixMilli(), Key: records[0].Key, Value: records[0].Value})
			records = records[1:]
		}
		if err := c.partition.appendOwn(c.builder.Bytes(), now); err != nil {
			return txnRefusal(err)
		}
	}
	return nil
}

// txnRefusal is refusal in the words of package txn.
func txnRefusal(err error) error {
	switch refusal(err) {
	case group.ErrNotCoordinator:
		return txn.ErrNotCoordinator
	case group.ErrUnknownServerError:
		return txn.ErrUnknownServerError
	}
	return txn.ErrCoordinatorNotAvailable
}

// compact replaces the log by what the machine says is its content, when it is twice as large as after the last time.
func (c *txnCoordinator) compact() {
	p := c.partition
	if c.closed || p.log.SizeBytes() < c.compactAt || c.cutWhen > 0 || len(c.writes) > 0 || !c.machine.Idle() {
		return
	}
	start := p.log.EndOffset()
	var records []txn.Record
	bytes, err := 0, error(nil)
	for r := range c.machine.Snapshot {
		records = append(records, r)
		if bytes += len(r.Key) + len(r.Value); bytes >= batchBytesMax {
			if err = c.write(records); err != nil {
				break
			}
			records, bytes = records[:0], 0
		}
	}
	if err == nil && c.write(records) == nil {
		c.cutTo, c.cutWhen = start, p.log.EndOffset()
		c.cut()
	}
	c.compactAt = max(compactBytesMin, 2*p.log.SizeBytes())
}

// cut drops what was before the content that compact has written, when that is durable.
func (c *txnCoordinator) cut() {
	if c.cutWhen == 0 || c.closed || c.cutWhen > c.partition.highWatermark() {
		return
	}
	to := c.cutTo
	c.cutTo, c.cutWhen = 0, 0
	if err := c.partition.deleteRecords(to); err != nil {
		c.partition.warn("the log can't be cut off", zap.Error(err))
	}
}

// close answers everyone who waits: the partition is led elsewhere, or nowhere.
func (c *txnCoordinator) close() {
	if c.closed {
		return
	}
	c.partition.broker.deps.Wheel.Cancel(&c.timer)
	if c.machine != nil {
		c.carryOut(&txn.Unload{}, nil)
	}
	c.closed, c.machine, c.writes = true, nil, nil
}

// arm sets the timer to the machine's next deadline. Most steps leave it as it is.
func (c *txnCoordinator) arm() {
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
func (c *txnCoordinator) wakeUp() {
	if !c.ticking.Swap(true) && !c.partition.worker.Defer(&c.tick) {
		c.ticking.Store(false)
	}
}

// txnTick brings the machine the time, on the worker.
type txnTick struct {
	jobs.Link
	coordinator *txnCoordinator
}

func (t *txnTick) Run() {
	c := t.coordinator
	c.ticking.Store(false)
	c.armedMs = noDeadline
	if c.serving() == nil {
		c.step(&txn.Tick{}, nil)
	}
}
