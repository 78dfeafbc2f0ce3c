package replica

// What may be asked between steps. None of it changes anything or allocates.

// Role is what the replica is now.
func (m *Machine) Role() Role { return m.role }

// Leader is whom the metadata name; NoMember if there is none.
func (m *Machine) Leader() Member { return m.leader }

// LeaderEpoch is −1 before the first Metadata event.
func (m *Machine) LeaderEpoch() int32 { return m.leaderEpoch }

// PartitionEpoch is −1 before the first Metadata event.
func (m *Machine) PartitionEpoch() int32 { return m.partitionEpoch }

// LossGeneration is that of the records held.
func (m *Machine) LossGeneration() int32 { return m.lossGeneration }

// HighWatermark is the offset below which records are committed, as far as this replica knows.
func (m *Machine) HighWatermark() int64 { return m.high }

// StartOffset is the log start offset.
func (m *Machine) StartOffset() int64 { return m.start }

// EndOffset is the log end offset.
func (m *Machine) EndOffset() int64 { return m.end }

// Waiting is the number of Awaits that are not over. It is bounded by the produces in flight, which the reactor's gate bounds.
func (m *Machine) Waiting() int { return m.acks.len() }

// Admit tells whether a batch of that many records may be appended: nil, ErrNotLeader, ErrNotEnoughReplicas or
// ErrOffsetCeiling. It comes before anything of the batch is noted.
func (m *Machine) Admit(acksAll bool, records int32) error {
	switch {
	case m.role != Leader:
		return ErrNotLeader
	case acksAll && m.lead.inSync < m.minISR:
		return ErrNotEnoughReplicas
	case ruleCeiling && int64(records) > m.offsetCeiling-m.end:
		return ErrOffsetCeiling
	}
	return nil
}

// CheckEpoch compares the leader epoch that a client knows with the leader's (KIP-320); −1 is not compared. It is nil,
// ErrNotLeader, ErrFencedLeaderEpoch or ErrUnknownLeaderEpoch.
func (m *Machine) CheckEpoch(epoch int32) error {
	switch {
	case m.role != Leader:
		return ErrNotLeader
	case epoch < 0 || epoch == m.leaderEpoch:
		return nil
	case epoch < m.leaderEpoch:
		return ErrFencedLeaderEpoch
	default:
		return ErrUnknownLeaderEpoch
	}
}

// CheckOffsets tells whether ListOffsets may answer from the high watermark (KIP-207): nil, ErrNotLeader or
// ErrOffsetNotAvailable. A leader's high watermark may be behind what its predecessor has shown to consumers until it has
// reached the start of the leader's epoch.
func (m *Machine) CheckOffsets() error {
	switch {
	case m.role != Leader:
		return ErrNotLeader
	case m.high < m.lead.epochStart:
		return ErrOffsetNotAvailable
	}
	return nil
}

// ISR appends the replicas in sync as the leader knows them, itself first; nothing on a replica that doesn't lead.
func (m *Machine) ISR(to []Member) []Member {
	if m.role != Leader {
		return to
	}
	if m.inISR {
		to = append(to, m.config.Self)
	}
	for i := range m.lead.replicas {
		if r := &m.lead.replicas[i]; r.isr != 0 { // void or not
			to = append(to, Member{r.id, r.isr})
		}
	}
	return to
}

// InISR tells whether the metadata have this replica, in this life, in the ISR.
func (m *Machine) InISR() bool { return m.inISR }

// Progress is how far a follower has come, as its leader sees it.
type Progress struct {
	Member
	EndOffset int64 // −1: it has not fetched in this leader epoch
	InISR     bool
	// BehindMs is how long ago it last had all that the leader had; 0 if it has everything, −1 if it never had.
	BehindMs int64
}

// Followers appends what the leader knows of the other replicas; nothing on a replica that doesn't lead.
func (m *Machine) Followers(to []Progress) []Progress {
	if m.role != Leader {
		return to
	}
	for i := range m.lead.replicas {
		r := &m.lead.replicas[i]
		p := Progress{Member: Member{r.id, r.registered}, EndOffset: r.end, InISR: r.isr != 0}
		switch {
		case r.end == m.end:
		case r.caughtUpMs == longAgo:
			p.BehindMs = -1
		default:
			p.BehindMs = m.nowMs - r.caughtUpMs
		}
		to = append(to, p)
	}
	return to
}

// Position is where the follower fetches from, for fetchers that set up a session again; false if it does not fetch now.
func (m *Machine) Position() (Position, bool) {
	if m.role != Follower || m.follow.phase != fetching {
		return Position{}, false
	}
	return m.follow.position, true
}
