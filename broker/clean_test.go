package broker_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"millrace/protocol/record"
)

// compactedTopic is a topic whose segments are closed soon and compacted at once.
func compactedTopic(set map[string]string) map[string]*string {
	all := map[string]*string{"cleanup.policy": new("compact"), "min.cleanable.dirty.ratio": new("0"), "segment.ms": new("100")}
	for name, value := range set {
		all[name] = &value
	}
	return all
}

// versions makes a batch that sets each of the keys to a value; nil is a tombstone.
func versions(o record.Options, keys int, value func(key int) []byte) record.Batch {
	var b record.Builder
	b.Reset(o)
	for k := range keys {
		b.Append(record.Record{Timestamp: time.Now().UnixMilli(), Key: fmt.Appendf(nil, "key %d", k), Value: value(k)})
	}
	return slices.Clone(b.Bytes())
}

// sizes are those of the replicas of a topic's first partition.
func (c *cluster) sizes(topic string) (bytes []int64) {
	for _, id := range c.Central.Image().Topic(topic).Partitions[0].Replicas {
		p, err := c.Broker(id).Partition(topic, 0)
		if err != nil {
			c.Fatal(err)
		}
		bytes = append(bytes, p.Figures().SizeBytes)
	}
	return bytes
}

// Leader and followers compact their logs, each on its own; offsets stay, and a replica that comes back takes what is left.
func TestReplicasCompact(t *testing.T) {
	c := newCluster(t, 3, "millrace.workers=2")
	c.CreateReplicated("t", 1, 3, compactedTopic(nil))
	const rounds = 300
	for round := range rounds {
		b := versions(record.Options{}, 20, func(k int) []byte { return fmt.Appendf(nil, "%d of round %0500d", k, round) })
		if part := c.produceAll("t", 0, b); part.Err != nil || part.BaseOffset != int64(20*round) {
			t.Fatalf("offset %d for %d, %v", part.BaseOffset, 20*round, part.Err)
		}
	}
	compacted := func() bool { return slices.Max(c.sizes("t")) < 20_000 }
	c.await("all replicas are compacted", compacted)
	check := func(next int64) {
		t.Helper()
		got := c.fetch("t", 0, 0, 1, time.Second)
		if got.err != nil || got.high != next || len(got.values) != 20 {
			t.Fatalf("%d records, high watermark %d, want %d: %v", len(got.values), got.high, next, got.err)
		}
		for k, v := range got.values {
			if want := fmt.Sprintf("%d of round %0500d", k, rounds-1); v != want {
				t.Fatalf("record %d is %.30q, want %.30q", k, v, want)
			}
		}
	}
	check(20 * rounds)
	dies := c.Central.Image().Topic("t").Partitions[0].Leader
	c.KillBroker(dies)
	check(20 * rounds)
	c.AddBroker(dies)
	c.await("all are in sync again", c.inSync("t", 3))
	c.await("the replica that came back has no more than is left", compacted)
	check(20 * rounds)
}

// What a producer has sent last is known for as long as it would be otherwise: a batch sent again is recognised although
// its records are gone.
func TestCompactionKeepsSequences(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, compactedTopic(nil))
	of := func(id int64, sequence int32) record.Options {
		return record.Options{Idempotent: true, ProducerID: id, BaseSequence: sequence}
	}
	value := func(int) []byte { return []byte("value") }
	for i := range int32(10) {
		for id := range int64(2) {
			if part := c.produce("t", 0, versions(of(id, i*5), 5, value)); part.Err != nil {
				t.Fatal(part.Err)
			}
		}
	}
	// The records of producer 0 are all replaced by those of producer 1.
	c.await("the log is compacted", func() bool { return c.sizes("t")[0] < 500 })
	if got := c.fetch("t", 0, 0, 1, time.Second); len(got.values) != 5 || got.high != 100 {
		t.Errorf("%d records, high watermark %d", len(got.values), got.high)
	}
	for id, offset := range []int64{90, 95} {
		if part := c.produce("t", 0, versions(of(int64(id), 45), 5, value)); part.Err != nil || part.BaseOffset != offset {
			t.Errorf("producer %d, the last batch again: offset %d, %v", id, part.BaseOffset, part.Err)
		}
		if part := c.produce("t", 0, versions(of(int64(id), 50), 5, value)); part.Err != nil {
			t.Errorf("producer %d, the next batch: %v", id, part.Err)
		}
	}
}

// Tombstones vanish on their own, also when nothing is written any more.
func TestTombstonesVanish(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, compactedTopic(map[string]string{"delete.retention.ms": "300"}))
	c.produce("t", 0, versions(record.Options{}, 10, func(int) []byte { return []byte("value") }))
	c.produce("t", 0, versions(record.Options{}, 10, func(k int) []byte {
		if k < 9 {
			return nil
		}
		return []byte("last")
	}))
	c.await("only one record is left", func() bool { return len(c.fetch("t", 0, 0, 1, time.Second).values) == 1 })
	if got := c.fetch("t", 0, 0, 1, time.Second); got.values[0] != "last" || got.high != 20 {
		t.Errorf("%v, high watermark %d", got.values, got.high)
	}
	if part := c.produce("t", 0, batch(t, plain, 1)); part.Err == nil {
		t.Error("a record without a key was taken")
	}
}
