package group

import (
	"testing"
)

// stableGroup is a machine with one stable group of n members; their ids.
func stableGroup(tb testing.TB, n int) (*Machine, []string) {
	tb.Helper()
	m := New(DefaultConfig())
	m.Step(&Loaded{})
	protocols := []Protocol{{"range", subscription("t")}}
	var ids []string
	for range n {
		m.Step(&Join{GroupID: "g", ClientID: "c", SessionTimeoutMs: 10_000, RebalanceTimeoutMs: 60_000, ProtocolType: "consumer",
			Protocols: protocols, NewMemberUUID: string(rune('a'+len(ids)%26)) + string(rune('0'+len(ids)/26))})
		ids = append(ids, m.groups["g"].members[len(ids)].id)
	}
	m.Step(&Tick{Head{NowMs: 3_000}})
	for m.groups["g"].state == PreparingRebalance {
		m.Step(&Tick{Head{NowMs: m.NextDeadline()}})
	}
	m.Step(&Sync{GroupID: "g", MemberID: ids[0], Generation: 1})
	m.Step(&Persisted{ID: m.lastID})
	if m.groups["g"].state != Stable {
		tb.Fatal("not stable")
	}
	return m, ids
}

// TestHeartbeatsDontAllocate: they are most of what a coordinator has to do.
func TestHeartbeatsDontAllocate(t *testing.T) {
	m, ids := stableGroup(t, 100)
	e := &Heartbeat{GroupID: "g", Generation: 1}
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		i++
		e.NowMs = m.nowMs + 1
		e.MemberID = ids[i%len(ids)]
		if f := m.Step(e); f[0].Err != nil {
			t.Fatal(f[0].Err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	m, ids := stableGroup(b, 100)
	e := &Heartbeat{GroupID: "g", Generation: 1}
	for i := 0; b.Loop(); i++ {
		e.NowMs = m.nowMs + 1
		e.MemberID = ids[i%len(ids)]
		m.Step(e)
	}
}

func BenchmarkCommit(b *testing.B) {
	m, ids := stableGroup(b, 1)
	e := &Commit{GroupID: "g", Generation: 1, MemberID: ids[0], RetentionMs: -1, Topics: []CommitTopic{
		{"t", []CommitPartition{{0, 1, -1, ""}, {1, 1, -1, ""}, {2, 1, -1, ""}}}}}
	b.ReportAllocs()
	for b.Loop() {
		f := m.Step(e)
		m.Step(&Persisted{ID: f[0].ID})
	}
}
