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
	image := d.Host.Image()
	t := image.Topic(c.Name)
	if t == nil {
		return nil, fmt.Errorf("there is no topic %s", c.Name)
	}
	a := console.TopicDescription{TopicRow: d.topicRow(t)}
	for _, name := range slices.Sorted(maps.Keys(t.Configs)) {
		a.Configs = append(a.Configs, console.ConfigRow{Name: name, Value: t.Configs[name]})
	}
	for i := range t.Partitions {
		a.Rows = append(a.Rows, d.partitionRow(image, t, int32(i)))
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

// elect makes another broker the leader of one partition.
func (d *Desk) elect(c console.Elect) (console.Answer, error) {
	spec := metadata.ElectionSpec{Type: metadata.ElectPreferred,
		Partitions: []metadata.PartitionRef{{Topic: c.Topic, Partition: c.Partition}}}
	if c.Unclean {
		spec.Type = metadata.ElectUnclean
	}
	err := await(func(done func(error)) {
		d.Cluster.ElectLeaders(spec, func(results []metadata.ElectionResult, err error) {
			if err == nil {
				err = results[0].Err
			}
			done(err)
		})
	})
	if err != nil {
		return nil, err
	}
	image := d.Host.Image()
	t := image.Topic(c.Topic)
	if t == nil {
		return console.Done{Message: "the topic was deleted"}, nil
	}
	p := &t.Partitions[c.Partition]
	return console.Done{Message: fmt.Sprintf("broker %d leads %s-%d, epoch %d", image.LeaderOf(p), c.Topic, c.Partition, p.LeaderEpoch)}, nil
}

// reassign sets out; the copying goes on behind.
func (d *Desk) reassign(c console.Reassign) (console.Answer, error) {
	ref := metadata.PartitionRef{Topic: c.Topic, Partition: c.Partition}
	r := await(func(done func([]metadata.ReassignmentResult)) {
		d.Cluster.AlterReassignments([]metadata.ReassignmentSpec{{PartitionRef: ref, Replicas: c.Replicas}}, true, done)
	})[0]
	if r.Err != nil {
		return nil, r.Err
	}
	if c.Replicas == nil {
		return console.Done{Message: fmt.Sprintf("the reassignment of %s-%d is called off", c.Topic, c.Partition)}, nil
	}
	return console.Done{Message: fmt.Sprintf("%s-%d goes to %d brokers; DESCRIBE_TOPIC shows how far it is", c.Topic, c.Partition, len(c.Replicas))}, nil
}

func (d *Desk) partitionRow(image *metadata.Image, t *metadata.Topic, index int32) console.PartitionRow {
	p := &t.Partitions[index]
	row := console.PartitionRow{Topic: t.Name, Partition: index, Leader: image.LeaderOf(p), LeaderEpoch: p.LeaderEpoch,
		PartitionEpoch: p.PartitionEpoch, Replicas: p.Replicas, ISR: image.LiveISR(p), ELR: slices.Concat([]int32{}, p.ELR),
		Adding: p.Adding, Removing: p.Removing, LossGeneration: p.LossGeneration,
		UnderReplicated: underReplicated(image, p), StartOffset: -1, HighWatermark: -1, EndOffset: -1}
	if f, ok := d.figures(t, index); ok {
		row.StartOffset, row.HighWatermark, row.EndOffset = f.LogStartOffset, f.HighWatermark, f.LogEndOffset
		row.SizeBytes = f.SizeBytes
	}
	return row
}

// underReplicated tells whether replicas are missing from the ISR, those not counted that are being added.
func underReplicated(image *metadata.Image, p *metadata.Partition) bool {
	isr := image.LiveISR(p)
	for _, id := range p.Replicas {
		if !slices.Contains(isr, id) && !slices.Contains(p.Adding, id) {
			return true
		}
	}
	return false
}

// figures are the offsets of a partition as its leader has them, or else the replica of this process that knows most: a
// follower's high watermark is a fetch behind.
func (d *Desk) figures(t *metadata.Topic, index int32) (best broker.Figures, known bool) {
	if _, p := d.leader(t, index); p != nil {
		return p.Figures(), true
	}
	for _, b := range d.Host.Brokers() {
		p, err := b.PartitionByID(t.ID, index)
		if err != nil {
			continue
		}
		if f := p.Figures(); !known || f.HighWatermark > best.HighWatermark {
			best, known = f, true
		}
	}
	return best, known
}

// leader finds a partition and the broker that leads it; nil if it is not in this process.
func (d *Desk) leader(t *metadata.Topic, index int32) (*broker.Broker, *broker.Partition) {
	if index < 0 || int(index) >= len(t.Partitions) {
		return nil, nil
	}
	b := d.Host.Broker(d.Host.Image().LeaderOf(&t.Partitions[index]))
	if b == nil {
		return nil, nil
	}
	p, err := b.PartitionByID(t.ID, index)
	if err != nil {
		return nil, nil
	}
	return b, p
}
