package broker_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol/record"
)

// produceAll appends one batch with acks=all.
func (c *cluster) produceAll(topic string, index int32, b record.Batch) broker.AppendPart {
	c.Helper()
	leader, p := c.Leader(topic, index)
	done := make(chan broker.AppendPart, 1)
	op := &broker.Produce{Acks: broker.AcksAll, TimeoutMs: 5000, Parts: []broker.AppendPart{{Partition: p, Batch: b}},
		Done: func(op *broker.Produce) { done <- op.Parts[0] }}
	op.Start(leader)
	return <-done
}

// await waits for a condition.
func (c *cluster) await(what string, ok func() bool) {
	c.Helper()
	for until := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			c.Fatalf("it never came that %s", what)
		}
	}
}

func (c *cluster) inSync(topic string, n int) func() bool {
	return func() bool {
		for _, p := range c.Central.Image().Topic(topic).Partitions {
			if len(p.ISR) != n {
				return false
			}
		}
		return true
	}
}

var minISR2 = map[string]*string{"min.insync.replicas": new("2")}

// Leaders die one after the other and come back without their records; nothing that was acknowledged is lost, and each
// new leader is the next in the order of the replicas.
func TestLeadersDieInTurn(t *testing.T) {
	c := newCluster(t, 3, "millrace.workers=2")
	c.CreateReplicated("t", 6, 3, minISR2)
	written := int64(0)
	write := func() {
		t.Helper()
		for range 10 {
			for index := range int32(6) {
				if part := c.produceAll("t", index, batch(t, plain, 3)); part.Err != nil || part.BaseOffset != written {
					t.Fatalf("partition %d: offset %d for %d, %v", index, part.BaseOffset, written, part.Err)
				}
			}
			written += 3
		}
	}
	write()
	for round := range 4 {
		was := c.Central.Image().Topic("t").Partitions
		dies := was[round].Leader
		c.KillBroker(dies)
		for i, p := range c.Central.Image().Topic("t").Partitions {
			next := was[i].Replicas[(slices.Index(was[i].Replicas, dies)+1)%3]
			if was[i].Leader == dies && p.Leader != next {
				t.Errorf("partition %d of %v is led by %d after %d, not by %d", i, p.Replicas, p.Leader, dies, next)
			}
		}
		write()
		c.AddBroker(dies)
		c.await("all are in sync again", c.inSync("t", 3))
		write()
		for index := range int32(6) {
			if got := c.fetch("t", index, 0, 1, time.Second); got.err != nil || int64(len(got.values)) != written {
				t.Fatalf("partition %d has %d records of %d, %v", index, len(got.values), written, got.err)
			}
		}
	}
}

// An acks=all produce is answered when the followers have it, which an append tells them: nobody waits for a timer.
func TestAcksAllWaitsForNoTimer(t *testing.T) {
	c := newCluster(t, 3)
	c.CreateReplicated("t", 1, 3, minISR2)
	c.produceAll("t", 0, batch(t, plain, 1))
	from := time.Now()
	const n = 200
	for range n {
		if part := c.produceAll("t", 0, batch(t, plain, 1)); part.Err != nil {
			t.Fatal(part.Err)
		}
	}
	if each := time.Since(from) / n; each > 20*time.Millisecond {
		t.Errorf("a produce took %v", each)
	}
}

func TestTooFewInSync(t *testing.T) {
	c := newCluster(t, 2)
	c.CreateReplicated("t", 1, 2, minISR2)
	c.CreateReplicated("single", 1, 1, minISR2)
	if part := c.produceAll("single", 0, batch(t, plain, 1)); part.Err != nil { // as on Apache Kafka, where there is but one
		t.Errorf("acks=all of one replica: %v", part.Err)
	}
	c.produceAll("t", 0, batch(t, plain, 1))
	follower := c.Central.Image().Topic("t").Partitions[0].Replicas[1]
	c.KillBroker(follower)
	if part := c.produceAll("t", 0, batch(t, plain, 1)); !errors.Is(part.Err, broker.ErrNotEnoughReplicas) {
		t.Errorf("acks=all: %v", part.Err)
	}
	if part := c.produce("t", 0, batch(t, plain, 1)); part.Err != nil || part.BaseOffset != 1 {
		t.Errorf("acks=1: %d, %v", part.BaseOffset, part.Err)
	}
	if got := c.fetch("t", 0, 0, 1, 0); len(got.values) != 1 || got.high != 1 {
		t.Errorf("consumers see what is not committed: %+v", got)
	}
	c.AddBroker(follower)
	c.await("the follower is back", c.inSync("t", 2))
	c.await("it is committed", func() bool { return len(c.fetch("t", 0, 0, 1, 0).values) == 2 })
}

// A produce that waits when the last follower dies is told that too few were in sync after the append.
func TestTooFewAfterTheAppend(t *testing.T) {
	c := newCluster(t, 2)
	c.CreateReplicated("t", 1, 2, minISR2)
	c.produceAll("t", 0, batch(t, plain, 1))
	p := &c.Central.Image().Topic("t").Partitions[0]
	gone := c.Brokers[p.Replicas[1]]
	gone.Close() // it does not answer any more, and nobody has noticed
	done := make(chan broker.AppendPart, 1)
	go func() { done <- c.produceAll("t", 0, batch(t, plain, 1)) }()
	_, partition := c.Leader("t", 0)
	c.await("it is appended", func() bool { return partition.Figures().LogEndOffset == 2 })
	c.Forget(gone)
	if part := <-done; !errors.Is(part.Err, broker.ErrNotEnoughReplicasAfterAppend) {
		t.Errorf("got %v", part.Err)
	}
}

// The followers know the producers: a batch that is sent again to the next leader isn't appended again.
func TestProducersSurviveTheirLeader(t *testing.T) {
	c := newCluster(t, 3)
	c.CreateReplicated("t", 1, 3, minISR2)
	sent := func(sequence int32) record.Batch {
		return batch(t, record.Options{Idempotent: true, ProducerID: 9, BaseSequence: sequence}, 5)
	}
	for i := range int32(4) {
		c.produceAll("t", 0, sent(5*i))
	}
	c.KillBroker(c.Central.Image().Topic("t").Partitions[0].Leader)
	if part := c.produceAll("t", 0, sent(15)); part.Err != nil || part.BaseOffset != 15 {
		t.Errorf("again: %d, %v", part.BaseOffset, part.Err)
	}
	if part := c.produceAll("t", 0, sent(20)); part.Err != nil || part.BaseOffset != 20 {
		t.Errorf("next: %d, %v", part.BaseOffset, part.Err)
	}
	if part := c.produceAll("t", 0, sent(40)); !errors.Is(part.Err, broker.ErrOutOfOrderSequence) {
		t.Errorf("out of order: %v", part.Err)
	}
}

// A follower that comes back finds a log whose start has moved: it begins there, and knows the producers whose batches
// are no more.
func TestFollowerBeginsAtTheStart(t *testing.T) {
	c := newCluster(t, 3)
	c.CreateReplicated("t", 1, 3, minISR2)
	sent := func(sequence int32) record.Batch {
		return batch(t, record.Options{Idempotent: true, ProducerID: 9, BaseSequence: sequence}, 5)
	}
	c.produceAll("t", 0, sent(0))
	c.produceAll("t", 0, batch(t, plain, 5))
	state := &c.Central.Image().Topic("t").Partitions[0]
	back := state.Replicas[1]
	c.KillBroker(back)
	leader, p := c.Leader("t", 0)
	r := []broker.DeleteRecords{{Partition: p, Before: 7}}
	done := make(chan struct{})
	leader.DeleteRecords(r, func() { close(done) })
	<-done
	c.AddBroker(back)
	c.await("all are in sync", c.inSync("t", 3))
	c.KillBroker(leader.ID)
	if now := c.Central.Image().Topic("t").Partitions[0].Leader; now != back {
		t.Fatalf("%d leads", now)
	}
	if part := c.produceAll("t", 0, sent(0)); part.Err != nil || part.BaseOffset != 0 || part.LogStartOffset != 7 {
		t.Errorf("again: %d, start %d, %v", part.BaseOffset, part.LogStartOffset, part.Err)
	}
	if got := c.fetch("t", 0, 7, 1, 0); len(got.values) != 5 { // the batch that holds 7 comes whole
		t.Errorf("%+v", got)
	}
}

// When the leader is gone for longer than others, its followers truncate what was never committed.
func TestUncommittedIsTruncated(t *testing.T) {
	c := newCluster(t, 3)
	c.CreateReplicated("t", 1, 3, minISR2)
	c.produceAll("t", 0, batch(t, plain, 5))
	state := c.Central.Image().Topic("t").Partitions[0]
	c.KillBroker(state.Replicas[1])
	c.KillBroker(state.Replicas[2])
	c.produce("t", 0, batch(t, plain, 5)) // acks=1, on the last one
	if got := c.fetch("t", 0, 0, 1, 0); len(got.values) != 5 {
		t.Errorf("%+v", got)
	}
	c.AddBroker(state.Replicas[1])
	c.AddBroker(state.Replicas[2])
	c.await("all are in sync", c.inSync("t", 3))
	if part := c.produceAll("t", 0, batch(t, plain, 1)); part.BaseOffset != 10 {
		t.Errorf("%d, %v", part.BaseOffset, part.Err)
	}
}

// All RAM of a partition is lost at once: that is declared, and the offsets go on above.
func TestAllReplicasDie(t *testing.T) {
	c := newCluster(t, 3)
	c.CreateReplicated("t", 1, 3, minISR2)
	c.produceAll("t", 0, batch(t, plain, 5))
	for _, id := range []int32{1, 2, 3} {
		c.KillBroker(id)
	}
	for _, id := range []int32{1, 2, 3} {
		c.AddBroker(id)
	}
	c.await("somebody leads", func() bool {
		p := &c.Central.Image().Topic("t").Partitions[0]
		return p.Leader != metadata.NoBroker && p.LossGeneration == 1 && len(p.ISR) == 3
	})
	if part := c.produceAll("t", 0, batch(t, plain, 1)); part.Err != nil || part.BaseOffset != metadata.OffsetCeilingStep {
		t.Errorf("%d, %v", part.BaseOffset, part.Err)
	}
}

// In steady state an acks=all produce with three replicas allocates nothing, the followers' part included.
func TestAcksAllAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	c := newCluster(t, 3)
	c.CreateReplicated("t", 1, 3, map[string]*string{"retention.bytes": new("1048576")})
	leader, p := c.Leader("t", 0)
	data := batch(t, plain, 40)
	done := make(chan error, 1)
	op := &broker.Produce{Acks: broker.AcksAll, TimeoutMs: 5000, Parts: make([]broker.AppendPart, 1),
		Done: func(op *broker.Produce) { done <- op.Parts[0].Err }}
	produce := func() {
		op.Parts[0] = broker.AppendPart{Partition: p, Batch: data}
		op.Start(leader)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for range 5000 {
		produce()
	}
	if n := testing.AllocsPerRun(5000, produce); n >= 0.1 { // the timers of quiet times may allocate
		t.Errorf("%.2f allocations", n)
	}
}

// A replica that comes back reads what it missed no faster than it may, and gets there.
func TestCatchUpIsHeldBack(t *testing.T) {
	c := newCluster(t, 2, "replica.catchup.max.bytes.per.second=4000000", "replica.fetch.max.bytes=100000")
	c.CreateReplicated("t", 4, 2, nil)
	p := &c.Central.Image().Topic("t").Partitions[0]
	back := p.Replicas[1]
	c.KillBroker(back)
	value := record.Record{Value: make([]byte, 100_000)}
	var b record.Builder
	b.Reset(plain)
	b.Append(value)
	for range 20 { // 2 MB in all
		if part := c.produce("t", 0, slices.Clone(b.Bytes())); part.Err != nil {
			t.Fatal(part.Err)
		}
	}
	from := time.Now()
	c.AddBroker(back)
	c.await("it is in sync", c.inSync("t", 2))
	if took := time.Since(from); took < 350*time.Millisecond { // 2 MB at 4 MB/s, but for the slack
		t.Errorf("it took %v", took)
	}
}
