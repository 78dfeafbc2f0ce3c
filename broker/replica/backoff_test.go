package replica_test

import (
	"testing"

	"millrace/broker/replica"
)

// The pauses of a follower begin short, double with each error in a row, and begin short again when it was answered.
func TestBackoffDoubles(t *testing.T) {
	m := replica.New(replica.Config{Self: replica.Member{1, 11}, LagTimeMaxMs: 100, AlterRetryMs: 50, FetchBackoffMs: 100, FetchBackoffFirstMs: 20}, noEpochs{})
	leader := replica.Member{2, 22}
	m.Step(&replica.Metadata{Leader: leader, Replicas: []replica.Replica{{Member: leader}, {Member: replica.Member{1, 11}}}, ISR: []replica.Member{leader}, MinISR: 1})
	nowMs := int64(0)
	fail := func(wantMs int64) {
		t.Helper()
		at, fetching := m.Position()
		if !fetching {
			t.Fatal("it does not fetch")
		}
		m.Step(&replica.FetchAnswer{Head: replica.Head{nowMs}, Position: at, Err: replica.ErrNotLeader})
		if got := m.NextDeadline() - nowMs; got != wantMs {
			t.Errorf("a pause of %d ms, want %d", got, wantMs)
		}
		nowMs = m.NextDeadline()
		m.Step(&replica.Tick{replica.Head{nowMs}})
	}
	for _, wantMs := range []int64{20, 40, 80, 100, 100} {
		fail(wantMs)
	}
	at, _ := m.Position()
	m.Step(&replica.FetchAnswer{Head: replica.Head{nowMs}, Position: at, Answer: replica.Answer{DivergingEpoch: -1, DivergingEnd: -1}})
	fail(20)
}

type noEpochs struct{}

func (noEpochs) EpochEnd(int32) (int32, int64) { return -1, -1 }
func (noEpochs) EpochAt(int64) int32           { return -1 }
func (noEpochs) BatchStart(offset int64) int64 { return offset }
