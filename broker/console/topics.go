package console

import (
	"fmt"
	"maps"
	"slices"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol/console"
)

func (d *Desk) createTopic(c console.CreateTopic) (console.Answer, error) {
	spec := metadata.TopicSpec{Name: c.Name, Partitions: c.Partitions, ReplicationFactor: c.ReplicationFactor}
	for name, value := range c.Configs {
		if spec.Configs == nil {
			spec.Configs = map[string]*string{}
		}
		spec.Configs[name] = &value
	}
	r := await(func(done func([]metadata.TopicResult)) {
		d.Cluster.CreateTopics([]metadata.TopicSpec{spec}, false, done)
	})[0]
	if r.Err != nil {
		return nil, r.Err
	}
	return console.TopicCreated{Topic: d.topicRow(r.Topic)}, nil
}

func (d *Desk) deleteTopic(c console.DeleteTopic) (console.Answer, error) {
	r := await(func(done func([]metadata.DeleteResult)) {
		d.Cluster.DeleteTopics([]metadata.TopicRef{{Name: c.Name}}, done)
	})[0]
	if r.Err != nil {
		return nil, fmt.Errorf("topic %s: %w", c.Name, r.Err)
	}
	return console.Done{Message: "topic " + c.Name + " is deleted"}, nil
}

func (d *Desk) topics() console.Answer {
	all := d.Host.Image().Topics()
	rows := make(console.TopicList, len(all))
	for i, t := range all {
		rows[i] = d.topicRow(t)
	}
	return rows
}

func (d *Desk) describeTopic(c console.DescribeTopic) (console.Answer, error) {
	t := d.Host.Image().Topic(c.Name)
	if t == nil {
		return nil, fmt.Errorf("there is no topic %s", c.Name)
	}
	a := console.TopicDescription{TopicRow: d.topicRow(t)}
	for _, name := range slices.Sorted(maps.Keys(t.Configs)) {
		a.Configs = append(a.Configs, console.ConfigRow{Name: name, Value: t.Configs[name]})
	}
	for i := range t.Partitions {
		a.Rows = append(a.Rows, d.partitionRow(t, int32(i)))
	}
	return a, nil
}

func (d *Desk) topicRow(t *metadata.Topic) console.TopicRow {
	row := console.TopicRow{Topic: t.Name, ID: t.ID.String(), Partitions: len(t.Partitions),
		ReplicationFactor: int(t.ReplicationFactor()), Internal: t.Internal}
	for i := range t.Partitions {
		if f, ok := d.figures(t, int32(i)); ok {
			row.Records += f.HighWatermark - f.LogStartOffset
			row.SizeBytes += f.SizeBytes
		}
	}
	return row
}

func (d *Desk) partitionRow(t *metadata.Topic, index int32) console.PartitionRow {
	p := &t.Partitions[index]
	row := console.PartitionRow{Topic: t.Name, Partition: index, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
		Replicas: p.Replicas, ISR: p.ISR, StartOffset: -1, HighWatermark: -1, EndOffset: -1}
	if f, ok := d.figures(t, index); ok {
		row.StartOffset, row.HighWatermark, row.EndOffset = f.LogStartOffset, f.HighWatermark, f.LogEndOffset
		row.SizeBytes = f.SizeBytes
	}
	return row
}

// figures are the offsets of a partition that a broker of this process leads.
func (d *Desk) figures(t *metadata.Topic, index int32) (broker.Figures, bool) {
	_, p := d.leader(t, index)
	if p == nil {
		return broker.Figures{}, false
	}
	return p.Figures(), true
}

// leader finds a partition and the broker that leads it; nil if it is not in this process.
func (d *Desk) leader(t *metadata.Topic, index int32) (*broker.Broker, *broker.Partition) {
	if index < 0 || int(index) >= len(t.Partitions) {
		return nil, nil
	}
	b := d.Host.Broker(t.Partitions[index].Leader)
	if b == nil {
		return nil, nil
	}
	p, err := b.PartitionByID(t.ID, index)
	if err != nil {
		return nil, nil
	}
	return b, p
}
