package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"millrace/metadata"
)

// large is three brokers with ten thousand partitions of three replicas.
func large(t testing.TB, topics int) (Policy, *metadata.Image) {
	t.Helper()
	p := Policy{MinInSyncReplicas: 2}.WithDefaults()
	img := cluster(3)
	specs := make([]metadata.TopicSpec, topics)
	for i := range specs {
		specs[i] = metadata.TopicSpec{Name: fmt.Sprint("t", i), Partitions: int32(10_000 / topics), ReplicationFactor: 3}
	}
	deltas, results := p.CreateTopics(img, specs)
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	return p, img.Apply(deltas...)
}

// TestFenceIsFast: ten thousand partitions get over the loss of a broker in one plan, which is made in a
// fifth of a second at most. Those that have lost their leader come first.
func TestFenceIsFast(t *testing.T) {
	for _, topics := range []int{1, 10_000} {
		p, img := large(t, topics)
		members := []metadata.Member{img.Broker(2).Member()}
		best := time.Hour
		var deltas []metadata.Delta
		for range 5 {
			begun := time.Now()
			deltas = p.FenceBrokers(img, members)
			best = min(best, time.Since(begun))
		}
		t.Logf("%d topics: %d deltas in %v", topics, len(deltas), best)
		if best > 200*time.Millisecond {
			t.Errorf("%d topics: the plan takes %v, want 200ms or less", topics, best)
		}
		moves := 0
		for i, d := range deltas[1:] {
			if d := d.(metadata.PartitionChanged); d.Partition.LeaderEpoch > 0 {
				if moves++; moves != i+1 {
					t.Fatalf("a new leader comes at place %d, after partitions that have one", i)
				}
			}
		}
		leads := make(map[int32]int)
		next := img.Apply(deltas...)
		for _, topic := range next.Topics() {
			for i := range topic.Partitions {
				leads[topic.Partitions[i].Leader]++
			}
		}
		if moves != 3333 || len(deltas) != 10_001 || len(leads) != 2 || max(leads[1], leads[3])-min(leads[1], leads[3]) > 2 {
			t.Errorf("%d leaders moved in %d deltas; now they are %v", moves, len(deltas), leads)
		}
		if again := p.Settle(next); len(again) != 0 {
			t.Errorf("something is left to do: %v", again)
		}
	}
}

// TestLeadersOfADeadBrokerSpread: with any number of brokers, those that are left get about as many of a dead
// one's leaders each.
func TestLeadersOfADeadBrokerSpread(t *testing.T) {
	for _, brokers := range []int{3, 4, 5, 7} {
		p := Policy{}.WithDefaults()
		img := cluster(brokers)
		n := 10 * brokers * (brokers - 1)
		deltas, _ := p.CreateTopics(img, []metadata.TopicSpec{{Name: "t", Partitions: int32(n), ReplicationFactor: 3}})
		img = img.Apply(deltas...)
		checkBalance(t, img, brokers)
		img = img.Apply(p.FenceBrokers(img, []metadata.Member{img.Broker(1).Member()})...)
		leads := make([]int, brokers+1)
		for _, partition := range img.Topic("t").Partitions {
			leads[partition.Leader]++
		}
		if low, high := slices.Min(leads[2:]), slices.Max(leads[2:]); low != high || leads[1] != 0 {
			t.Errorf("%d brokers lead %v", brokers, leads[1:])
		}
	}
}

// TestHealthyClustersAreLeftAlone: a look at ten thousand partitions that are in order allocates next to nothing.
func TestHealthyClustersAreLeftAlone(t *testing.T) {
	p, img := large(t, 10)
	img.Topics()
	if n := testing.AllocsPerRun(5, func() { p.Settle(img) }); n > 5 {
		t.Errorf("Settle makes %v allocations", n)
	}
}

func BenchmarkSettle(b *testing.B) {
	p, img := large(b, 10)
	for b.Loop() {
		p.Settle(img)
	}
}

func BenchmarkFence(b *testing.B) {
	p, img := large(b, 10)
	members := []metadata.Member{img.Broker(2).Member()}
	b.ReportAllocs()
	for b.Loop() {
		p.FenceBrokers(img, members)
	}
}
