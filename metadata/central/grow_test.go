package central

import (
	"slices"
	"testing"
	"testing/synctest"

	"millrace/metadata"
	"millrace/metadata/memory"
)

func growing(t *testing.T, store metadata.Store) *Server {
	t.Helper()
	s, err := Open(Options{Store: store, Election: true, Policy: Policy{InternalReplicationFactor: 3}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestGrowInternal: the topic of a cluster of one broker has three replicas as soon as there are three brokers that hold
// it, and two have to be in sync. Only the controller sees to it.
func TestGrowInternal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote(t, memory.Options{TxnMax: 16})
		one, two := growing(t, store), growing(t, store)
		grow := func(wantReplicas, wantAdding int, wantMin int32) {
			t.Helper()
			synctest.Wait()
			topic := one.Image().Topic(metadata.ConsumerOffsetsTopic)
			for i := range topic.Partitions {
				if p := &topic.Partitions[i]; len(p.Replicas) != wantReplicas || len(p.Adding) != wantAdding || p.MinInSync != wantMin {
					t.Errorf("partition %d: %+v", i, p)
				}
			}
		}
		add := func(port int32) {
			t.Helper()
			if _, err := register(one, at(-1, port)); err != nil {
				t.Fatal(err)
			}
		}
		// sync has all replicas in the ISR.
		sync := func() {
			t.Helper()
			synctest.Wait()
			topic := one.Image().Topic(metadata.ConsumerOffsetsTopic)
			for i := range topic.Partitions {
				p := &topic.Partitions[i]
				if r := alter(one, p.LeaderMember(), propose(one.Image(), topic, int32(i), slices.Clone(p.Replicas))); r[0].Err != nil {
					t.Fatal(r[0].Err)
				}
			}
		}
		add(1)
		if r := create(one, metadata.TopicSpec{Name: metadata.ConsumerOffsetsTopic, Partitions: 20, ReplicationFactor: -1}); r[0].Err != nil {
			t.Fatal(r[0].Err)
		}
		one.Tick(ms(1))
		two.Tick(ms(1))
		add(2)
		grow(1, 0, 1) // nobody is in office
		lease, err := store.Grant(t.Context(), ttl)
		if err != nil {
			t.Fatal(err)
		}
		if won := await(func(done func(bool)) { two.Campaign(lease, func(won bool, _ error) { done(won) }) }); !won {
			t.Fatal("not elected")
		}
		grow(2, 1, 1)
		sync()
		grow(2, 0, 1)
		add(3)
		grow(3, 1, 2)
		sync()
		grow(3, 0, 2)
		if err := store.Revoke(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	})
}
