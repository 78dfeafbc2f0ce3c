package broker_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"millrace/broker"
	"millrace/broker/brokertest"
	"millrace/broker/plog"
	"millrace/metadata"
	"millrace/protocol/record"
)

// plain is a batch without a producer id.
var plain = record.Options{}

func TestProduceAndFetch(t *testing.T) {
	c := newCluster(t, 3)
	c.CreateTopic("t", 6, nil)
	for index := range int32(6) {
		for i := range 3 {
			if part := c.produce("t", index, batch(t, plain, 10)); part.Err != nil || part.BaseOffset != int64(10*i) {
				t.Fatalf("partition %d, batch %d: offset %d, %v", index, i, part.BaseOffset, part.Err)
			}
		}
		got := c.fetch("t", index, 0, 1, 0)
		if got.err != nil || got.high != 30 || len(got.values) != 30 {
			t.Errorf("partition %d: %+v", index, got)
		}
	}
	if got := c.fetch("t", 0, 31, 1, 0); !errors.Is(got.err, plog.ErrOffsetOutOfRange) {
		t.Errorf("beyond the end: %+v", got)
	}
}

func TestFetchWaitsForBytes(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	size := len(batch(t, plain, 1))
	leader, p := c.Leader("t", 0)
	done := make(chan fetched, 1)
	startFetch(leader, p, 0, 2*size, time.Minute, done)
	c.produce("t", 0, batch(t, plain, 1))
	select {
	case got := <-done:
		t.Fatalf("answered with %d bytes, %d were asked for", got.bytes, 2*size)
	default:
	}
	c.produce("t", 0, batch(t, plain, 1))
	if got := <-done; len(got.values) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestFetchEndsAtItsDeadline(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	from := time.Now()
	got := c.fetch("t", 0, 0, 1, 50*time.Millisecond)
	if took := time.Since(from); got.err != nil || got.bytes != 0 || took < 50*time.Millisecond {
		t.Errorf("got %+v after %v", got, took)
	}
}

func TestFetchCancelled(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	leader, p := c.Leader("t", 0)
	done := make(chan fetched, 1)
	op := startFetch(leader, p, 0, 1, time.Hour, done)
	op.Cancel()
	if got := <-done; got.bytes != 0 {
		t.Errorf("got %+v", got)
	}
}

// A deletion, and a move to another broker, end a fetch that waits.
func TestFetchEndsWhenThePartitionLeaves(t *testing.T) {
	c := newCluster(t, 2)
	c.CreateTopic("t", 2, nil)
	leader, p := c.Leader("t", 0)
	done := make(chan fetched, 1)
	startFetch(leader, p, 0, 1, time.Hour, done)
	brokertest.Wait(t, func(done func(error)) {
		c.Central.DeleteTopics([]metadata.TopicRef{{Name: "t"}}, func(r []metadata.DeleteResult) { done(r[0].Err) })
	})
	if got := <-done; !errors.Is(got.err, broker.ErrNotLeader) {
		t.Errorf("got %+v", got)
	}
}

// Fetches and produces from many goroutines over partitions of several workers: every fetch is answered once, and
// every record is seen.
func TestFetchRacesWithProduce(t *testing.T) {
	const partitions, readers, batches = 8, 4, 200
	c := newCluster(t, 1, "millrace.workers=4")
	c.CreateTopic("t", partitions, nil)
	var wait sync.WaitGroup
	for range readers {
		for index := range int32(partitions) {
			wait.Go(func() {
				for next := int64(0); next < batches; {
					got := c.fetch("t", index, next, 1, time.Second)
					if got.err != nil {
						t.Errorf("partition %d at %d: %v", index, next, got.err)
						return
					}
					next += int64(len(got.values))
				}
			})
		}
	}
	for index := range int32(partitions) {
		wait.Go(func() {
			for range batches {
				if part := c.produce("t", index, batch(t, plain, 1)); part.Err != nil {
					t.Error(part.Err)
				}
			}
		})
	}
	wait.Wait()
}

func TestIdempotentProducer(t *testing.T) {
	at := func(epoch int16, sequence int32) record.Options {
		return record.Options{Idempotent: true, ProducerID: 7, ProducerEpoch: epoch, BaseSequence: sequence}
	}
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	for _, step := range []struct {
		name  string
		batch record.Options
		n     int
		base  int64
		err   error
	}{
		{"a producer without state begins anywhere", at(0, 40), 10, 0, nil},
		{"in order", at(0, 50), 10, 10, nil},
		{"a duplicate has its first offset", at(0, 50), 10, 10, nil},
		{"so has an older one of the last five", at(0, 40), 10, 0, nil},
		{"a gap", at(0, 61), 10, -1, broker.ErrOutOfOrderSequence},
		{"a duplicate of another length", at(0, 50), 9, -1, broker.ErrOutOfOrderSequence},
		{"a new epoch begins at 0", at(1, 60), 10, -1, broker.ErrOutOfOrderSequence},
		{"and then it is the epoch", at(1, 0), 10, 20, nil},
		{"the old one is fenced", at(0, 60), 10, -1, broker.ErrInvalidProducerEpoch},
		{"no producer id, no sequence", plain, 1, 30, nil},
	} {
		part := c.produce("t", 0, batch(t, step.batch, step.n))
		if !errors.Is(part.Err, step.err) || part.BaseOffset != step.base {
			t.Errorf("%s: offset %d, want %d; error %v, want %v", step.name, part.BaseOffset, step.base, part.Err, step.err)
		}
	}
}

func TestSequenceWraps(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	for _, sequence := range []int32{1<<31 - 5, 5} {
		b := batch(t, record.Options{Idempotent: true, ProducerID: 1, BaseSequence: sequence}, 10)
		if part := c.produce("t", 0, b); part.Err != nil {
			t.Errorf("sequence %d: %v", sequence, part.Err)
		}
	}
}

func TestListOffsets(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	leader, p := c.Leader("t", 0)
	ask := func(timestampMs int64) broker.OffsetQuery {
		q := []broker.OffsetQuery{{Partition: p, TimestampMs: timestampMs, LeaderEpoch: -1}}
		done := make(chan struct{})
		leader.ListOffsets(q, func() { close(done) })
		<-done
		return q[0]
	}
	if q := ask(broker.LatestTimestamp); q.Offset != 0 || q.Err != nil {
		t.Errorf("latest of an empty log: %+v", q)
	}
	if q := ask(broker.MaxTimestamp); q.Offset != -1 || q.FoundTimestampMs != -1 {
		t.Errorf("max timestamp of an empty log: %+v", q)
	}
	before := time.Now().UnixMilli()
	c.produce("t", 0, batch(t, plain, 10))
	if q := ask(before); q.Offset != 0 || q.FoundTimestampMs < before {
		t.Errorf("by time: %+v", q)
	}
	if q := ask(time.Now().Add(time.Hour).UnixMilli()); q.Offset != -1 || q.FoundTimestampMs != -1 || q.FoundEpoch != -1 {
		t.Errorf("in the future: %+v", q)
	}
	if q := ask(broker.LatestTimestamp); q.Offset != 10 {
		t.Errorf("latest: %+v", q)
	}
}

func TestDeleteRecords(t *testing.T) {
	compact := "compact"
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	c.CreateTopic("compacted", 1, map[string]*string{"cleanup.policy": &compact})
	c.produce("t", 0, batch(t, plain, 10))
	for _, step := range []struct {
		topic  string
		before int64
		low    int64
		err    error
	}{
		{"t", 5, 5, nil},
		{"t", 3, 5, nil},
		{"t", 11, -1, plog.ErrOffsetOutOfRange},
		{"t", -1, 10, nil},
		{"compacted", -1, -1, broker.ErrPolicyViolation},
	} {
		leader, p := c.Leader(step.topic, 0)
		r := []broker.DeleteRecords{{Partition: p, Before: step.before}}
		done := make(chan struct{})
		leader.DeleteRecords(r, func() { close(done) })
		<-done
		if r[0].LowWatermark != step.low || !errors.Is(r[0].Err, step.err) {
			t.Errorf("%s before %d: %d, %v", step.topic, step.before, r[0].LowWatermark, r[0].Err)
		}
	}
}

// A removed broker's partitions go on elsewhere, with their records, their producers and a higher epoch.
func TestRemoveBrokerHandsPartitionsOver(t *testing.T) {
	c := newCluster(t, 3)
	c.CreateTopic("t", 6, nil)
	idempotent := record.Options{Idempotent: true, ProducerID: 9, BaseSequence: 0}
	for index := range int32(6) {
		c.produce("t", index, batch(t, idempotent, 5))
	}
	c.RemoveBroker(2)
	for index := range int32(6) {
		if got := c.fetch("t", index, 0, 1, time.Second); got.err != nil || len(got.values) != 5 {
			t.Errorf("partition %d after the move: %+v", index, got)
		}
		if part := c.produce("t", index, batch(t, idempotent, 5)); part.Err != nil || part.BaseOffset != 0 {
			t.Errorf("partition %d forgot its producer: %d, %v", index, part.BaseOffset, part.Err)
		}
		if part := c.produce("t", index, batch(t, plain, 1)); part.Err != nil || part.BaseOffset != 5 {
			t.Errorf("partition %d: %d, %v", index, part.BaseOffset, part.Err)
		}
	}
}

func TestLeadersRoundRobin(t *testing.T) {
	c := newCluster(t, 3)
	c.CreateTopic("t", 6, nil)
	led := map[int32]int{}
	for _, p := range c.Central.Image().Topic("t").Partitions {
		led[p.Leader]++
	}
	for id, n := range led {
		if n != 2 {
			t.Errorf("broker %d leads %d of 6", id, n)
		}
	}
}

func TestProducerIDsAreUnique(t *testing.T) {
	const each = 3000
	c := newCluster(t, 2)
	var mu sync.Mutex
	var ids []int64
	var all sync.WaitGroup
	for _, b := range c.Brokers {
		for range each {
			all.Add(1)
			b.NextProducerID(func(id int64, err error) {
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
				all.Done()
			})
		}
	}
	all.Wait()
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 2*each {
		t.Errorf("%d different ids of %d", n, 2*each)
	}
}

// When the last broker leaves, the records are lost; the offsets are not given again.
func TestOffsetsAreNotReusedAfterALoss(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	c.produce("t", 0, batch(t, plain, 5))
	c.RemoveBroker(1)
	c.AddBroker(2)
	const next = metadata.OffsetCeilingStep // a coarse bound of what was given out: the metadata know no better one
	if part := c.produce("t", 0, batch(t, plain, 1)); part.Err != nil || part.BaseOffset != next || part.LogStartOffset != next {
		t.Errorf("offset %d, log start %d, %v", part.BaseOffset, part.LogStartOffset, part.Err)
	}
}
