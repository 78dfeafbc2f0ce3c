package sim

import (
	"errors"
	"fmt"
	"math"

	"millrace/broker/replica"
	"millrace/metadata"
	"millrace/metadata/controller"
	"millrace/protocol/record"
)

// Produce's acks.
const (
	acksNone = 0
	acksOne  = 1
	acksAll  = -1
)

// producer writes to one partition. An idempotent one has one batch under way, and sends it until it is acknowledged; what it
// sent before may arrive at any time. Others send each batch once.
type producer struct {
	w          *world
	id         int32
	part       int
	acks       int
	idempotent bool

	pid      int64 // −1: not yet
	epoch    int16
	sequence int32
	current  *batch
	builder  record.Builder
	known    int32 // the newest leader epoch that it has heard of
	acked    int
}

// batch is one as a producer sends it.
type batch struct {
	value      int64
	generation int32 // that the partition was in when it was sent first
	bytes      record.Batch
}

func newProducer(w *world, i int) *producer {
	p := &producer{w: w, id: firstClientID + int32(i), part: i % w.cluster.partitions, acks: acksAll, pid: -1, known: -1}
	switch i / w.cluster.partitions % 5 {
	case 0:
		p.idempotent = true
		if !w.bugs.PIDsReused {
			p.pid = w.pids + int64(i)
		}
	case 1:
		p.idempotent = true
	case 3:
		p.acks = acksOne
	case 4:
		p.acks = acksNone
	}
	return p
}

// leader is who leads as far as broker id has heard, unless the client knows better.
func (w *world) leader(id int32, part int, known *int32) (broker int32, ok bool) {
	n := w.processes[id]
	if !n.busy() || n.central.img == nil || n.central.img.TopicByID(topicID) == nil {
		return 0, false
	}
	p := &n.central.img.TopicByID(topicID).Partitions[part]
	if p.Leader == metadata.NoBroker || p.LeaderEpoch < *known {
		return 0, false
	}
	*known = p.LeaderEpoch
	return p.Leader, true
}

// produce sends something, having asked broker asked who leads.
func (p *producer) produce(asked int32, n int) bool {
	w := p.w
	if p.idempotent && p.pid < 0 {
		w.net = append(w.net, &message{kind: pidRequest, from: p.id, to: asked, part: p.part})
		return true
	}
	leader, ok := w.leader(asked, p.part, &p.known)
	if !ok {
		return false
	}
	b := p.current
	if b == nil {
		b = p.batch(1 + n%3)
	}
	if p.idempotent {
		p.current = b
	}
	w.net = append(w.net, &message{kind: produceRequest, from: p.id, to: leader, part: p.part, batch: b, acks: p.acks})
	return true
}

// keys is how many there are in a log that is compacted. There are no tombstones: a follower that was away for longer than
// delete.retention.ms may miss one, on Apache Kafka too.
const keys = 5

// batch makes one. What a record says is not looked at: the timestamp is its value.
func (p *producer) batch(records int) *batch {
	p.w.values++
	p.builder.Reset(record.Options{Idempotent: p.idempotent, ProducerID: p.pid, ProducerEpoch: p.epoch, BaseSequence: p.sequence})
	for i := range records {
		r := record.Record{Timestamp: p.w.values}
		if p.w.cluster.compact {
			r.Key, r.Value = []byte{0x7f, 0xff, 'a' + byte((p.w.values+int64(i))%keys)}, []byte{} // unknown to coordinators
		}
		p.builder.Append(r)
	}
	return &batch{p.w.values, p.w.oracles[p.part].generation, append(record.Batch(nil), p.builder.Bytes()...)}
}

func (p *producer) begin(pid int64) {
	if p.pid < 0 {
		p.pid = pid
	}
}

func (p *producer) answered(m *message) {
	switch {
	case p.idempotent && m.batch != p.current:
	case m.err == nil:
		p.acked++
		p.current = nil
		p.sequence += m.batch.bytes.Count()
	case errors.Is(m.err, errOutOfOrder) && p.w.oracles[p.part].generation > 0:
		// What came before it is lost, as was declared, or the log has begun anew with something that was sent before: begin
		// anew, too (KIP-360).
		p.current = nil
		p.epoch, p.sequence = p.epoch+1, 0
	}
}

var errOutOfOrder = errors.New("out of order sequence")

// promise is an acks=all produce that waits.
type promise struct {
	request *message
	offset  int64
}

func (p *promise) String() string {
	return fmt.Sprintf("value %d at %d", p.request.batch.value, p.offset)
}

// produce is what a broker does about a request.
func (n *process) produce(m *message) {
	b, p := m.batch.bytes, n.hosted(m.part)
	if p == nil {
		n.refuse(m, replica.ErrNotLeader)
		return
	}
	if err := p.machine.Admit(m.acks == acksAll, b.Count()); err != nil {
		n.refuse(m, err)
		return
	}
	verdict, offset := p.seqs.check(b)
	switch verdict {
	case outOfOrder:
		n.refuse(m, errOutOfOrder)
		return
	case accepted:
		offset = p.log.EndOffset()
		p.oracle().appending(p, offset+int64(b.Count()))
		if _, err := p.log.Append(b, p.machine.LeaderEpoch(), n.w.nowMs); err != nil {
			n.refuse(m, err)
			return
		}
		p.seqs.note(b, offset)
		p.step(&replica.Appended{Head: n.now(), EndOffset: p.log.EndOffset()})
	}
	if m.acks == acksAll {
		p.step(&replica.Await{Head: n.now(), Offset: offset + int64(b.Count()), DeadlineMs: n.w.nowMs + requestMs,
			Token: &promise{m, offset}})
		return
	}
	n.refuse(m, nil)
}

func (n *process) refuse(m *message, err error) {
	if m.acks != acksNone {
		n.reply(m, &message{kind: produceAnswer, batch: m.batch, err: err})
	}
}

func (p *partition) complete(f replica.Effect) {
	promised := f.Token.(*promise)
	if f.Err == nil {
		p.oracle().acknowledged(p, promised)
	}
	p.n.refuse(promised.request, f.Err)
}

// givePID hands out a producer id, from the block that the broker has, or out of a new one.
func (n *process) givePID(m *message) {
	if n.pidNext < n.pidEnd {
		n.pidNext++
		n.reply(m, &message{kind: pidAnswer, pid: n.pidNext - 1})
		return
	}
	if n.central.img == nil {
		return
	}
	var first int64
	n.once(&command{name: "producer ids", plan: func(img *metadata.Image) (deltas []metadata.Delta) {
		deltas, first, _ = n.w.policy.AllocateProducerIDs(img)
		return deltas
	}, done: func(err error) {
		if err == nil {
			n.pidNext, n.pidEnd = first, first+controller.ProducerIDBlockSize
		}
	}})
}

// consumer reads one partition from its beginning on.
type consumer struct {
	w          *world
	id         int32
	part       int
	offset     int64
	generation int32
	known      int32
}

func (c *consumer) consume(asked int32) bool {
	leader, ok := c.w.leader(asked, c.part, &c.known)
	if !ok {
		return false
	}
	c.w.net = append(c.w.net, &message{kind: consumeRequest, from: c.id, to: leader, part: c.part, epoch: c.known, offset: c.offset})
	return true
}

// consume answers with what is committed. In the answer, epoch is the loss generation.
func (n *process) consume(m *message) {
	p := n.hosted(m.part)
	if p == nil || p.machine.CheckEpoch(m.epoch) != nil {
		return
	}
	a := &message{kind: consumeAnswer, epoch: p.machine.LossGeneration(), offset: m.offset,
		answer: replica.Answer{HighWatermark: p.log.EndOffset(), LogStart: p.log.StartOffset()}}
	if m.offset < p.log.StartOffset() || m.offset > p.log.EndOffset() {
		a.err = replica.ErrOffsetOutOfRange
	} else if n.w.bugs.UncommittedRead {
		a.records = p.read(m.offset, p.log.EndOffset())
	} else {
		a.records = p.read(m.offset, p.machine.HighWatermark())
	}
	n.reply(m, a)
}

func (c *consumer) answered(m *message) {
	o := c.w.oracles[c.part]
	switch {
	case m.offset != c.offset || m.epoch < c.generation:
	case m.epoch > c.generation: // the records were lost, and what is read now is others
		c.generation, c.offset = m.epoch, m.answer.LogStart
	case m.err != nil && c.offset < m.answer.LogStart:
		if m.answer.LogStart > max(o.trimmedTo, o.bases[c.generation]) {
			o.violate(gap, "a consumer at %d, where the log starts at %d, and nobody has removed that", c.offset, m.answer.LogStart)
		}
		c.offset = m.answer.LogStart
	case m.err != nil:
		o.violate(lostRecord, "a consumer at %d, where the log ends at %d", c.offset, m.answer.HighWatermark)
	default:
		c.read(m.records)
	}
}

func (c *consumer) read(records []byte) {
	o := c.w.oracles[c.part]
	for len(records) > 0 {
		b, rest, err := record.Next(records)
		if err != nil || b.ComputeCRC() != b.CRC() {
			o.violate(brokenLog, "a consumer gets a batch that is damaged: %v", err)
			return
		}
		records = rest
		if c.w.cluster.compact {
			c.readKeyed(b)
			continue
		}
		if b.BaseOffset() > c.offset || b.LastOffset() < c.offset {
			o.violate(gap, "a consumer at %d gets %d–%d", c.offset, b.BaseOffset(), b.LastOffset())
			return
		}
		for ; c.offset <= b.LastOffset(); c.offset++ {
			c.compare(c.offset, entry{b.BaseTimestamp(), int32(c.offset - b.BaseOffset()), b.PartitionLeaderEpoch(), ""})
		}
	}
}

// readKeyed reads a batch of a log in which there may be holes.
func (c *consumer) readKeyed(b record.Batch) {
	err := eachEntry(b, c.offset, math.MaxInt64, func(at int64, e entry) bool {
		c.compare(at, e)
		return true
	})
	if err != nil {
		c.w.oracles[c.part].violate(brokenLog, "a consumer gets a batch at %d: %v", b.BaseOffset(), err)
	}
	c.offset = max(c.offset, b.LastOffset()+1)
}

func (c *consumer) compare(at int64, got entry) {
	o := c.w.oracles[c.part]
	if was, ok := o.committed[at]; !ok || was != got {
		o.violate(twoValues, "a consumer reads %v at %d, committed was %v", got, at, was)
	}
}
