package central

import (
	"millrace/metadata"
	"millrace/metadata/controller"
)

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// simple runs a command whose only answer is an error.
func (s *Server) simple(plan func(img *metadata.Image) ([]metadata.Delta, error), done func(error)) {
	var refused error
	s.submit(&command{
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, refused = plan(img)
			return deltas
		},
		done: func(err error) { done(first(err, refused)) },
	})
}

// CreateTopics makes topics, or with validateOnly only says what would happen.
// There is one result for each name, in the order of the first mention. The
// slices of specs must not change until done is called.
// Errors: ErrInvalidTopic, ErrTopicExists, ErrTopicAuthorizationFailed,
// ErrInvalidRequest, ErrInvalidPartitions, ErrInvalidReplicationFactor,
// ErrInvalidReplicaAssignment, ErrInvalidConfig, ErrPolicyViolation,
// ErrUnavailable.
func (s *Server) CreateTopics(specs []metadata.TopicSpec, validateOnly bool, done func([]metadata.TopicResult)) {
	var results []metadata.TopicResult
	s.submit(&command{
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, results = s.policy.CreateTopics(img, specs)
			return unless(validateOnly, deltas)
		},
		done: func(err error) {
			if results == nil && err != nil {
				for i := range specs {
					results = append(results, metadata.TopicResult{Name: specs[i].Name})
				}
			}
			img := s.Image()
			for i := range results {
				r := &results[i]
				if r.Err != nil {
					continue
				}
				if err != nil {
					r.Topic, r.Err = nil, err
				} else if stored := img.TopicByID(r.Topic.ID); stored != nil {
					r.Topic = stored
				}
			}
			done(results)
		},
	})
}

func unless(not bool, deltas []metadata.Delta) []metadata.Delta {
	if not {
		return nil
	}
	return deltas
}

// DeleteTopics deletes topics, by name or by id. There is one result for each
// reference; a name or id that is mentioned twice has one, and is refused.
// Errors: ErrUnknownTopic, ErrUnknownTopicID, ErrInvalidRequest, ErrUnavailable.
func (s *Server) DeleteTopics(refs []metadata.TopicRef, done func([]metadata.DeleteResult)) {
	var results []metadata.DeleteResult
	s.submit(&command{
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, results = s.policy.DeleteTopics(img, refs)
			return deltas
		},
		done: func(err error) {
			if results == nil && err != nil {
				for _, ref := range refs {
					results = append(results, metadata.DeleteResult{Name: ref.Name, ID: ref.ID})
				}
			}
			for i := range results {
				results[i].Err = first(results[i].Err, err)
			}
			done(results)
		},
	})
}

// CreatePartitions makes topics longer, or with validateOnly only says what
// would happen. There is one result for each name.
// Errors: ErrUnknownTopic, ErrInvalidRequest, ErrInvalidPartitions,
// ErrInvalidReplicationFactor, ErrInvalidReplicaAssignment, ErrPolicyViolation,
// ErrUnavailable.
func (s *Server) CreatePartitions(specs []metadata.PartitionsSpec, validateOnly bool, done func([]metadata.PartitionsResult)) {
	var results []metadata.PartitionsResult
	s.submit(&command{
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, results = s.policy.CreatePartitions(img, specs)
			return unless(validateOnly, deltas)
		},
		done: func(err error) {
			if results == nil && err != nil {
				for i := range specs {
					results = append(results, metadata.PartitionsResult{Name: specs[i].Name})
				}
			}
			for i := range results {
				results[i].Err = first(results[i].Err, err)
			}
			done(results)
		},
	})
}

// AlterConfigs changes settings of topics and other resources, or with validateOnly only says
// what would happen. There is one result for each spec, in order.
// Errors: ErrUnknownTopic, ErrInvalidRequest, ErrInvalidConfig, ErrUnavailable.
func (s *Server) AlterConfigs(specs []metadata.ConfigSpec, validateOnly bool, done func([]metadata.ConfigResult)) {
	var results []metadata.ConfigResult
	s.submit(&command{
		resumes: true,
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, results = s.policy.AlterConfigs(img, specs)
			return unless(validateOnly, deltas)
		},
		done: func(err error) {
			if results == nil && err != nil {
				for i := range specs {
					results = append(results, metadata.ConfigResult{Kind: specs[i].Kind, Name: specs[i].Name})
				}
			}
			for i := range results {
				results[i].Err = first(results[i].Err, err)
			}
			done(results)
		},
	})
}

// AllocateProducerIDs hands out count producer ids from first on. They have
// never been handed out before, and never will be again.
// Errors: ErrUnavailable.
func (s *Server) AllocateProducerIDs(done func(first, count int64, err error)) {
	var start int64
	s.simple(func(img *metadata.Image) (deltas []metadata.Delta, err error) {
		deltas, start, err = s.policy.AllocateProducerIDs(img)
		return deltas, err
	}, func(err error) {
		if err != nil {
			done(0, 0, err)
			return
		}
		done(start, controller.ProducerIDBlockSize, nil)
	})
}
