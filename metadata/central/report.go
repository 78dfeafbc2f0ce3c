package central

import (
	"go.uber.org/zap"

	"millrace/metadata"
)

// lossLinesMax bounds the lines about partitions that lost their records in one
// change; the number is told in any case.
const lossLinesMax = 100

// report logs what an operator acts on.
func (s *Server) report(old *metadata.Image, deltas []metadata.Delta) {
	var n changes
	for _, d := range deltas {
		switch d := d.(type) {
		case metadata.BrokerRegistered:
			s.log.Info("broker registered", zap.Int32("broker", d.Broker.ID), zap.Stringers("endpoints", d.Broker.Endpoints))
		case metadata.BrokerChanged:
			s.reportBroker(old.Broker(d.Broker.ID), d.Broker)
		case metadata.BrokerRemoved:
			s.log.Info("broker removed", zap.Int32("broker", d.ID))
		case metadata.ControllerElected:
			s.log.Info("controller elected", zap.String("server", d.Name), zap.Bool("this_one", d.Token == s.token))
		case metadata.ControllerResigned:
			s.log.Info("there is no controller")
		case metadata.TopicCreated:
			s.log.Info("topic created", zap.String("topic", d.Topic.Name), zap.Stringer("id", d.Topic.ID),
				zap.Int("partitions", len(d.Topic.Partitions)))
		case metadata.TopicDeleted:
			s.log.Info("topic deleted", zap.String("topic", d.Name), zap.Stringer("id", d.ID))
		case metadata.PartitionsAdded:
			s.log.Info("partitions added", zap.String("topic", d.Name), zap.Int("added", len(d.Partitions)))
		case metadata.PartitionChanged:
			s.reportPartition(old, d, &n)
		}
	}
	if n.moved > 0 {
		s.log.Info("partitions have a new leader", zap.Int("partitions", n.moved))
	}
	if n.offline > 0 {
		s.log.Warn("partitions are offline: no broker is left for them", zap.Int("partitions", n.offline))
	}
	if n.lost > 0 {
		s.log.Warn("partitions lost their records", zap.Int("partitions", n.lost))
	}
}

// changes counts partitions.
type changes struct{ moved, offline, lost int }

func (s *Server) reportPartition(old *metadata.Image, d metadata.PartitionChanged, n *changes) {
	was := partitionOf(old, d)
	switch {
	case d.Partition.LossGeneration > was.LossGeneration:
		if n.lost++; n.lost <= lossLinesMax {
			s.log.Warn("the records of a partition are lost: no replica is left that had all of them",
				zap.String("topic", d.Name), zap.Int32("partition", d.Index), zap.Int32("loss_generation", d.Partition.LossGeneration),
				zap.Int64("offsets_below", d.Partition.BaseOffset), zap.Int32s("in_sync_were", was.ISR))
		}
	case d.Partition.Leader == metadata.NoBroker && was.Leader != metadata.NoBroker:
		n.offline++
	case d.Partition.Leader != was.Leader:
		n.moved++
	}
}

func (s *Server) reportBroker(was, is *metadata.Broker) {
	switch {
	case was == nil:
	case is.Fenced && !was.Fenced:
		s.log.Warn("broker fenced", zap.Int32("broker", is.ID), zap.Bool("draining", is.Draining))
	case was.Fenced && !is.Fenced:
		s.log.Info("broker back: it isn't fenced any more", zap.Int32("broker", is.ID))
	case is.Draining != was.Draining:
		s.log.Info("broker drains", zap.Int32("broker", is.ID), zap.Bool("draining", is.Draining))
	}
}

func partitionOf(img *metadata.Image, d metadata.PartitionChanged) metadata.Partition {
	if t := img.TopicByID(d.ID); t != nil && int(d.Index) < len(t.Partitions) {
		return t.Partitions[d.Index]
	}
	return metadata.Partition{Leader: metadata.NoBroker}
}
