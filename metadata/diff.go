package metadata

import "maps"

// Diff returns deltas that lead from img to next: for a watcher that missed
// some revisions, and has listed the store again. A topic that was deleted and
// made again in between is both deleted and created.
func (img *Image) Diff(next *Image) []Delta {
	var ds []Delta
	if img.clusterID != next.clusterID {
		ds = append(ds, ClusterNamed{next.clusterID})
	}
	if img.producerIDNext != next.producerIDNext || img.producerIDRevision != next.producerIDRevision {
		ds = append(ds, ProducerIDsAllocated{next.producerIDNext, next.producerIDRevision})
	}
	if img.controller != next.controller {
		if next.controller.Token == 0 {
			ds = append(ds, ControllerResigned{})
		} else {
			ds = append(ds, next.controller)
		}
	}
	ds = img.diffBrokers(next, ds)
	ds = img.diffAlive(next, ds)
	ds = img.diffResources(next, ds)
	for _, t := range img.Topics() {
		if next.TopicByID(t.ID) == nil {
			ds = append(ds, TopicDeleted{t.Name, t.ID})
		}
	}
	for _, t := range next.Topics() {
		if old := img.TopicByID(t.ID); old == nil {
			ds = append(ds, TopicCreated{t})
		} else if old != t {
			ds = diffTopic(old, t, ds)
		}
	}
	return ds
}

func (img *Image) diffBrokers(next *Image, ds []Delta) []Delta {
	for _, r := range next.removed {
		i, known := img.findRemoved(r.id)
		if !known || img.removed[i] != r {
			ds = append(ds, BrokerRemoved{r.id, r.revision})
		}
	}
	for _, b := range img.brokers {
		if _, noted := next.findRemoved(b.ID); next.Broker(b.ID) == nil && !noted {
			ds = append(ds, BrokerRemoved{ID: b.ID})
		}
	}
	for _, b := range next.brokers {
		old := img.Broker(b.ID)
		switch {
		case old == nil || old.Incarnation != b.Incarnation:
			ds = append(ds, BrokerRegistered{b})
		case old.Revision != b.Revision:
			ds = append(ds, BrokerChanged{b})
		}
	}
	return ds
}

func (img *Image) diffAlive(next *Image, ds []Delta) []Delta {
	for _, a := range img.alive {
		if next.Alive(a.ID) == 0 {
			ds = append(ds, BrokerSilent{a.ID})
		}
	}
	for _, a := range next.alive {
		if i, ok := img.findAlive(a.ID); !ok || img.alive[i] != a {
			ds = append(ds, a)
		}
	}
	return ds
}

func diffTopic(old, next *Topic, ds []Delta) []Delta {
	if n := len(old.Partitions); len(next.Partitions) > n || next.Revision != old.Revision {
		ds = append(ds, PartitionsAdded{next.Name, next.ID, int32(n), next.Partitions[n:], next.Revision})
	}
	if next.ConfigRevision != old.ConfigRevision || !maps.Equal(next.Configs, old.Configs) {
		ds = append(ds, ConfigChanged{next.Name, next.ID, next.Configs, next.ConfigRevision})
	}
	for i := range old.Partitions {
		if !old.Partitions[i].Equal(&next.Partitions[i]) {
			ds = append(ds, PartitionChanged{next.Name, next.ID, int32(i), next.Partitions[i]})
		}
	}
	return ds
}
