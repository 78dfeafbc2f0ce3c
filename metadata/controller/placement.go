package controller

import "millrace/metadata"

// placement deals partitions out to brokers in turn, by id. It goes on where the
// image's last topic ended, so that ten topics of one partition don't all end up
// on the first broker.
type placement struct {
	brokers []*metadata.Broker
	turn    int64
}

func newPlacement(img *metadata.Image) placement {
	return placement{brokers: img.Brokers(), turn: img.Placed()}
}

// partitions places count partitions of factor replicas each; factor is at
// most the number of brokers. Replica k of a partition sits k brokers further on
// than the first.
func (p *placement) partitions(count, factor int) []metadata.Partition {
	n := len(p.brokers)
	lists := make([][]int32, n)
	partitions := make([]metadata.Partition, count)
	for i := range partitions {
		start := int(p.turn % int64(n))
		p.turn++
		if lists[start] == nil {
			for k := range factor {
				lists[start] = append(lists[start], p.brokers[(start+k)%n].ID)
			}
		}
		partitions[i] = metadata.NewPartition(lists[start])
	}
	return partitions
}
