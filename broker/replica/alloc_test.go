package replica_test

import (
	"testing"

	"millrace/broker/replica"
)

// oneEpoch is a log of which only that is known.
type oneEpoch struct{}

func (oneEpoch) EpochEnd(int32) (int32, int64) { return 0, 1 << 62 }
func (oneEpoch) EpochAt(int64) int32           { return 0 }
func (oneEpoch) BatchStart(offset int64) int64 { return offset }

// leader is a machine that leads a partition with two followers in sync.
func leader(tb testing.TB) *replica.Machine {
	tb.Helper()
	m := replica.New(replica.DefaultConfig(scriptSelf), oneEpoch{})
	m.Step(&replica.Metadata{Leader: scriptSelf, Replicas: replicas("1@a,2@b,3@c", ""), ISR: members("1@a,2@b,3@c"),
		MinISR: 2, OffsetCeiling: 1 << 62})
	return m
}

// produced is what a worker does for one acks=all batch: the leader's append and both followers' fetches.
type produced struct {
	append replica.Appended
	await  replica.Await
	fetch  replica.Fetch
	nowMs  int64
	end    int64
}

func (p *produced) run(tb testing.TB, m *replica.Machine) {
	p.nowMs++
	if err := m.Admit(true, 10); err != nil {
		tb.Fatal(err)
	}
	p.end += 10
	p.append.NowMs, p.append.EndOffset = p.nowMs, p.end
	m.Step(&p.append)
	p.await.NowMs, p.await.Offset, p.await.DeadlineMs, p.await.Token = p.nowMs, p.end, p.nowMs+30_000, p
	m.Step(&p.await)
	p.fetch.NowMs, p.fetch.Offset, p.fetch.Token = p.nowMs, p.end, p
	p.fetch.From = replica.Member{Broker: 2, Incarnation: 0xb}
	m.Step(&p.fetch)
	p.fetch.From = replica.Member{Broker: 3, Incarnation: 0xc}
	if effects := m.Step(&p.fetch); len(effects) != 3 || effects[1].Kind != replica.EffectComplete || effects[1].Token != p {
		tb.Fatal(effects)
	}
	if p.nowMs >= m.NextDeadline() {
		m.Step(&replica.Tick{Head: replica.Head{NowMs: p.nowMs}})
	}
}

func TestLeaderDoesntAllocate(t *testing.T) {
	m := leader(t)
	p := &produced{}
	if n := testing.AllocsPerRun(1000, func() { p.run(t, m) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestQueueDoesntAllocate: with many batches waiting the queue moves through its memory and takes no more.
func TestQueueDoesntAllocate(t *testing.T) {
	m := leader(t)
	p := &produced{}
	const ahead = 100
	behind := func() {
		p.end++
		p.append.EndOffset = p.end
		m.Step(&p.append)
		p.await.Offset, p.await.DeadlineMs = p.end, 30_000
		m.Step(&p.await)
	}
	p.fetch.From = replica.Member{Broker: 2, Incarnation: 0xb}
	m.Step(&p.fetch)
	for range ahead {
		behind()
	}
	if n := testing.AllocsPerRun(1000, func() {
		behind()
		for _, id := range []replica.Member{{Broker: 2, Incarnation: 0xb}, {Broker: 3, Incarnation: 0xc}} {
			p.fetch.From, p.fetch.Offset = id, p.end-ahead
			m.Step(&p.fetch)
		}
	}); n != 0 || m.Waiting() != ahead {
		t.Errorf("%v allocations, want 0; %d waiting, want %d", n, m.Waiting(), ahead)
	}
}

func TestFollowerDoesntAllocate(t *testing.T) {
	m := replica.New(replica.DefaultConfig(scriptSelf), oneEpoch{})
	m.Step(&replica.Metadata{Leader: replica.Member{Broker: 2, Incarnation: 0xb}, Replicas: replicas("1@a,2@b", ""),
		ISR: members("1@a,2@b"), MinISR: 2})
	answer := &replica.FetchAnswer{Records: true, Answer: replica.Answer{DivergingEpoch: -1, DivergingEnd: -1}}
	appended := &replica.Replicated{}
	if n := testing.AllocsPerRun(1000, func() {
		position, ok := m.Position()
		if !ok || position.Offset != appended.EndOffset {
			t.Fatal(position, ok)
		}
		answer.NowMs++
		answer.Position, answer.Answer.HighWatermark = position, position.Offset
		m.Step(answer)
		appended.EndOffset += 10
		m.Step(appended)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkProduceAll(b *testing.B) {
	m := leader(b)
	p := &produced{}
	b.ReportAllocs()
	for b.Loop() {
		p.run(b, m)
	}
}
