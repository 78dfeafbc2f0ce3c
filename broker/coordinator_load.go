package broker

import (
	"go.uber.org/zap"

	"millrace/broker/group"
	"millrace/protocol/record"
)

// loadBytesMax is how much of a log a coordinator replays before it lets its worker do something else.
const loadBytesMax = 1 << 20

// load replays the partition's log into a new machine. Until it is through, requests are told to try again.
func (c *Coordinator) load() {
	p := c.partition
	m := group.New(groupConfig(p.broker.deps.Config))
	if p.log.EndOffset() == p.log.StartOffset() {
		c.loaded(m)
		return
	}
	c.replay(m, p.log.StartOffset())
}

// replay takes the next part of the log. Of what is appended meanwhile, which is markers only, it takes notice, too.
func (c *Coordinator) replay(m *group.Machine, from int64) {
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
		if b.IsControl() {
			if marker, ok := b.Marker(); ok {
				m.LoadMarker(b.ProducerID(), marker.Commit)
			}
			continue
		}
		if err := b.Each(&scratch, func(r record.Record) error {
			err := error(nil)
			if b.IsTransactional() {
				err = m.LoadTransactional(b.ProducerID(), r.Key, r.Value)
			} else {
				err = m.Load(r.Key, r.Value)
			}
			if err != nil {
				p.broker.deps.Log.Warn("a record of __consumer_offsets was skipped", zap.Int32("partition", p.Index),
					zap.Int64("offset", b.BaseOffset()+int64(r.OffsetDelta)), zap.Error(err))
			}
			return nil
		}); err != nil {
			p.broker.deps.Log.Error("a batch of __consumer_offsets can't be read", zap.Int32("partition", p.Index),
				zap.Int64("offset", b.BaseOffset()), zap.Error(err))
		}
	}
	c.replayed, c.servesAt = m, p.log.EndOffset()
	c.begin()
}

// begin puts the machine to work when all that it has read is committed: the rest may go with the next election, and nobody
// may have seen an offset that does.
func (c *Coordinator) begin() {
	if m := c.replayed; m != nil && !c.closed && c.partition.highWatermark() >= c.servesAt {
		c.replayed = nil
		c.loaded(m)
	}
}

// loaded puts the machine to work. Offsets of topics that were deleted while nobody coordinated are dropped now.
func (c *Coordinator) loaded(m *group.Machine) {
	p := c.partition
	c.machine = m
	c.compactAt = max(compactBytesMin, 2*p.log.SizeBytes())
	if n := m.Groups(); n > 0 {
		p.broker.deps.Log.Info("group coordinator loaded", zap.Int32("partition", p.Index), zap.Int("groups", n))
	}
	// A change may be known to the cluster and on its way here, or the other way round.
	image := p.broker.deps.Cluster.Image()
	if c.image != nil && c.image.Revision() > image.Revision() {
		image = c.image
	}
	c.step(&group.TopicsChanged{View: topicView{image}}, nil)
	c.step(&group.Loaded{}, nil)
	for _, topic := range m.Topics() {
		if image.Topic(topic) == nil {
			c.gone = append(c.gone, topic)
		}
	}
	for _, topic := range c.gone {
		c.step(&group.TopicDeleted{Topic: topic}, nil)
	}
	c.gone = nil
}

// compactBytesMin is the size below which a log is not worth the work.
const compactBytesMin = 512 << 10

// compact replaces the log by what the machine says is its content, when it is twice as large as after the last time. So
// the log stays small although the cleaner leaves it alone. Whoever reads __consumer_offsets and lags behind finds its start moved, as with any retention.
func (c *Coordinator) compact() {
	p := c.partition
	if c.closed || p.log.SizeBytes() < c.compactAt || c.cutWhen > 0 || len(c.writes) > 0 || !c.machine.Idle() {
		return
	}
	start := p.log.EndOffset()
	var records []group.Record
	bytes := 0
	flush := func() bool {
		if err := c.write(records, record.Options{}); err != nil {
			return false
		}
		records, bytes = records[:0], 0
		return true
	}
	for r := range c.machine.Snapshot {
		records = append(records, r)
		if bytes += len(r.Key) + len(r.Value); bytes >= batchBytesMax && !flush() {
			break
		}
	}
	if flush() {
		c.cutTo, c.cutWhen = start, p.log.EndOffset()
		c.cut()
	}
	c.compactAt = max(compactBytesMin, 2*p.log.SizeBytes())
}

// cut drops what was before the content that compact has written, when that is durable.
func (c *Coordinator) cut() {
	if c.cutWhen == 0 || c.closed || c.cutWhen > c.partition.highWatermark() {
		return
	}
	to := c.cutTo
	c.cutTo, c.cutWhen = 0, 0
	if err := c.partition.deleteRecords(to); err != nil {
		c.partition.warn("the log can't be cut off", zap.Error(err))
	}
}
