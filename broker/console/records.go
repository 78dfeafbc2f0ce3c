package console

import (
	"fmt"
	"slices"
	"time"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/console"
	"millrace/protocol/record"
)

// produceTimeoutMs is how long the replicas in sync have: as a producer's request.timeout.ms.
const produceTimeoutMs = 30_000

// produce appends one record, like a producer with acks=all that knows one partitioner: by the key where there is one
// (murmur2, as the Java client), round robin otherwise. An unknown topic is created if that is allowed.
func (d *Desk) produce(c console.Produce) (console.Answer, error) {
	t, err := d.topicToWrite(c.Topic)
	if err != nil {
		return nil, err
	}
	index, timestampMs := c.Partition, c.TimestampMs
	switch {
	case index >= 0:
	case c.Key != nil:
		index = console.PartitionFor(c.Key, int32(len(t.Partitions)))
	default:
		index = d.nextPartition(t)
	}
	if timestampMs < 0 {
		timestampMs = time.Now().UnixMilli()
	}
	b, p := d.leader(t, index)
	if p == nil {
		return nil, d.noPartition(t, index)
	}
	r := record.Record{Timestamp: timestampMs, Key: c.Key, Value: c.Value}
	for _, h := range c.Headers {
		r.Headers = append(r.Headers, record.Header{Key: []byte(h.Key), Value: h.Value})
	}
	var builder record.Builder
	builder.Reset(record.Options{})
	builder.Append(r)
	part := await(func(done func(broker.AppendPart)) {
		op := &broker.Produce{Acks: broker.AcksAll, TimeoutMs: produceTimeoutMs, Parts: []broker.AppendPart{{Partition: p, Batch: builder.Bytes()}},
			Done: func(op *broker.Produce) { done(op.Parts[0]) }}
		op.Start(b)
	})
	if part.Err != nil {
		return nil, part.Err
	}
	if part.LogAppendTimeMs >= 0 {
		timestampMs = part.LogAppendTimeMs
	}
	return console.Produced{Topic: t.Name, Partition: index, Offset: part.BaseOffset, TimestampMs: timestampMs}, nil
}

func (d *Desk) topicToWrite(name string) (*metadata.Topic, error) {
	t := d.Host.Image().Topic(name)
	switch {
	case t != nil && t.Internal:
		return nil, fmt.Errorf("topic %s belongs to the cluster, it can't be written to", name)
	case t != nil:
		return t, nil
	case !d.Config.AutoCreateTopics:
		return nil, fmt.Errorf("there is no topic %s, and auto.create.topics.enable is off", name)
	}
	r := await(func(done func([]metadata.TopicResult)) {
		d.Cluster.CreateTopics([]metadata.TopicSpec{broker.AutoTopic(name, d.Config)}, false, done)
	})[0]
	if t = d.Host.Image().Topic(name); t != nil { // by us, or by somebody else at the same time
		return t, nil
	}
	return nil, r.Err
}

func (d *Desk) noPartition(t *metadata.Topic, index int32) error {
	if int(index) >= len(t.Partitions) {
		return fmt.Errorf("topic %s has partitions 0 to %d, not %d", t.Name, len(t.Partitions)-1, index)
	}
	if leader := d.Host.Image().LeaderOf(&t.Partitions[index]); leader != metadata.NoBroker {
		return fmt.Errorf("partition %d of topic %s is led by broker %d, which isn't of this process", index, t.Name, leader)
	}
	return fmt.Errorf("partition %d of topic %s has no leader", index, t.Name)
}

// nextPartition is the round robin. What it remembers of deleted topics goes when it is more than what there is.
func (d *Desk) nextPartition(t *metadata.Topic) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.next[t.ID]
	d.next[t.ID] = n + 1
	if image := d.Host.Image(); len(d.next) > 2*image.TopicCount() {
		for id := range d.next {
			if image.TopicByID(id) == nil {
				delete(d.next, id)
			}
		}
	}
	return int32(n % uint32(len(t.Partitions)))
}

const (
	// consumeBytes is what one read of CONSUME asks for.
	consumeBytes = 1 << 20
	// consumeAnswerBytes ends an answer early; it says where to go on.
	consumeAnswerBytes = 16 << 20
)

// consume reads the records that are there, from an offset on.
func (d *Desk) consume(c console.Consume) (console.Answer, error) {
	t := d.Host.Image().Topic(c.Topic)
	if t == nil {
		return nil, fmt.Errorf("there is no topic %s", c.Topic)
	}
	b, p := d.leader(t, c.Partition)
	if p == nil {
		return nil, d.noPartition(t, c.Partition)
	}
	from := c.From.Offset
	switch c.From.Base {
	case console.Start:
		from += p.Figures().LogStartOffset
	case console.End:
		from = max(from+p.Figures().HighWatermark, p.Figures().LogStartOffset)
	}
	a := console.RecordList{NextOffset: from}
	for size := 0; len(a.Records) < int(c.Max) && size < consumeAnswerBytes; {
		read := readRecords(b, p, c.Partition, a.NextOffset, int(c.Max)-len(a.Records))
		if read.err != nil {
			return nil, outOfRange(read.err, p, from)
		}
		a.Records = append(a.Records, read.records...)
		a.HighWatermark, a.NextOffset = read.high, read.next
		size += read.bytes
		if read.bytes == 0 {
			break
		}
	}
	return a, nil
}

func outOfRange(err error, p *broker.Partition, from int64) error {
	f := p.Figures()
	return fmt.Errorf("offset %d: %w (the partition holds %d to %d)", from, err, f.LogStartOffset, f.HighWatermark)
}

// read is what one fetch found.
type read struct {
	err        error
	records    []console.RecordRow
	next, high int64
	bytes      int
}

func readRecords(b *broker.Broker, p *broker.Partition, index int32, from int64, most int) read {
	return await(func(done func(read)) {
		op := &broker.Fetch{BytesMax: consumeBytes,
			Parts: []broker.FetchPart{{Partition: p, LeaderEpoch: -1, Offset: from, BytesMax: consumeBytes}}}
		op.Done = func(op *broker.Fetch) {
			part := &op.Parts[0]
			r := read{err: part.Err, next: from, high: part.HighWatermark, bytes: op.Bytes}
			for _, v := range op.Views {
				if r.err == nil {
					r.err = r.decode(v, index, from, most)
				}
				v.Slab.Release()
			}
			done(r)
		}
		op.Start(b)
	})
}

// decode copies the records of a view from an offset on.
func (r *read) decode(v protocol.View, index int32, from int64, most int) error {
	var scratch record.Scratch
	for rest := v.Bytes; len(rest) > 0 && len(r.records) < most; {
		b, after, err := record.Next(rest)
		if err != nil {
			return err
		}
		rest = after
		err = b.Each(&scratch, func(x record.Record) error {
			offset := b.BaseOffset() + int64(x.OffsetDelta)
			if offset < from || len(r.records) >= most {
				return nil
			}
			r.records = append(r.records, row(x, index, offset))
			r.next = offset + 1
			return nil
		})
		if err != nil {
			return err
		}
		if len(r.records) < most {
			r.next = b.LastOffset() + 1
		}
	}
	return nil
}

func row(x record.Record, index int32, offset int64) console.RecordRow {
	r := console.RecordRow{Partition: index, Offset: offset, TimestampMs: x.Timestamp,
		Key: slices.Clone(x.Key), Value: slices.Clone(x.Value)}
	for _, h := range x.Headers {
		r.Headers = append(r.Headers, console.Header{Key: string(h.Key), Value: slices.Clone(h.Value)})
	}
	return r
}
