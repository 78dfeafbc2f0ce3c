package millrace

import (
	"context"

	"millrace/metadata"
)

// Ready tells whether the brokers of this process are what the cluster counts on: not fenced, and in the ISR of every
// partition that they have a replica of. In a rolling restart the next process may stop when this one is.
func (s *Server) Ready() bool {
	img := s.Image()
	own := make(map[int32]uint64)
	for _, m := range s.members() {
		if !img.Live(m) {
			return false
		}
		own[m.Broker] = m.Incarnation
	}
	if len(own) == 0 {
		return true
	}
	for _, t := range img.Topics() {
		for i := range t.Partitions {
			if !inSync(&t.Partitions[i], own) {
				return false
			}
		}
	}
	return true
}

// inSync tells whether those of own that a partition counts on are in its ISR. One that a reassignment brings in, or takes
// out, isn't counted on.
func inSync(p *metadata.Partition, own map[int32]uint64) bool {
	for _, id := range p.Replicas {
		incarnation, mine := own[id]
		if !mine || p.InISR(id) == incarnation {
			continue
		}
		moving := false
		for _, list := range [][]int32{p.Adding, p.Removing} {
			for _, other := range list {
				moving = moving || other == id
			}
		}
		if !moving {
			return false
		}
	}
	return true
}

// AwaitReady waits until Ready, or ctx is done, or the server is closed.
func (s *Server) AwaitReady(ctx context.Context) error {
	for {
		news := s.news.wait()
		if s.Ready() {
			return nil
		}
		if err := s.rest(ctx, news); err != nil {
			return err
		}
	}
}
