package central

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"millrace/metadata"
	"millrace/metadata/memory"
)

// TestLargeTopic: ten thousand partitions are a matter of milliseconds. The limit
// is generous, for machines that do other things too.
func TestLargeTopic(t *testing.T) {
	store := memory.Open(memory.Options{})
	defer store.Close()
	s := openWith(t, store, 3)
	var best time.Duration = time.Hour
	for i := range 3 {
		begun := time.Now()
		if r := create(s, spec(fmt.Sprint(i), 10_000)); r[0].Err != nil || len(r[0].Topic.Partitions) != 10_000 {
			t.Fatal(r[0].Err)
		}
		best = min(best, time.Since(begun))
	}
	t.Logf("a topic of 10,000 partitions: %v", best)
	if best > 300*time.Millisecond {
		t.Errorf("a topic of 10,000 partitions takes %v, want 300ms or less", best)
	}
	begun := time.Now()
	if err := remove(s, 2); err != nil {
		t.Fatal(err)
	}
	t.Logf("10,000 partitions moved from a broker that leaves: %v", time.Since(begun))
}

// TestLargeFailover: ten thousand partitions of three replicas get over the loss of a broker, in transactions as
// small as etcd's. The limit is generous; what a store of its own costs comes on top.
func TestLargeFailover(t *testing.T) {
	for _, topics := range []int{1, 100} {
		store := memory.Open(memory.Options{TxnMax: 127})
		s := openWith(t, store, 3)
		for i := range topics {
			spec := metadata.TopicSpec{Name: fmt.Sprint(i), Partitions: int32(10_000 / topics), ReplicationFactor: 3}
			if r := create(s, spec); r[0].Err != nil {
				t.Fatal(r[0].Err)
			}
		}
		transactions, moved := 0, time.Duration(0)
		var begun time.Time
		cancel := s.Subscribe(func(_, img *metadata.Image, deltas []metadata.Delta) {
			if len(deltas) == 0 {
				return
			}
			transactions++
			last, ok := deltas[len(deltas)-1].(metadata.PartitionChanged)
			if ok && last.Partition.LeaderEpoch > 0 {
				moved = time.Since(begun)
			}
		})
		begun = time.Now()
		if err := fence(s, member(s, 2)); err != nil {
			t.Fatal(err)
		}
		all := time.Since(begun)
		cancel()
		t.Logf("%d topics: %d transactions; leaders moved after %v, all done after %v", topics, transactions, moved, all)
		if all > 3*time.Second {
			t.Errorf("a broker with 10,000 partitions is fenced in %v, want 3s or less", all)
		}
		for _, topic := range s.Image().Topics() {
			for i, p := range topic.Partitions {
				if p.Leader == 2 || len(p.ISR) != 2 {
					t.Fatalf("%s-%d is %+v", topic.Name, i, p)
				}
			}
		}
		s.Close()
		store.Close()
	}
}

// TestManyTopics creates topics one by one. The last ones may cost somewhat more
// than the first, because there is more to copy, but not in proportion to
// how many there are. Medians are compared, so that a pause of the machine
// doesn't count.
func TestManyTopics(t *testing.T) {
	store := memory.Open(memory.Options{})
	defer store.Close()
	s := openWith(t, store, 3)
	const n, sample = 10_000, 1000
	took := make([]time.Duration, n)
	begun := time.Now()
	for i := range n {
		start := time.Now()
		if r := create(s, spec(fmt.Sprintf("topic-%d", i), 1)); r[0].Err != nil {
			t.Fatal(r[0].Err)
		}
		took[i] = time.Since(start)
	}
	total := time.Since(begun)
	first, last := median(took[:sample]), median(took[n-sample:])
	t.Logf("%d topics: %v; the first ones %v each, the last ones %v", n, total, first, last)
	if last > 6*first {
		t.Errorf("the first topics took %v each, the last %v: creating n topics costs n²", first, last)
	}
	leads := make(map[int32]int)
	for _, topic := range s.Image().Topics() {
		leads[topic.Partitions[0].Leader]++
	}
	if len(leads) != 3 || leads[1] != leads[2]+1 || leads[2] != leads[3] {
		t.Errorf("leaders: %v", leads)
	}
}

func median(ds []time.Duration) time.Duration {
	ds = slices.Clone(ds)
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// BenchmarkCreateTopic is one topic with one partition, beside others.
func BenchmarkCreateTopic(b *testing.B) {
	for _, n := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("beside=%d", n), func(b *testing.B) {
			store := memory.Open(memory.Options{})
			defer store.Close()
			s := openWith(b, store, 3)
			others := make([]metadata.TopicSpec, n)
			for i := range others {
				others[i] = spec(fmt.Sprintf("other-%d", i), 1)
			}
			create(s, others...)
			b.ReportAllocs()
			for b.Loop() {
				create(s, spec("a", 1))
				await(func(done func([]metadata.DeleteResult)) { s.DeleteTopics([]metadata.TopicRef{{Name: "a"}}, done) })
			}
		})
	}
}
