package replica

import (
	"fmt"
	"math"
)

// Machine is one replica of one partition. See the package's comment for how to drive it.
type Machine struct {
	config Config
	epochs Epochs
	out    *Buffer
	nowMs  int64
	wakeMs int64 // no deadline is earlier

	// What the metadata say.
	revision       int64
	leader         Member
	leaderEpoch    int32
	partitionEpoch int32
	lossGeneration int32
	offsetCeiling  int64
	minISR         int
	inISR          bool // in this life

	role    Role
	stopped bool

	// The log. start ≤ high ≤ end, always.
	start, high, end int64
	// hollow: the epoch cache may have an epoch that begins at the end of the log, of which there is no record yet.
	hollow bool

	lead   leading
	follow following
	acks   waiters
}

// New makes the machine of a replica with an empty log that begins at offset 0.
func New(c Config, e Epochs) *Machine { return Resume(c, e, Held{LossGeneration: -1}) }

// Resume makes the machine of a replica whose RAM has something already: a partition that another broker of the same process
// handed over. It is for the driver to see that the metadata name this broker's incarnation where they meant the other's.
func Resume(c Config, e Epochs, h Held) *Machine {
	if c.Self.Incarnation == 0 {
		panic("replica: a broker without an incarnation")
	}
	if h.StartOffset < 0 || h.StartOffset > h.HighWatermark || h.HighWatermark > h.EndOffset {
		panic(fmt.Sprintf("replica: impossible offsets %+v", h))
	}
	if c.Buffer == nil {
		c.Buffer = new(Buffer)
	}
	return &Machine{
		config: c, epochs: e, out: c.Buffer, wakeMs: never, revision: math.MinInt64, leader: NoMember,
		leaderEpoch: -1, partitionEpoch: -1, lossGeneration: h.LossGeneration,
		start: h.StartOffset, high: h.HighWatermark, end: h.EndOffset, hollow: h.EndOffset > 0,
	}
}

// Step takes one event and says what is to be done about it, in order. The slice is used again by the next Step.
func (m *Machine) Step(e Event) []Effect {
	clear(m.out.effects) // what the last step pointed to must not be kept alive
	m.out.effects = m.out.effects[:0]
	m.nowMs = max(m.nowMs, e.head().NowMs)
	if !m.stopped {
		m.step(e)
	}
	return m.out.effects
}

func (m *Machine) step(e Event) {
	if _, ok := e.(*Replicated); ok != m.follow.appending {
		panic(fmt.Sprintf("replica: %T where an EffectAppend has to be followed by Replicated, and nothing else", e))
	}
	switch e := e.(type) {
	case *Appended:
		m.appended(e)
	case *Await:
		m.await(e)
	case *Fetch:
		m.fetch(e)
	case *FetchAnswer:
		m.fetchAnswer(e)
	case *Replicated:
		m.replicated(e)
	case *Metadata:
		m.metadata(e)
	case *AlterAnswer:
		m.alterAnswer(e)
	case *LogStart:
		m.logStart(e)
	case *Snapshot:
		m.snapshot(e)
	case *Tick:
		m.tick()
	case *Stop:
		m.stop()
	default:
		panic(fmt.Sprintf("replica: unknown event %T", e))
	}
}

func (m *Machine) emit(f Effect) { m.out.effects = append(m.out.effects, f) }

const never = math.MaxInt64

// NextDeadline is the time in milliseconds at which a Tick is due, math.MaxInt64 if there is none: an idle partition has
// none. It may be early, and moves rarely: the Tick then finds nothing to do and the next deadline is later.
func (m *Machine) NextDeadline() int64 { return m.wakeMs }

// arm asks for a Tick at ms. Nothing is disarmed when its reason goes away: that would cost more than a Tick for nothing.
func (m *Machine) arm(ms int64) { m.wakeMs = min(m.wakeMs, ms) }

func (m *Machine) tick() {
	if m.nowMs < m.wakeMs {
		return
	}
	m.wakeMs = never
	m.acks.expire(m)
	switch m.role {
	case Leader:
		m.proposalDue()
		m.reconsider()
		m.advance() // a replica that might have joined holds it back no longer
		m.armForLag()
	case Follower:
		m.resumeDue()
	}
}

func (m *Machine) stop() {
	m.becomeOffline()
	m.stopped = true
	m.wakeMs = never
}

// setHigh moves the high watermark up.
func (m *Machine) setHigh(offset int64) {
	if offset > m.high {
		m.high = offset
		m.emit(Effect{Kind: EffectHighWatermark, Offset: offset})
	}
}

// restart begins an empty log at offset; kind says why.
func (m *Machine) restart(kind EffectKind, offset int64, token any) {
	m.start, m.high, m.end = offset, offset, offset
	m.hollow = kind == EffectInstallSnapshot
	m.emit(Effect{Kind: kind, Offset: offset, Token: token})
	m.emit(Effect{Kind: EffectHighWatermark, Offset: offset})
}
