package replica

import "fmt"

// leading is what only a leader has.
type leading struct {
	epochStart int64      // the log's end when the leader epoch began here
	replicas   []follower // the others
	inSync     int        // members of the ISR that count, the leader among them
	proposal   proposal
}

// follower is what a leader knows of one other replica.
type follower struct {
	id         int32
	registered uint64 // the incarnation that the metadata know; 0: none
	fenced     bool

	// isr is the incarnation under which the replica is in the ISR, and proposed the one under which a proposal that may have
	// been or may yet be accepted would put it there; 0 for neither. Both together are Kafka's maximal ISR.
	isr, proposed uint64

	// How far the registered incarnation has come in this leader epoch.
	end        int64 // it has everything below; −1: it has not fetched yet
	caughtUpMs int64 // the latest time at which it is known to have had all that the leader had; longAgo if it never had
	fetchMs    int64 // of its last fetch
	fetchEnd   int64 // the leader's end then
	quietMs    int64 // until then it is not proposed: the controller has just refused it
}

const longAgo = -1 << 62

// forget drops what is known of its progress.
func (r *follower) forget() { r.end, r.caughtUpMs, r.fetchMs, r.fetchEnd = -1, longAgo, longAgo, never }

// eligible: the controller would let it join, as far as this leader has heard.
func (m *Machine) eligible(r *follower) bool {
	return r.registered != 0 && !r.fenced && m.nowMs >= r.quietMs
}

// lags tells whether the replica has gone too long without having all that the leader had. One that has all of an idle
// partition never lags: whether its broker lives is for the controller to know.
func (m *Machine) lags(r *follower) bool {
	return r.end != m.end && m.nowMs-r.caughtUpMs > m.config.LagTimeMaxMs
}

// setReplicas takes replicas and ISR from the metadata; progress stays with the incarnation that made it.
func (m *Machine) setReplicas(e *Metadata) (isrChanged bool) {
	old, self := m.lead.replicas, m.config.Self
	m.lead.replicas = make([]follower, 0, len(e.Replicas))
	for i := range e.Replicas {
		if id := e.Replicas[i].Broker; id != self.Broker {
			m.lead.replicas = append(m.lead.replicas, m.followerFrom(old, id))
		}
	}
	for _, member := range e.ISR {
		if member.Broker == self.Broker {
			continue
		}
		if m.find(member.Broker) == nil { // not among the replicas; it counts all the same, as the safer of two answers
			m.lead.replicas = append(m.lead.replicas, m.followerFrom(old, member.Broker))
		}
		r := m.find(member.Broker)
		if r.isr = member.Incarnation; r.caughtUpMs == longAgo {
			r.caughtUpMs = m.nowMs // a member that has not fetched yet has from now on to do so
		}
	}
	m.register(e.Replicas)
	return !sameISR(old, m.lead.replicas) || !sameISR(m.lead.replicas, old)
}

// sameISR: who is in a's ISR is in b's too, in the same life.
func sameISR(a, b []follower) bool {
	for i := range a {
		if at := indexOf(b, a[i].id); a[i].isr != 0 && (at < 0 || b[at].isr != a[i].isr) {
			return false
		}
	}
	return true
}

func (m *Machine) followerFrom(old []follower, id int32) follower {
	if i := indexOf(old, id); i >= 0 {
		r := old[i]
		r.isr = 0
		return r
	}
	r := follower{id: id}
	r.forget()
	return r
}

func indexOf(list []follower, id int32) int {
	for i := range list {
		if list[i].id == id {
			return i
		}
	}
	return -1
}

func (m *Machine) find(id int32) *follower {
	if i := indexOf(m.lead.replicas, id); i >= 0 {
		return &m.lead.replicas[i]
	}
	return nil
}

// register takes the registrations of the replicas. A new incarnation has nothing of what the old one had.
func (m *Machine) register(replicas []Replica) {
	for i := range replicas {
		r := m.find(replicas[i].Broker)
		if r == nil {
			continue
		}
		if r.registered != replicas[i].Incarnation {
			if r.registered != 0 && ruleFetchIncarnation {
				r.forget()
				if r.isr != 0 { // a void entry; should the controller leave it, the leader will take it for one that lags
					r.caughtUpMs = m.nowMs
				}
			}
			r.registered = replicas[i].Incarnation
		}
		r.fenced = replicas[i].Fenced
	}
}

// appended: the leader's log has grown.
func (m *Machine) appended(e *Appended) {
	if m.role != Leader || e.EndOffset <= m.end {
		panic(fmt.Sprintf("replica: append to %d as %v with end %d", e.EndOffset, m.role, m.end))
	}
	for i := range m.lead.replicas {
		if r := &m.lead.replicas[i]; r.end == m.end {
			// It had everything until now, however long ago it was that it last fetched.
			r.caughtUpMs = m.nowMs
			m.arm(m.nowMs + m.config.LagTimeMaxMs + 1)
		}
	}
	m.end, m.hollow = e.EndOffset, false
	m.advance()
	if m.wantCeiling() > m.offsetCeiling {
		m.reconsider()
	}
}

func (m *Machine) logStart(e *LogStart) {
	if m.role != Leader || e.Offset < m.start || e.Offset > m.high {
		panic(fmt.Sprintf("replica: log start %d as %v with %d…%d", e.Offset, m.role, m.start, m.high))
	}
	m.start = e.Offset
}

// fetch answers a follower and takes note of how far it has come.
func (m *Machine) fetch(e *Fetch) {
	answer := Answer{DivergingEpoch: -1, DivergingEnd: -1}
	comparable := true
	r, err := m.fetcher(e)
	switch {
	case err != nil:
		answer.HighWatermark, answer.LogStart = -1, -1
	case e.Offset < m.start:
		err = ErrOffsetOutOfRange
	default:
		answer.DivergingEpoch, answer.DivergingEnd, err = m.divergence(e)
		comparable = m.comparable(e)
		if err == nil && !answer.Diverges() && comparable {
			m.progressed(r, e.Offset)
		}
	}
	if r != nil {
		answer.HighWatermark, answer.LogStart = m.high, m.start
	}
	m.emit(Effect{Kind: EffectAnswerFetch, Token: e.Token, Err: err, Answer: answer,
		AtOnce: err != nil || answer.Diverges() || !comparable})
}

// comparable: a follower that holds records, but none from this log's start on, can't be compared with it. They may be from
// an epoch that never was part of it; should the follower be elected it would serve them. So it first has to drop them, as
// the answer's log start tells it to, and counts for what it has when it holds none.
func (m *Machine) comparable(e *Fetch) bool {
	return e.Offset > m.start || e.LastEpoch < 0 || !ruleComparable
}

// fetcher finds out who fetches, and whether it is of this leader epoch and the registered incarnation.
func (m *Machine) fetcher(e *Fetch) (*follower, error) {
	if m.role != Leader {
		return nil, ErrNotLeader
	}
	r := m.find(e.From.Broker)
	switch {
	case ruleFetchEpoch && e.LeaderEpoch < m.leaderEpoch:
		return nil, ErrFencedLeaderEpoch
	case ruleFetchEpoch && e.LeaderEpoch > m.leaderEpoch:
		return nil, ErrUnknownLeaderEpoch
	case r == nil:
		return nil, ErrNotReplica
	case ruleFetchIncarnation && r.registered != e.From.Incarnation:
		return nil, ErrStaleIncarnation
	}
	return r, nil
}

// divergence tells whether the fetcher's log is a prefix of this one, from the last epoch that it has (KIP-101, KIP-595).
func (m *Machine) divergence(e *Fetch) (epoch int32, end int64, err error) {
	if e.LastEpoch >= 0 && ruleDivergence {
		epoch, end := m.epochs.EpochEnd(e.LastEpoch)
		if epoch < 0 { // an epoch above the leader's own: it can't have come from anywhere
			return -1, -1, ErrOffsetOutOfRange
		}
		if epoch < e.LastEpoch || end < e.Offset {
			if !ruleExactEpochEnd {
				end++
			}
			return epoch, end, nil
		}
	}
	if e.Offset > m.end {
		return -1, -1, ErrOffsetOutOfRange
	}
	return -1, -1, nil
}

// progressed: the replica has everything below offset, and it is what the leader has.
func (m *Machine) progressed(r *follower, offset int64) {
	switch {
	case offset >= m.end:
		r.caughtUpMs = m.nowMs
	case offset >= r.fetchEnd:
		r.caughtUpMs = max(r.caughtUpMs, r.fetchMs)
	}
	r.fetchMs, r.fetchEnd = m.nowMs, m.end
	// Within a leader epoch the leader's log only grows and the follower's is a prefix, so an older fetch takes nothing back.
	r.end = max(r.end, offset)
	if r.end < m.end && !m.lags(r) {
		m.arm(r.caughtUpMs + m.config.LagTimeMaxMs + 1)
	}
	m.advance()
	if r.isr == 0 {
		m.reconsider()
	}
}

// advance moves the high watermark to the least end over the maximal ISR: the members and those that a proposal would make
// members. An acknowledgement thus counts on every replica that may be elected next, whatever the controller has decided by
// now. It moves only while the ISR has min.insync.replicas members (KIP-966): what is committed is on that many.
//
// It also waits for replicas that keep up but are no members yet. Under load they could otherwise never reach a high
// watermark that moves on while they fetch.
func (m *Machine) advance() {
	if m.role != Leader || ruleHighNeedsMinISR && m.lead.inSync < m.minISR {
		return
	}
	high := m.end
	for i := range m.lead.replicas {
		r := &m.lead.replicas[i]
		in := r.isr
		if in == 0 && ruleMaximalISR {
			in = r.proposed
		}
		switch {
		case in != 0 && (in == r.registered || !ruleFetchIncarnation):
			high = min(high, r.end)
		case in != 0: // void, or soon to be: the controller is about to take it out
			return
		case ruleMaximalISR && r.end >= 0 && // (without that rule this one would cover for it)
			m.eligible(r) && !m.lags(r):
			high = min(high, r.end)
		}
	}
	m.setHigh(high)
	m.acks.complete(m)
}

// armForLag sets the time at which the next replica that keeps up now would lag.
func (m *Machine) armForLag() {
	for i := range m.lead.replicas {
		r := &m.lead.replicas[i]
		if r.end != m.end && !m.lags(r) && r.caughtUpMs != longAgo {
			m.arm(r.caughtUpMs + m.config.LagTimeMaxMs + 1)
		}
		if m.nowMs < r.quietMs {
			m.arm(r.quietMs)
		}
	}
}
