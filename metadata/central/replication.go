package central

import (
	"sync/atomic"

	"go.uber.org/zap"

	"millrace/metadata"
	"millrace/metadata/controller"
)

// Settle does all that follows for partitions from who is registered, fenced or
// gone. Whoever changes a registration by a method of the Server needn't ask for
// it; it is for what was left half done.
// Errors: ErrNotController, ErrUnavailable.
func (s *Server) Settle(done func(error)) {
	s.submit(&command{duty: true, resumes: true, plan: s.policy.Settle, done: done})
}

// GrowInternal begins what internal topics lack of replicas (Policy.GrowInternal). The
// copying goes on behind.
// Errors: ErrNotController, ErrUnavailable.
func (s *Server) GrowInternal(done func(error)) {
	s.submit(&command{duty: true, resumes: true, plan: s.policy.GrowInternal, done: done})
}

// follow settles what follows from a command that was carried out. That it fails is no
// reason to refuse the command: the controller tries again.
func (s *Server) follow(done func()) {
	if len(s.policy.Settle(s.Image())) == 0 {
		done()
		return
	}
	s.submit(&command{
		resumes: true, urgent: true, plan: s.policy.Settle,
		done: func(err error) {
			if err != nil {
				s.log.Warn("partitions didn't follow a change of brokers yet", zap.Error(err))
			}
			done()
		},
	})
}

func (s *Server) thenFollow(err error, done func(error)) {
	if err != nil {
		done(err)
		return
	}
	s.follow(func() { done(nil) })
}

// AlterPartitions is a leader's wish for other ISRs and higher offset ceilings, of as
// many partitions as it likes; from is the leader in its life. There is one
// result for each spec, in order. Several requests at once don't get in
// each other's way, but one for many partitions costs less.
//
// An answer without an error has been written to the letter. With ErrUnavailable
// it isn't known whether it was; with any other error it was not.
// Errors: those of controller.Policy.AlterPartitions, and ErrUnavailable.
func (s *Server) AlterPartitions(from metadata.Member, specs []metadata.AlterPartitionSpec, done func([]metadata.AlterPartitionResult)) {
	results := make([]metadata.AlterPartitionResult, len(specs))
	chunk := max(1, len(specs))
	if most := s.store.TxnMax(); most > 0 {
		// A chunk fits into one transaction, so that it is done or not done: two compares
		// each, and some of brokers.
		chunk = max(1, (most-alterBrokersMax)/2)
	}
	var left atomic.Int64 // the last one may be answered by a server that is closed meanwhile
	left.Store(int64(max(1, (len(specs)+chunk-1)/chunk)))
	for at := 0; at == 0 || at < len(specs); at += chunk {
		to := min(at+chunk, len(specs))
		s.alter(from, specs[at:to], results[at:to], func() {
			if left.Add(-1) == 0 {
				done(results)
			}
		})
	}
}

// alterBrokersMax is for how many brokers that join an ISR there is room in a
// transaction of AlterPartitions.
const alterBrokersMax = 16

// alter answers into results, on the executor.
func (s *Server) alter(from metadata.Member, specs []metadata.AlterPartitionSpec, results []metadata.AlterPartitionResult, done func()) {
	planned := false
	s.submit(&command{
		plan: func(img *metadata.Image) []metadata.Delta {
			deltas, rs := s.policy.AlterPartitions(img, from, specs)
			copy(results, rs)
			planned = true
			return deltas
		},
		done: func(err error) {
			for i := range results {
				r := &results[i]
				if !planned {
					r.Topic, r.Partition = specs[i].Topic, specs[i].Partition
				}
				if err != nil && r.Err == nil {
					r.State, r.Err = metadata.Partition{}, err
				}
			}
			s.completeReassignments(results)
			done()
		},
	})
}

// completeReassignments ends those whose targets are in the ISR now. Nobody waits for
// it.
func (s *Server) completeReassignments(results []metadata.AlterPartitionResult) {
	var ids []controller.PartitionID
	for i := range results {
		if r := &results[i]; r.Err == nil && s.policy.Reassigned(s.Image(), &r.State) {
			ids = append(ids, controller.PartitionID{Topic: r.Topic, Partition: r.Partition})
		}
	}
	if len(ids) == 0 {
		return
	}
	s.submit(&command{
		resumes: true,
		plan:    func(img *metadata.Image) []metadata.Delta { return s.policy.SettlePartitions(img, ids) },
		done: func(err error) {
			if err != nil {
				s.log.Warn("reassignments that are complete weren't ended yet", zap.Error(err))
			}
		},
	})
}

// ElectLeaders holds elections that somebody asks for.
// Errors: those of controller.Policy.ElectLeaders, and ErrUnavailable: then it
// isn't known whether all were held.
func (s *Server) ElectLeaders(spec metadata.ElectionSpec, done func([]metadata.ElectionResult, error)) {
	var results []metadata.ElectionResult
	s.submit(&command{
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, results = s.policy.ElectLeaders(img, spec)
			return deltas
		},
		done: func(err error) {
			if err != nil {
				results = nil
			}
			done(results, err)
		},
	})
}

// BalanceLeaders gives up to most partitions back to their preferred leaders, and
// tells how many are left. It is the controller's.
// Errors: ErrNotController, ErrUnavailable.
func (s *Server) BalanceLeaders(most int, done func(left int, err error)) {
	left := 0
	s.submit(&command{
		duty: true,
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, left = s.policy.BalanceLeaders(img, most)
			return deltas
		},
		done: func(err error) { done(left, err) },
	})
}

// AlterReassignments begins, changes and cancels reassignments. There is one result
// for each partition.
// Errors: those of controller.Policy.AlterReassignments, and ErrUnavailable.
func (s *Server) AlterReassignments(specs []metadata.ReassignmentSpec, allowFactorChange bool, done func([]metadata.ReassignmentResult)) {
	var results []metadata.ReassignmentResult
	s.submit(&command{
		plan: func(img *metadata.Image) (deltas []metadata.Delta) {
			deltas, results = s.policy.AlterReassignments(img, specs, allowFactorChange)
			return deltas
		},
		done: func(err error) {
			if results == nil && err != nil {
				for i := range specs {
					results = append(results, metadata.ReassignmentResult{PartitionRef: specs[i].PartitionRef})
				}
			}
			for i := range results {
				results[i].Err = first(results[i].Err, err)
			}
			done(results)
		},
	})
}

// Reassignments lists those that are under way; refs nil: all.
func (s *Server) Reassignments(refs []metadata.PartitionRef) []metadata.Reassignment {
	return controller.Reassignments(s.Image(), refs)
}
