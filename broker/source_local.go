package broker

import (
	"millrace/metadata"
)

// Source is this broker as a follower of the same process reads from it: an operation like any other, without a socket.
func (b *Broker) Source(follower metadata.Member) Source {
	s := &localSource{leader: b, follower: follower, parts: map[PartitionKey]*SetPart{}}
	s.set.ByID, s.free = true, s.op.release
	s.op.From, s.op.Set, s.op.Done, s.op.All = follower, &s.set, s.fetched, false
	return s
}

type localSource struct {
	leader   *Broker
	follower metadata.Member
	op       Fetch
	set      FetchSet
	parts    map[PartitionKey]*SetPart
	request  *ReplicaFetch
	free     func() // made once: a method value would be an allocation each time
}

func (s *localSource) Fetch(r *ReplicaFetch) {
	s.request = r
	var gone []*SetPart
	for _, key := range r.Dropped {
		if part := s.parts[key]; part != nil {
			gone = append(gone, part)
			delete(s.parts, key)
		}
	}
	if gone != nil {
		s.set.Drop(gone)
	}
	for i := range r.Changed {
		at := &r.Changed[i]
		part := s.parts[at.PartitionKey]
		if part == nil {
			part = &SetPart{TopicID: at.Topic, Index: at.Index}
			s.parts[at.PartitionKey] = part
		}
		part.LeaderEpoch, part.Offset, part.LastEpoch, part.BytesMax = at.LeaderEpoch, at.Offset, at.LastEpoch, r.PartitionBytesMax
		s.set.Ask(part)
	}
	s.op.MaxWait, s.op.BytesMin, s.op.BytesMax = r.MaxWait, 1, r.BytesMax
	s.op.Start(s.leader)
}

// fetched hands over what has news. The views are the follower's until Free.
func (s *localSource) fetched(op *Fetch) {
	r := s.request
	for _, part := range s.set.Read() {
		if !part.News() {
			continue
		}
		found := ReplicaFound{PartitionKey: PartitionKey{part.TopicID, part.Index}, Err: part.Err}
		found.Answer.HighWatermark, found.Answer.LogStart = part.HighWatermark, part.LogStartOffset
		found.Answer.DivergingEpoch, found.Answer.DivergingEnd = part.DivergingEpoch, part.DivergingEnd
		if part.Err == nil {
			found.Records = op.Views[part.ViewFrom:part.ViewTo]
		}
		r.Found = append(r.Found, found)
	}
	s.set.Settle()
	r.Free = s.free
	r.Done(r)
}

func (s *localSource) Hurry() { s.op.Cancel() }

func (s *localSource) Snapshot(key PartitionKey, leaderEpoch int32, done func([]byte, error)) {
	s.leader.Snapshot(s.follower, key, leaderEpoch, done)
}

// Close takes the set off the leader's partitions, when the fetch that may be under way has ended.
func (s *localSource) Close() { s.op.Cancel() }
