package console

import (
	"runtime"

	"millrace/broker/group"
	"millrace/metadata"
	"millrace/protocol/console"
)

func (d *Desk) status() (console.Answer, error) {
	image := d.Host.Image()
	s := console.ServerStatus{ClusterID: image.ClusterID(), ControllerID: image.ControllerID(),
		MetadataRevision: image.Revision(), Brokers: len(image.Brokers()), Topics: image.TopicCount(),
		Goroutines: runtime.NumGoroutine()}
	for _, t := range image.Topics() {
		s.Partitions += len(t.Partitions)
		for i := range t.Partitions {
			p := &t.Partitions[i]
			if image.LeaderOf(p) == metadata.NoBroker {
				s.OfflinePartitions++
			}
			if underReplicated(image, p) {
				s.UnderReplicated++
			}
		}
	}
	for _, b := range d.Host.Brokers() {
		s.Groups += await(func(done func(int)) {
			b.ListGroups(nil, nil, func(g []group.ListedGroup, _ error) { done(len(g)) })
		})
		for _, p := range b.Replicas() {
			s.RecordBytes += p.Figures().SizeBytes
		}
	}
	d.Host.Fill(&s)
	return s, nil
}
