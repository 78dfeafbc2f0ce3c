package controller

import (
	"math"

	"millrace/metadata"
)

// CreatePartitions plans more partitions for topics that exist. There is one
// result for each name; a name that is mentioned twice is refused.
func (p Policy) CreatePartitions(img *metadata.Image, specs []metadata.PartitionsSpec) ([]metadata.Delta, []metadata.PartitionsResult) {
	p = p.asOf(img)
	duplicates := repeated(specs, func(s metadata.PartitionsSpec) string { return s.Name })
	b := budget{p, img.PartitionCount(), 0}
	place := newPlacement(img)
	var deltas []metadata.Delta
	results := make([]metadata.PartitionsResult, 0, len(specs))
	for i := range specs {
		spec := &specs[i]
		again, twice := duplicates[spec.Name]
		if again {
			continue
		}
		var delta metadata.Delta
		var err error
		if twice {
			duplicates[spec.Name] = true
			err = errDuplicateTopic()
		} else {
			delta, err = p.extend(img, spec, &b, &place)
		}
		if err == nil {
			deltas = append(deltas, delta)
		}
		results = append(results, metadata.PartitionsResult{Name: spec.Name, Err: err})
	}
	return deltas, results
}

func (p Policy) extend(img *metadata.Image, spec *metadata.PartitionsSpec, b *budget, place *placement) (metadata.Delta, error) {
	t := img.Topic(spec.Name)
	if t == nil {
		return nil, errUnknownTopic(spec.Name)
	}
	has := len(t.Partitions)
	if int(spec.Count) == has {
		return nil, metadata.Errorf(metadata.ErrInvalidPartitions, "Topic already has %d partition(s).", has)
	}
	if int(spec.Count) < has {
		return nil, metadata.Errorf(metadata.ErrInvalidPartitions,
			"The topic %s currently has %d partition(s); %d would not be an increase.", t.Name, has, spec.Count)
	}
	more, factor := int(spec.Count)-has, int(t.ReplicationFactor())
	if spec.Assignment != nil && len(spec.Assignment) != more {
		return nil, metadata.Errorf(metadata.ErrInvalidReplicaAssignment,
			"Attempted to add %d additional partition(s), but %d assignment(s) were specified.", more, len(spec.Assignment))
	}
	added := metadata.PartitionsAdded{Name: t.Name, ID: t.ID, First: int32(has)}
	minInSync := p.minInSync(t.Name, t.Configs)
	for i, replicas := range spec.Assignment {
		if err := p.checkReplicas(img, replicas, factor); err != nil {
			return nil, err
		}
		partition, err := byHand(img, int32(has+i), replicas, minInSync)
		if err != nil {
			return nil, err
		}
		added.Partitions = append(added.Partitions, partition)
	}
	if spec.Assignment == nil {
		if err := p.checkFactor(img, factor); err != nil {
			return nil, err
		}
	}
	if err := b.take(more); err != nil {
		return nil, err
	}
	if spec.Assignment == nil {
		added.Partitions = place.partitions(more, factor, minInSync)
	}
	return added, nil
}

// ProducerIDBlockSize is how many producer ids AllocateProducerIDs hands out at
// once (Apache Kafka's number).
const ProducerIDBlockSize = 1000

// AllocateProducerIDs plans the next block of producer ids, [first, first +
// ProducerIDBlockSize). A block that was planned but never reached its broker is
// lost, never used twice.
func (p Policy) AllocateProducerIDs(img *metadata.Image) (deltas []metadata.Delta, first int64, err error) {
	first = img.ProducerIDNext()
	if first > math.MaxInt64-ProducerIDBlockSize {
		return nil, 0, metadata.Errorf(metadata.ErrUnavailable, "All producer ids have been handed out.")
	}
	return []metadata.Delta{metadata.ProducerIDsAllocated{Next: first + ProducerIDBlockSize}}, first, nil
}
