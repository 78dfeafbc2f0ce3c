package link_test

import (
	"fmt"
	"testing"
	"time"
)

var minISR2 = map[string]*string{"min.insync.replicas": new("2")}

// Followers over sockets: leaders die one after the other and come back without their records, and nothing that was
// acknowledged is lost.
func TestReplication(t *testing.T) {
	c := newCluster(t, 3, true, "millrace.workers=2", "replica.fetch.backoff.ms=20")
	c.CreateReplicated("t", 6, 3, minISR2)
	written := int64(0)
	write := func() {
		t.Helper()
		for range 10 {
			for index := range int32(6) {
				if offset, err := c.produce("t", index, -1, "a", "b", fmt.Sprint(written)); err != nil || offset != written {
					t.Fatalf("partition %d: offset %d for %d, %v", index, offset, written, err)
				}
			}
			written += 3
		}
	}
	write()
	for round := range 4 {
		dies := c.Central.Image().Topic("t").Partitions[round].Leader
		c.kill(dies)
		write()
		c.start(dies)
		c.await("all are in sync again", c.inSync("t", 3))
		write()
		for index := range int32(6) {
			_, p := c.Leader("t", index)
			c.await("all is there", func() bool { // figures are told behind the answers
				f := p.Figures()
				return f.LogEndOffset == written && f.HighWatermark == written
			})
		}
	}
}

// An acks=all produce waits for no timer.
func TestAcksAllOverLinks(t *testing.T) {
	c := newCluster(t, 3, true)
	c.CreateReplicated("t", 1, 3, minISR2)
	produce := func() {
		if _, err := c.produce("t", 0, -1, "x"); err != nil {
			t.Fatal(err)
		}
	}
	produce()
	from := time.Now()
	const n = 200
	for range n {
		produce()
	}
	each := time.Since(from) / n
	t.Logf("a produce took %v", each)
	if each > 20*time.Millisecond {
		t.Errorf("a produce took %v", each)
	}
}
