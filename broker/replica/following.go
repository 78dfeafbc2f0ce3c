package replica

import (
	"errors"
	"fmt"
)

// following is what only a follower has.
type following struct {
	phase      phase
	position   Position // while fetching
	resumeMs   int64    // while paused
	failures   int      // in a row, up to where the pauses are of full length
	copyFrom   int64    // while copying: the leader's log start when it sent us to copy
	appending  bool     // an EffectAppend has not been answered
	leaderHigh int64    // the leader's high watermark as of the answer that is being appended
}

// phase is what a follower is at.
type phase uint8

const (
	idle     phase = iota // not following
	fetching              // at its position
	paused                // after an error
	copying               // what precedes the leader's log start
)

// hereAndNow is the position at the log's end.
func (m *Machine) hereAndNow() Position {
	return Position{Leader: m.leader, LeaderEpoch: m.leaderEpoch, Offset: m.end, LastEpoch: m.lastEpoch()}
}

// lastEpoch is that of the last record; −1 if the log is empty. A hollow epoch doesn't count.
func (m *Machine) lastEpoch() int32 {
	if m.end == m.start {
		return -1
	}
	return m.epochs.EpochAt(m.end - 1)
}

func (m *Machine) startFetch() {
	m.follow.phase, m.follow.position = fetching, m.hereAndNow()
	m.emit(Effect{Kind: EffectFetch, Position: m.follow.position})
}

func (m *Machine) stopFetch() {
	if m.follow.phase == fetching {
		m.emit(Effect{Kind: EffectStopFetch})
	}
	m.follow.phase = idle
}

// pause waits before it tries again, whatever the error was. If the metadata have changed they will end the wait.
func (m *Machine) pause() {
	m.stopFetch()
	m.follow.phase = paused
	m.follow.resumeMs = m.nowMs + m.backoff()
	m.arm(m.follow.resumeMs)
}

// backoff is how long the next pause is.
func (m *Machine) backoff() int64 {
	most, first := m.config.FetchBackoffMs, m.config.FetchBackoffFirstMs
	if first <= 0 || m.follow.failures >= backoffDoublings || first<<m.follow.failures >= most {
		return most
	}
	m.follow.failures++
	return first << (m.follow.failures - 1)
}

// backoffDoublings bounds the shift.
const backoffDoublings = 20

func (m *Machine) resumeDue() {
	if m.follow.phase != paused {
		return
	}
	if m.nowMs >= m.follow.resumeMs {
		m.startFetch()
		return
	}
	m.arm(m.follow.resumeMs)
}

func (m *Machine) fetchAnswer(e *FetchAnswer) {
	if m.role != Follower || m.follow.phase != fetching || !m.matches(&e.Position) {
		return // it asked that as somebody else, or from somewhere else
	}
	switch {
	case errors.Is(e.Err, ErrOffsetOutOfRange):
		m.copySnapshot(e.Answer.LogStart)
	case e.Err != nil:
		m.pause()
	case e.Answer.Diverges():
		m.truncate(e.Answer.DivergingEpoch, e.Answer.DivergingEnd)
	case m.foreign(e.Answer.LogStart):
		m.copySnapshot(e.Answer.LogStart)
	default:
		m.follow.leaderHigh = e.Answer.HighWatermark
		emptied := m.followStart(e.Answer.LogStart)
		m.followHigh()
		switch {
		case e.Records:
			m.follow.appending = true
			m.emit(Effect{Kind: EffectAppend, Offset: m.end})
			return
		case emptied:
			m.startFetch()
		}
		m.follow.failures = 0
	}
}

func (m *Machine) matches(p *Position) bool {
	here := m.follow.position
	if !ruleAnswerEpoch {
		here.LastEpoch = p.LastEpoch
	}
	return *p == here
}

// replicated: the records of an answer are in the log, or some of them.
func (m *Machine) replicated(e *Replicated) {
	if e.EndOffset < m.end {
		panic(fmt.Sprintf("replica: appended to %d, from %d", e.EndOffset, m.end))
	}
	m.follow.appending = false
	m.hollow = m.hollow && m.end == e.EndOffset
	m.end = e.EndOffset
	m.followHigh()
	if e.Err != nil {
		m.pause()
		return
	}
	m.follow.failures = 0
	m.startFetch()
}

// followHigh takes the leader's high watermark as far as this log goes. Up to its end the log is a prefix of the leader's.
func (m *Machine) followHigh() {
	if ruleClipHigh {
		m.setHigh(min(m.follow.leaderHigh, m.end))
	} else {
		m.setHigh(m.follow.leaderHigh)
	}
}

// foreign: all that is held lies below the leader's log start, where it can't be compared (see Machine.comparable), and isn't
// known to be committed. It may be of a past that never was the leader's. To remove it would do for the records; what was
// noted of their producers has to go too, or a batch that was lost with an epoch would be taken for one that was committed.
func (m *Machine) foreign(leaderStart int64) bool {
	return m.start < m.end && m.end <= leaderStart && m.high < m.end
}

// followStart removes what the leader has removed: retention is the leader's business. It comes before the high watermark is
// moved, because what it removes may be no part of the leader's log (see Machine.comparable).
func (m *Machine) followStart(offset int64) (emptied bool) {
	offset = min(offset, m.follow.leaderHigh, m.end)
	if offset <= m.start {
		return false
	}
	m.start = offset
	m.emit(Effect{Kind: EffectTrim, Offset: offset})
	return m.start == m.end
}

// truncate cuts the log back to where it may still be a prefix of the leader's, in which the given epoch ends at the given
// offset. The next fetch tells whether that was enough; each cut is at least one epoch. The high watermark has no say in it:
// it lags behind what was committed, and cutting there loses acknowledged records (KIP-101).
func (m *Machine) truncate(epoch int32, end int64) {
	to := min(end, m.end)
	if ruleOwnEpochEnd {
		if _, own := m.epochs.EpochEnd(epoch); own >= 0 {
			to = min(to, own)
		}
	}
	// What a cut through a batch would leave of it is gone all the same, and the end would lie: this replica could be elected with
	// a hole before its end. Nothing of such a batch is committed, or the leader's would end at the same offset.
	if to > m.start && to < m.end {
		to = m.epochs.BatchStart(to)
	}
	switch {
	case to < m.start:
		m.copySnapshot(0)
		return
	case to == m.end: // a leader that contradicts itself; don't ask it too often
		m.pause()
		return
	}
	m.end, m.hollow = to, false
	m.emit(Effect{Kind: EffectTruncate, Offset: to})
	if m.high > to { // only after an election that Kafka would call unclean
		m.high = to
		m.emit(Effect{Kind: EffectHighWatermark, Offset: to})
	}
	m.startFetch()
}

// copySnapshot begins anew from the leader's log start: the log is empty, or ends below it, so nothing that it holds would
// ever be read. What is held stays until the snapshot is there.
func (m *Machine) copySnapshot(from int64) {
	m.stopFetch()
	m.follow.phase, m.follow.copyFrom = copying, from
	m.emit(Effect{Kind: EffectCopySnapshot, Offset: from, Position: m.hereAndNow()})
}

func (m *Machine) snapshot(e *Snapshot) {
	if m.role != Follower || m.follow.phase != copying || e.LeaderEpoch != m.leaderEpoch {
		return
	}
	if e.Err != nil || e.StartOffset < max(m.follow.copyFrom, 0) {
		m.pause()
		return
	}
	m.restart(EffectInstallSnapshot, e.StartOffset, e.Token)
	m.startFetch()
}
