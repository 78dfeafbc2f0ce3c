package controller

import (
	"fmt"

	"millrace/metadata"
)

// administer is something that somebody wants.
func (w *walk) administer() {
	switch w.rng.IntN(14) {
	case 0:
		w.createTopics()
	case 1:
		w.deleteTopic()
	case 2:
		w.configure()
	case 3:
		w.elect()
	case 4:
		deltas, _ := w.BalanceLeaders(w.img, 1+w.rng.IntN(3))
		w.plan("balance", deltas)
	case 5, 6, 7:
		w.reassign()
	case 8, 9:
		w.drain()
	case 10:
		if t, _ := w.somePartition(w.img); t != nil && len(t.Partitions) < 4 {
			deltas, _ := w.CreatePartitions(w.img, []metadata.PartitionsSpec{{Name: t.Name, Count: int32(len(t.Partitions) + 1)}})
			w.plan("add a partition", deltas)
		}
	case 11:
		w.removeBroker()
	case 12, 13:
		w.grow()
	}
}

func (w *walk) createTopics() {
	name := fmt.Sprint("t", w.rng.IntN(6))
	configs := make(map[string]*string)
	if w.rng.IntN(2) == 0 {
		text := fmt.Sprint(1 + w.rng.IntN(3))
		configs[minInSyncReplicas] = &text
	}
	spec := metadata.TopicSpec{
		Name: name, Partitions: int32(1 + w.rng.IntN(3)), ReplicationFactor: int16(1 + w.rng.IntN(3)), Configs: configs,
	}
	if w.rng.IntN(4) == 0 {
		name = metadata.ConsumerOffsetsTopic
		spec.Name, spec.ReplicationFactor = name, -1
	}
	deltas, _ := w.CreateTopics(w.img, []metadata.TopicSpec{spec})
	w.plan("create "+name, deltas)
}

// grow plans on any image, settled or not, as a controller may that has not heard of everything. Where all was settled
// there is nothing to do a second time.
func (w *walk) grow() {
	deltas := w.GrowInternal(w.img)
	for _, d := range deltas {
		if c, ok := d.(metadata.PartitionChanged); ok && len(c.Partition.Adding) > 0 {
			w.count("grown")
		}
	}
	if again := w.GrowInternal(w.img.Apply(deltas...)); len(again) > 0 && len(w.Settle(w.img)) == 0 {
		w.fail("to grow a second time: %v", again)
	}
	w.plan("grow", deltas)
}

func (w *walk) deleteTopic() {
	if t, _ := w.somePartition(w.img); t != nil && w.rng.IntN(3) == 0 {
		deltas, _ := w.DeleteTopics(w.img, []metadata.TopicRef{{Name: t.Name}})
		w.plan("delete "+t.Name, deltas)
	}
}

func (w *walk) configure() {
	t, _ := w.somePartition(w.img)
	if t == nil {
		return
	}
	name, text := minInSyncReplicas, fmt.Sprint(1+w.rng.IntN(3))
	if w.rng.IntN(3) == 0 {
		name, text = uncleanLeaderElection, fmt.Sprint(w.rng.IntN(4) == 0)
	}
	spec := metadata.ConfigSpec{Name: t.Name, Set: map[string]*string{name: &text}}
	if w.rng.IntN(4) == 0 {
		spec.Kind, spec.Name = metadata.BrokerConfigs, "" // of all
	}
	deltas, _ := w.AlterConfigs(w.img, []metadata.ConfigSpec{spec})
	w.plan(fmt.Sprintf("configure %q: %s=%s", spec.Name, name, text), deltas)
}

func (w *walk) elect() {
	t, index := w.somePartition(w.img)
	if t == nil {
		return
	}
	spec := metadata.ElectionSpec{Type: metadata.ElectPreferred, Partitions: []metadata.PartitionRef{{Topic: t.Name, Partition: index}}}
	if w.rng.IntN(4) == 0 {
		spec.Type = metadata.ElectUnclean
	}
	deltas, _ := w.ElectLeaders(w.img, spec)
	w.unclean = spec.Type == metadata.ElectUnclean
	w.plan(fmt.Sprintf("elect %v", spec), deltas)
	w.unclean = false
}

func (w *walk) reassign() {
	t, index := w.somePartition(w.img)
	brokers := w.img.Brokers()
	if t == nil || len(brokers) == 0 {
		return
	}
	spec := metadata.ReassignmentSpec{PartitionRef: metadata.PartitionRef{Topic: t.Name, Partition: index}}
	if w.rng.IntN(4) > 0 {
		for _, i := range w.rng.Perm(len(brokers))[:min(len(brokers), 1+w.rng.IntN(3))] {
			spec.Replicas = append(spec.Replicas, brokers[i].ID)
		}
	}
	deltas, _ := w.AlterReassignments(w.img, []metadata.ReassignmentSpec{spec}, true)
	w.plan(fmt.Sprintf("reassign %v", spec), deltas)
}

func (w *walk) drain() {
	brokers := w.img.Brokers()
	if len(brokers) == 0 {
		return
	}
	m := brokers[w.rng.IntN(len(brokers))].Member()
	if w.rng.IntN(3) == 0 {
		deltas, _ := w.CancelDrain(w.img, m)
		w.plan(fmt.Sprint("cancel the drain of ", m), deltas)
		return
	}
	img := w.img
	deltas, state, err := w.Drain(img, m, true)
	if err != nil {
		w.fail("drain: %v", err)
	}
	if state.Left {
		w.count("drained")
		w.checkLeft(img, m, deltas)
	}
	w.plan(fmt.Sprintf("drain %v: %+v", m, state), deltas)
}

// checkLeft: after a broker has left, every partition whose ISR it was in keeps its
// MinISR (R9).
func (w *walk) checkLeft(img *metadata.Image, m metadata.Member, deltas []metadata.Delta) {
	after := img.Apply(deltas...)
	for _, t := range img.Topics() {
		for i := range t.Partitions {
			was, is := &t.Partitions[i], &after.Topic(t.Name).Partitions[i]
			counts := was.InISR(m.Broker) == m.Incarnation || was.InELR(m.Broker) == m.Incarnation
			if counts && len(is.ISR) < is.MinISR() {
				w.fail("%v left, and %s-%d has %+v", m, t.Name, i, is)
			}
		}
	}
}

func (w *walk) removeBroker() {
	brokers := w.img.Brokers()
	if len(brokers) == 0 {
		return
	}
	b := brokers[w.rng.IntN(len(brokers))]
	if w.rng.IntN(4) > 0 {
		if deltas, err := w.UnregisterBroker(w.img, b.ID); err == nil {
			w.plan(fmt.Sprint("unregister ", b.Member()), deltas)
		}
		return
	}
	deltas, err := w.RemoveBroker(w.img, b.ID)
	if err != nil {
		w.fail("remove: %v", err)
	}
	done := w.plan(fmt.Sprint("remove ", b.Member()), deltas)
	if p := w.processes[b.ID]; done && w.img.Broker(b.ID) == nil && p.alive && p.life == b.Incarnation {
		w.crash(p)
	}
}
