package console

import (
	"testing"

	"millrace/metadata"
	"millrace/protocol/console"
)

// cluster is an image with a topic of many partitions on two brokers.
func cluster(partitions int) (*metadata.Image, *metadata.Topic) {
	topic := &metadata.Topic{Name: "t", ID: metadata.TopicID{1}}
	for range partitions {
		topic.Partitions = append(topic.Partitions, metadata.NewPartition([]int32{1, 2}, []uint64{11, 12}, 1))
	}
	img := metadata.Empty()
	for id := range int32(2) {
		img = img.Apply(metadata.BrokerRegistered{Broker: &metadata.Broker{ID: id + 1, Incarnation: uint64(11 + id)}})
	}
	return img.Apply(metadata.TopicCreated{Topic: topic}), topic
}

func changed(t *metadata.Topic, index int, change func(*metadata.Partition)) metadata.Delta {
	p := t.Partitions[index]
	change(&p)
	return metadata.PartitionChanged{Name: t.Name, ID: t.ID, Index: int32(index), Partition: p}
}

func TestEventOf(t *testing.T) {
	img, topic := cluster(1)
	for what, c := range map[string]struct {
		delta metadata.Delta
		want  console.EventKind
	}{
		"another leader": {changed(topic, 0, func(p *metadata.Partition) { p.Leader, p.LeaderEpoch = 2, 1 }), console.NewLeader},
		"a smaller ISR":  {changed(topic, 0, func(p *metadata.Partition) { p.SetISR(p.ISRMembers()[:1]) }), console.NewISR},
		"another life": {changed(topic, 0, func(p *metadata.Partition) {
			p.SetISR([]metadata.Member{{Broker: 1, Incarnation: 11}, {Broker: 2, Incarnation: 99}})
		}), console.NewISR},
		"a loss":            {changed(topic, 0, func(p *metadata.Partition) { p.Lose(); p.LeaderEpoch++ }), console.RecordsLost},
		"a higher ceiling":  {changed(topic, 0, func(p *metadata.Partition) { p.OffsetCeiling++ }), ""},
		"a fence":           {metadata.BrokerChanged{Broker: &metadata.Broker{ID: 1, Incarnation: 11, Fenced: true}}, console.BrokerFenced},
		"a drain":           {metadata.BrokerChanged{Broker: &metadata.Broker{ID: 1, Incarnation: 11, Draining: true}}, console.BrokerDraining},
		"another address":   {metadata.BrokerChanged{Broker: &metadata.Broker{ID: 1, Incarnation: 11}}, ""},
		"a registration":    {metadata.BrokerRegistered{Broker: &metadata.Broker{ID: 3, Incarnation: 13}}, console.BrokerRegistered},
		"a removal":         {metadata.BrokerRemoved{ID: 1}, console.BrokerRemoved},
		"a topic that left": {metadata.TopicDeleted{Name: "t", ID: topic.ID}, ""},
		"an unknown topic":  {metadata.PartitionChanged{Name: "u", ID: metadata.TopicID{2}}, ""},
	} {
		e, ok := eventOf(img, c.delta)
		if e.Event != c.want || ok != (c.want != "") {
			t.Errorf("%s: %+v, want %q", what, e, c.want)
		}
	}
}

// TestNewsroom: what is gathered is bounded, counted, and prefers losses; what a client had no room for comes again.
func TestNewsroom(t *testing.T) {
	const many = 3 * newsMax
	img, topic := cluster(many)
	n := newsroom{more: make(chan struct{}, 1)}
	var deltas []metadata.Delta
	for i := range many {
		deltas = append(deltas, changed(topic, i, func(p *metadata.Partition) { p.Leader, p.LeaderEpoch = 2, 1 }))
	}
	n.take(img, img, deltas)
	n.take(img, img, []metadata.Delta{changed(topic, 7, func(p *metadata.Partition) { p.Lose() })})
	<-n.more
	events, leftOut := n.collect()
	if len(events) != newsMax || leftOut != many-newsMax+1 || events[newsMax-1].Event != console.RecordsLost || n.any() {
		t.Errorf("%d events, %d left out, the last %+v", len(events), leftOut, events[len(events)-1])
	}
	n.take(img, img, deltas[:5])
	n.giveBack(events, leftOut)
	again, leftOut := n.collect()
	if len(again) != newsMax || leftOut != many-newsMax+1+5 || again[newsMax-6].Event != console.RecordsLost || again[newsMax-1].Partition != 4 {
		t.Errorf("%d events, %d left out", len(again), leftOut)
	}
}
