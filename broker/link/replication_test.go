package link_test

import (
	"fmt"
	"sync"
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

// Connections break again and again, and nothing that was acknowledged is missing or out of order.
func TestBrokenConnections(t *testing.T) {
	c := newCluster(t, 3, true, "millrace.workers=2", "replica.fetch.backoff.ms=5", "replica.fetch.wait.max.ms=50")
	c.CreateReplicated("t", 6, 3, minISR2)
	var producers sync.WaitGroup
	stop := make(chan struct{})
	var written [6]int64
	for index := range int32(6) {
		producers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				offset, err := c.produce("t", index, -1, fmt.Sprint(written[index]))
				if err != nil || offset != written[index] {
					t.Errorf("partition %d: offset %d for %d, %v", index, offset, written[index], err)
					return
				}
				written[index]++
			}
		})
	}
	for round := range 60 {
		self := c.Broker(int32(round%3) + 1).Self
		c.listen(self, c.hangUp(self))
		time.Sleep(5 * time.Millisecond)
	}
	close(stop)
	producers.Wait()
	c.await("all are in sync", c.inSync("t", 3))
	for index := range int32(6) {
		_, p := c.Leader("t", index)
		c.await("all followers have it all", func() bool {
			f := p.Figures()
			return f.LogEndOffset == written[index] && f.HighWatermark == written[index]
		})
	}
	t.Logf("%d records", written)
}
