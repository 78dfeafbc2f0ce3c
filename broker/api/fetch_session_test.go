package api_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol"
)

// consumer is a client with a fetch session.
type consumer struct {
	*desk
	version   int16
	topic     *metadata.Topic
	id, epoch int32
}

// request names partitions as "0@5" (from offset 5) and forgets those given as "-0".
func (c *consumer) request(parts ...string) *kmsg.FetchRequest {
	r := fetchRequest(c.topic.Name, 0, 0)
	r.SessionID, r.SessionEpoch, r.MaxWaitMillis = c.id, c.epoch, 0
	t, gone := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestForgottenTopic()
	t.Topic, t.TopicID, gone.Topic, gone.TopicID = c.topic.Name, c.topic.ID, c.topic.Name, c.topic.ID
	for _, s := range parts {
		p := kmsg.NewFetchRequestTopicPartition()
		p.PartitionMaxBytes = 1 << 20
		if _, err := fmt.Sscanf(s, "%d@%d", &p.Partition, &p.FetchOffset); err == nil {
			t.Partitions = append(t.Partitions, p)
		} else if _, err := fmt.Sscanf(s, "-%d", &p.Partition); err == nil {
			gone.Partitions = append(gone.Partitions, p.Partition)
		} else {
			c.Fatal(s)
		}
	}
	r.Topics = nil
	if t.Partitions != nil {
		r.Topics = append(r.Topics, t)
	}
	if gone.Partitions != nil {
		r.ForgottenTopics = append(r.ForgottenTopics, gone)
	}
	return r
}

// take reads an answer as "0: 10 bytes", "1: ok", "2: OFFSET_OUT_OF_RANGE", in order of partitions.
func (c *consumer) take(a *kmsg.FetchResponse) string {
	c.Helper()
	if a.ErrorCode != 0 {
		return protocol.Code(a.ErrorCode).String()
	}
	if c.id = a.SessionID; c.id != 0 {
		c.epoch++
	}
	var out []string
	for _, t := range a.Topics {
		for _, p := range t.Partitions {
			said := "ok"
			switch {
			case p.ErrorCode != 0:
				said = protocol.Code(p.ErrorCode).String()
			case p.RecordBatches == nil:
				c.Error("null for records")
			case len(p.RecordBatches) > 0:
				said = "records"
			}
			out = append(out, fmt.Sprintf("%d %s", p.Partition, said))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (c *consumer) fetch(parts ...string) string {
	c.Helper()
	return c.take(ask[*kmsg.FetchResponse](c.desk, c.request(parts...), c.version))
}

func (c *consumer) produce(partition int32) {
	c.Helper()
	r := produceRequest(1, c.topic.Name, 1, batch(1, 100))
	r.Topics[0].Partitions[0].Partition = partition
	c.codeIs(ask[*kmsg.ProduceResponse](c.desk, r, 9).Topics[0].Partitions[0].ErrorCode, protocol.None, "produce")
}

func (c *consumer) want(got, want string) {
	c.Helper()
	if got != want {
		c.Errorf("v%d, epoch %d: got %q, want %q", c.version, c.epoch, got, want)
	}
}

func TestFetchSession(t *testing.T) {
	d := newDesk(t, 1)
	for version := int16(7); version <= 18; version++ {
		d.CreateTopic("t", 3, nil)
		c := &consumer{desk: d, version: version, topic: d.Central.Image().Topic("t")}
		c.want(c.fetch("0@0", "1@0", "2@7"), "0 ok, 1 ok, 2 OFFSET_OUT_OF_RANGE")
		c.want(c.fetch(), "2 OFFSET_OUT_OF_RANGE")
		c.want(c.fetch("2@0"), "2 ok") // the end of an error is told
		c.want(c.fetch(), "")
		c.produce(1)
		c.produce(1)
		c.want(c.fetch(), "1 records")
		c.want(c.fetch(), "1 records") // until the client moves on
		c.want(c.fetch("1@1"), "1 records")
		c.want(c.fetch("1@2"), "")
		c.produce(0)
		c.want(c.fetch("-0"), "")
		c.want(c.fetch("0@0"), "0 records")
		c.want(c.fetch("0@1", "-1"), "")
		c.produce(1)
		c.want(c.fetch(), "")
		c.produce(2)
		c.want(c.fetch("2@1"), "2 ok") // the high watermark moved
		d.deleteRecords("t", 2, 1)
		c.want(c.fetch(), "2 ok") // the log's start moved
		d.wrongFetches(c)
		d.DeleteTopic("t")
	}
}

func (d *desk) deleteRecords(topic string, partition int32, before int64) {
	b, p := d.Leader(topic, partition)
	done := make(chan struct{})
	b.DeleteRecords([]broker.DeleteRecords{{Partition: p, Before: before}}, func() { close(done) })
	<-done
}

// wrongFetches goes through the codes of the session itself. None of them harms the session.
func (d *desk) wrongFetches(c *consumer) {
	d.Helper()
	for want, x := range map[string]consumer{
		"FETCH_SESSION_ID_NOT_FOUND":   {desk: d, version: c.version, topic: c.topic, id: c.id ^ 1, epoch: c.epoch},
		"INVALID_FETCH_SESSION_EPOCH":  {desk: d, version: c.version, topic: c.topic, id: c.id, epoch: c.epoch - 1},
		"FETCH_SESSION_TOPIC_ID_ERROR": {desk: d, version: 20 - c.version, topic: c.topic, id: c.id, epoch: c.epoch},
	} {
		if x.version < 7 || x.version > 18 || want == "FETCH_SESSION_TOPIC_ID_ERROR" && x.version >= 13 == (c.version >= 13) {
			continue
		}
		d.want(x.fetch(), want, want)
	}
	old := *c
	c.want(c.fetch("-0", "-2"), "")
	if c.id != 0 {
		d.Error("an empty session stays open")
	}
	old.epoch++
	old.want(old.fetch(), "FETCH_SESSION_ID_NOT_FOUND")
	c.epoch = 0
	c.want(c.fetch("0@1"), "0 ok")
	id := c.id
	c.epoch = 0 // anew, and the session that is named ends
	c.want(c.fetch("0@1"), "0 ok")
	if c.id == 0 || c.id == id {
		d.Errorf("session %d after %d", c.id, id)
	}
	c.epoch = -1
	c.want(c.fetch("0@1"), "0 ok")
	if c.id != 0 {
		d.Error("a session that was to be closed is open")
	}
}

func (d *desk) want(got, want, what string) {
	d.Helper()
	if got != want {
		d.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// A session's fetch that names nothing waits for its partitions.
func TestFetchSessionWaits(t *testing.T) {
	d := newDesk(t, 1)
	d.CreateTopic("t", 100, nil)
	c := &consumer{desk: d, version: 12, topic: d.Central.Image().Topic("t")}
	var all []string
	for i := range 100 {
		all = append(all, fmt.Sprintf("%d@0", i))
	}
	c.fetch(all...)
	r := c.request()
	r.MaxWaitMillis, r.MinBytes = 20_000, int32(2*len(batch(1, 100)))
	waiting := d.send(d.session, r, 12)
	c.produce(17)
	select {
	case <-waiting.done:
		t.Error("answered with half of min_bytes")
	default:
	}
	c.produce(17)
	c.want(c.take(receive[*kmsg.FetchResponse](d, waiting, 12)), "17 records")
	r = c.request("17@2")
	r.MaxWaitMillis, r.MinBytes = 20_000, 1
	waiting = d.send(d.session, r, 12)
	d.DeleteTopic("t")
	got := c.take(receive[*kmsg.FetchResponse](d, waiting, 12))
	if !strings.Contains(got, "NOT_LEADER_OR_FOLLOWER") {
		t.Errorf("topic deleted: %q", got)
	}
	c.fetch() // a part whose partition has left is looked up again by the next fetch
	if got = c.fetch(); strings.Count(got, "UNKNOWN_TOPIC_OR_PARTITION") != 100 {
		t.Errorf("topic deleted, again: %q", got)
	}
	d.CreateTopic("t", 100, nil)
	if got = c.fetch("17@0"); strings.Count(got, "ok") != 100 {
		t.Errorf("topic made anew: %q", got)
	}
	c.want(c.fetch(), "")
}

// A connection's end is the end of its sessions, waiting or not.
func TestFetchSessionEndsWithItsConnection(t *testing.T) {
	d := newDesk(t, 1)
	for _, wait := range []int32{0, 20_000} {
		topic := d.topic(fmt.Sprint("t", wait), 1)
		d.session = d.connect()
		c := &consumer{desk: d, version: 12, topic: topic}
		c.fetch("0@0")
		r := c.request()
		r.MaxWaitMillis, r.MinBytes = wait, 1
		s := d.send(d.session, r, 12)
		d.Desk.Close(d.session)
		c.take(receive[*kmsg.FetchResponse](d, s, 12))
		d.session = d.connect()
		c.want(c.fetch(), "FETCH_SESSION_ID_NOT_FOUND")
	}
}

// Producers, consumers with sessions that read everything, and sessions that come and go, all at once.
func TestFetchSessionRaces(t *testing.T) {
	const partitions, each = 20, 50
	d := newDesk(t, 1, "millrace.workers=3", "max.incremental.fetch.session.cache.slots=8")
	d.CreateTopic("t", partitions, nil)
	topic := d.Central.Image().Topic("t")
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			own := *d
			own.session = own.connect()
			c := &consumer{desk: &own, version: 12, topic: topic}
			for i := range partitions * each / 2 {
				c.produce(int32(i % partitions))
			}
		})
	}
	for reader := range 4 {
		all.Go(func() {
			own := *d
			own.session = own.connect()
			defer func() { own.Desk.Close(own.session) }()
			c := &consumer{desk: &own, version: 12, topic: topic}
			var next []string
			offsets := make([]int64, partitions)
			for i := range partitions {
				next = append(next, fmt.Sprintf("%d@0", i))
			}
			for got, round := 0, 0; got < partitions*each; round++ {
				if reader == 3 && round%5 == 4 { // starts over
					next, c.epoch = nil, 0
					for i := range offsets {
						next = append(next, fmt.Sprintf("%d@%d", i, offsets[i]))
					}
				}
				r := c.request(next...)
				r.MaxWaitMillis, r.MinBytes = 10_000, int32(1+100*reader)
				if reader == 2 && round%3 == 0 {
					r.MaxWaitMillis = 1
				}
				next = next[:0]
				a := receive[*kmsg.FetchResponse](&own, own.send(own.session, r, 12), 12)
				if c.take(a); a.ErrorCode != 0 {
					t.Errorf("error %v", protocol.Code(a.ErrorCode))
					return
				}
				for _, at := range a.Topics {
					for _, p := range at.Partitions {
						n := len(p.RecordBatches) / len(batch(1, 100))
						offsets[p.Partition] += int64(n)
						if got += n; n > 0 {
							next = append(next, fmt.Sprintf("%d@%d", p.Partition, offsets[p.Partition]))
						}
					}
				}
				if reader > 0 && got > partitions*each-100 {
					return // min_bytes may never come again
				}
			}
		})
	}
	all.Wait()
}

// A fetch of a session allocates nothing in steady state, however many partitions the session has.
func TestFetchSessionAllocatesNothing(t *testing.T) {
	d := newDesk(t, 1)
	d.CreateTopic("t", 1000, nil)
	next := sessionRound(d, 1000)
	for range 100 {
		next()
	}
	if n := testing.AllocsPerRun(200, next); n > 0 && !raceEnabled {
		t.Errorf("%v allocations for a produce and a fetch", n)
	}
}

// sessionRound opens a session over the topic t and returns what produces one record to one partition and fetches it.
func sessionRound(d *desk, partitions int) func() {
	c := &consumer{desk: d, version: 12, topic: d.Central.Image().Topic("t")}
	var all []string
	for i := range partitions {
		all = append(all, fmt.Sprintf("%d@0", i))
	}
	c.fetch(all...)
	produce := frame(produceRequest(1, "t", 1, batch(1, 100)), 9)
	const epochMark, offsetMark = 0x11223344, 0x1122334455667788
	c.epoch = epochMark
	fetch := frame(c.request(fmt.Sprint("0@", offsetMark)), 12)
	epoch := fetch[bytes.Index(fetch, binary.BigEndian.AppendUint32(nil, epochMark)):]
	offset := fetch[bytes.Index(fetch, binary.BigEndian.AppendUint64(nil, offsetMark)):]
	s, round := make(turns, 1), 0
	return func() {
		d.Serve(d.session, produce, s)
		reply := <-s
		reply.Release()
		binary.BigEndian.PutUint32(epoch, uint32(1+round))
		binary.BigEndian.PutUint64(offset, uint64(round))
		d.Serve(d.session, fetch, s)
		reply = <-s
		if len(reply.Views) != 1 {
			d.Fatalf("%d views in round %d", len(reply.Views), round)
		}
		reply.Release()
		round++
	}
}

// turns is a slot that waits for each answer: the retention sweep may hold the worker when a request comes.
type turns chan protocol.Reply

func (s turns) Reply(r protocol.Reply) { s <- r }
func (s turns) Drop()                  { panic("no answer") }
func (s turns) Fail(reason string)     { panic(reason) }

// What a fetch from a session costs must not depend on how many partitions it has.
func BenchmarkFetchSession(b *testing.B) {
	for _, partitions := range []int{10, 10_000} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			d := newDesk(b, 1, "log.retention.bytes=100000")
			d.CreateTopic("t", int32(partitions), nil)
			next := sessionRound(d, partitions)
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
		})
	}
}
