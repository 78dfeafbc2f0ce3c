package controller

import (
	"slices"

	"millrace/metadata"
)

// CreateTopics plans new topics. There is one result for each name, in the order
// of the first mention; a name that is mentioned twice is refused.
func (p Policy) CreateTopics(img *metadata.Image, specs []metadata.TopicSpec) ([]metadata.Delta, []metadata.TopicResult) {
	p = p.asOf(img)
	c := creation{Policy: p, img: img, budget: budget{p, img.PartitionCount(), 0}, place: newPlacement(img), normal: make(map[string]string)}
	duplicates := repeated(specs, func(s metadata.TopicSpec) string { return s.Name })
	var deltas []metadata.Delta
	results := make([]metadata.TopicResult, 0, len(specs))
	for i := range specs {
		spec := &specs[i]
		if again, twice := duplicates[spec.Name]; twice {
			if !again {
				duplicates[spec.Name] = true
				results = append(results, metadata.TopicResult{Name: spec.Name, Err: errDuplicateTopic()})
			}
			continue
		}
		topic, err := c.create(spec)
		if err != nil {
			results = append(results, metadata.TopicResult{Name: spec.Name, Err: err})
			continue
		}
		deltas = append(deltas, metadata.TopicCreated{Topic: topic})
		results = append(results, metadata.TopicResult{Name: spec.Name, Topic: topic})
	}
	return deltas, results
}

func errDuplicateTopic() error {
	return metadata.Errorf(metadata.ErrInvalidRequest, "Duplicate topic name.")
}

// repeated returns the keys that more than one of list has, each with false.
func repeated[T any, K comparable](list []T, key func(T) K) map[K]bool {
	seen := make(map[K]struct{}, len(list))
	var twice map[K]bool
	for _, v := range list {
		k := key(v)
		if _, ok := seen[k]; ok {
			if twice == nil {
				twice = make(map[K]bool)
			}
			twice[k] = false
		}
		seen[k] = struct{}{}
	}
	return twice
}

// creation is a CreateTopics under way: what the topics planned so far have
// used up.
type creation struct {
	Policy
	img    *metadata.Image
	budget budget
	place  placement
	normal map[string]string // metadata.NormalName → the name that was planned
}

func (c *creation) create(spec *metadata.TopicSpec) (*metadata.Topic, error) {
	if err := c.checkName(spec.Name); err != nil {
		return nil, err
	}
	configs, err := c.creationConfigs(spec)
	if err != nil {
		return nil, err
	}
	var partitions []metadata.Partition
	if len(spec.Assignment) > 0 {
		partitions, err = c.assigned(spec, c.minInSync(spec.Name, configs))
	} else {
		partitions, err = c.placed(spec, c.minInSync(spec.Name, configs))
	}
	if err != nil {
		return nil, err
	}
	c.normal[metadata.NormalName(spec.Name)] = spec.Name
	return &metadata.Topic{
		Name: spec.Name, ID: c.NewTopicID(), Partitions: partitions, Configs: configs, Internal: metadata.IsInternal(spec.Name),
	}, nil
}

// grows tells whether the topic gets as many replicas as there are brokers for, up to
// InternalReplicationFactor.
func (c *creation) grows(spec *metadata.TopicSpec) bool {
	return c.InternalReplicationFactor > 0 && metadata.IsInternal(spec.Name) && spec.ReplicationFactor == -1 && len(spec.Assignment) == 0
}

func (c *creation) checkName(name string) error {
	if err := metadata.ValidateTopicName(name); err != nil {
		return err
	}
	if name == metadata.ClusterMetadataTopic {
		return metadata.Errorf(metadata.ErrInvalidRequest, "Creation of internal topic %s is prohibited.", name)
	}
	if c.img.Topic(name) != nil {
		return metadata.Errorf(metadata.ErrTopicExists, "Topic '%s' already exists.", name)
	}
	other := c.normal[metadata.NormalName(name)]
	if t := c.img.Colliding(name); t != nil {
		other = t.Name
	}
	if other != "" {
		return metadata.Errorf(metadata.ErrInvalidTopic, "Topic '%s' collides with existing topic: %s", name, other)
	}
	return nil
}

// assigned checks a manual assignment.
func (c *creation) assigned(spec *metadata.TopicSpec, minInSync int32) ([]metadata.Partition, error) {
	if spec.ReplicationFactor != -1 || spec.Partitions != -1 {
		return nil, metadata.Errorf(metadata.ErrInvalidRequest,
			"With a manual partition assignment, the number of partitions and the replication factor have to be -1.")
	}
	partitions := make([]metadata.Partition, len(spec.Assignment))
	seen := make(map[int32]struct{}, len(spec.Assignment))
	for _, a := range spec.Assignment {
		if _, ok := seen[a.Partition]; ok {
			return nil, metadata.Errorf(metadata.ErrInvalidReplicaAssignment,
				"Found multiple manual partition assignments for partition %d", a.Partition)
		}
		seen[a.Partition] = struct{}{}
		if err := c.checkReplicas(c.img, a.Replicas, len(spec.Assignment[0].Replicas)); err != nil {
			return nil, err
		}
		partition, err := byHand(c.img, a.Partition, a.Replicas, minInSync)
		if err != nil {
			return nil, err
		}
		if 0 <= a.Partition && int(a.Partition) < len(partitions) {
			partitions[a.Partition] = partition
		}
	}
	for i := range partitions {
		if partitions[i].Replicas == nil {
			return nil, metadata.Errorf(metadata.ErrInvalidReplicaAssignment,
				"partitions should be a consecutive 0-based integer sequence, but %d is missing", i)
		}
	}
	return partitions, c.budget.take(len(partitions))
}

// byHand is a partition whose replicas were chosen by hand, and checked. Those that
// are fenced or draining are not in sync.
func byHand(img *metadata.Image, index int32, replicas []int32, minInSync int32) (metadata.Partition, error) {
	lives := make([]uint64, len(replicas))
	for i, id := range replicas {
		if b := img.Broker(id); b.Active() {
			lives[i] = b.Incarnation
		}
	}
	p := metadata.NewPartition(slices.Clone(replicas), lives, minInSync)
	if p.Leader == metadata.NoBroker {
		return p, metadata.Errorf(metadata.ErrInvalidReplicaAssignment,
			"All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", index)
	}
	return p, nil
}

// checkReplicas checks one partition's list of a manual assignment; want is the
// length of the topic's other lists.
func (p Policy) checkReplicas(img *metadata.Image, replicas []int32, want int) error {
	refuse := func(format string, args ...any) error {
		return metadata.Errorf(metadata.ErrInvalidReplicaAssignment, "The manual partition assignment includes "+format, args...)
	}
	if len(replicas) == 0 {
		return refuse("an empty replica list.")
	}
	for i, id := range replicas {
		if img.Broker(id) == nil {
			return refuse("broker %d, but no such broker is registered.", id)
		}
		if slices.Contains(replicas[:i], id) {
			return refuse("the broker %d more than once.", id)
		}
	}
	if len(replicas) != want {
		return refuse("a partition with %d replica(s), but this is not consistent with other partitions, which have %d.", len(replicas), want)
	}
	return p.checkFactorMax(len(replicas))
}

// placed places partitions by the counts of spec.
func (c *creation) placed(spec *metadata.TopicSpec, minInSync int32) ([]metadata.Partition, error) {
	factor, count := int(spec.ReplicationFactor), int(spec.Partitions)
	if factor < -1 || factor == 0 {
		return nil, metadata.Errorf(metadata.ErrInvalidReplicationFactor,
			"Replication factor must be larger than 0, or -1 to use the default value.")
	}
	if count < -1 || count == 0 {
		return nil, metadata.Errorf(metadata.ErrInvalidPartitions,
			"Number of partitions must be larger than 0, or -1 to use the default value.")
	}
	switch {
	case c.grows(spec):
		factor = max(1, c.internalFactor(c.img))
	case factor == -1:
		factor = int(c.ReplicationFactor)
	}
	if count == -1 {
		count = int(c.NumPartitions)
	}
	if err := c.checkFactor(c.img, factor); err != nil {
		return nil, err
	}
	if err := c.budget.take(count); err != nil {
		return nil, err
	}
	return c.place.partitions(count, factor, minInSync), nil
}

func (p Policy) checkFactor(img *metadata.Image, factor int) error {
	if brokers := len(img.Brokers()); factor > brokers {
		return metadata.Errorf(metadata.ErrInvalidReplicationFactor,
			"Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are registered.",
			factor, factor, brokers)
	}
	if !slices.ContainsFunc(img.Brokers(), (*metadata.Broker).Active) {
		return metadata.Errorf(metadata.ErrInvalidReplicationFactor,
			"Unable to replicate the partition %d time(s): All brokers are currently fenced.", factor)
	}
	return p.checkFactorMax(factor)
}

func (p Policy) checkFactorMax(factor int) error {
	if p.ReplicationFactorMax > 0 && factor > int(p.ReplicationFactorMax) {
		return metadata.Errorf(metadata.ErrInvalidReplicationFactor,
			"Unable to replicate the partition %d time(s): this cluster keeps %d replica(s) at most.", factor, p.ReplicationFactorMax)
	}
	return nil
}

// budget counts the partitions that a request creates against the limits.
type budget struct {
	policy  Policy
	existed int
	created int
}

func (b *budget) take(n int) error {
	if b.created+n > b.policy.PartitionsPerRequestMax {
		return metadata.Errorf(metadata.ErrPolicyViolation,
			"Excessively large number of partitions per request: the most is %d.", b.policy.PartitionsPerRequestMax)
	}
	if b.existed+b.created+n > b.policy.PartitionsMax {
		return metadata.Errorf(metadata.ErrPolicyViolation,
			"The cluster has %d partitions, and may have no more than %d.", b.existed+b.created, b.policy.PartitionsMax)
	}
	b.created += n
	return nil
}

// DeleteTopics plans the end of topics, the internal ones too, as Apache Kafka
// does. There is one result for each topic that is referred to, in the order of
// the first mention; one that is mentioned twice, be it by name and by id, is
// refused and stays.
func (p Policy) DeleteTopics(img *metadata.Image, refs []metadata.TopicRef) ([]metadata.Delta, []metadata.DeleteResult) {
	var deltas []metadata.Delta
	results := make([]metadata.DeleteResult, 0, len(refs))
	places := make(map[string]int, len(refs)) // of the result for what refKey says
	for _, ref := range refs {
		topic, err := find(img, ref)
		r := metadata.DeleteResult{Name: ref.Name, ID: ref.ID, Err: err}
		if topic != nil {
			r.Name, r.ID = topic.Name, topic.ID
		}
		key := refKey(r)
		if i, twice := places[key]; twice {
			results[i].Err = metadata.Errorf(metadata.ErrInvalidRequest, "Duplicate topic name or topic id.")
			continue
		}
		places[key] = len(results)
		results = append(results, r)
	}
	for _, r := range results {
		if r.Err == nil {
			deltas = append(deltas, metadata.TopicDeleted{Name: r.Name, ID: r.ID})
		}
	}
	return deltas, results
}

// refKey tells what was referred to apart. An id can't be taken for a name: a
// legal name has no '/'.
func refKey(r metadata.DeleteResult) string { return r.Name + "/" + r.ID.String() }

func find(img *metadata.Image, ref metadata.TopicRef) (*metadata.Topic, error) {
	byID := !ref.ID.IsZero()
	switch {
	case byID && ref.Name != "":
		return nil, metadata.Errorf(metadata.ErrInvalidRequest, "You may not specify both topic name and topic id.")
	case !byID && ref.Name == "":
		return nil, metadata.Errorf(metadata.ErrInvalidRequest, "Neither topic name nor id were specified.")
	case byID:
		if t := img.TopicByID(ref.ID); t != nil {
			return t, nil
		}
		return nil, metadata.Errorf(metadata.ErrUnknownTopicID, "There is no topic with the id %v.", ref.ID)
	}
	if t := img.Topic(ref.Name); t != nil {
		return t, nil
	}
	return nil, errUnknownTopic(ref.Name)
}

func errUnknownTopic(name string) error {
	return metadata.Errorf(metadata.ErrUnknownTopic, "There is no topic %q.", name)
}
