package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// workload is the clients of one history. They work until it is stopped, whatever happens to the cluster.
type workload struct {
	seeds []string
	rate  float64 // records a second of each writer
	h     *history

	errors   counts // by name, of records that were given up
	stopping chan struct{}
	writing  sync.WaitGroup
	cancel   context.CancelFunc // of the readers
	reading  sync.WaitGroup
	clients  []*kgo.Client
}

// counts counts by name.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
}

// How the clients are set: they shall notice soon that a broker has gone, and never give up.
func (w *workload) options(more ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{kgo.SeedBrokers(w.seeds...), kgo.DialTimeout(2 * time.Second), kgo.RequestTimeoutOverhead(3 * time.Second),
		kgo.MetadataMinAge(100 * time.Millisecond), kgo.MetadataMaxAge(5 * time.Second), kgo.ProduceRequestTimeout(3 * time.Second),
		kgo.RetryBackoffFn(func(n int) time.Duration { return min(time.Duration(n)*50*time.Millisecond, 500*time.Millisecond) })}, more...)
}

const (
	producersAll = 3 // idempotent, acks=all
	membersMax   = 2 // of the group
	flights      = 4 // records of a writer that are on their way
)

// startWorkload starts producers and readers.
func startWorkload(h *history, seeds []string, rate float64) (*workload, error) {
	w := &workload{seeds: seeds, rate: rate, h: h, stopping: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	for i := range producersAll {
		if err := w.produce(fmt.Sprintf("producer %d", i), true, kgo.RequiredAcks(kgo.AllISRAcks())); err != nil {
			return w, err
		}
	}
	if err := w.produce("producer with acks=1", false, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()); err != nil {
		return w, err
	}
	whole := map[int32]kgo.Offset{}
	for p := range h.partitions {
		whole[int32(p)] = kgo.NewOffset().AtStart()
	}
	if err := w.read(ctx, &reader{name: "consumer"}, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{h.topic: whole})); err != nil {
		return w, err
	}
	for i := range membersMax {
		if err := w.read(ctx, &reader{name: fmt.Sprintf("member %d", i), inAll: true}, kgo.ConsumerGroup("chaos"), kgo.ConsumeTopics(h.topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(500*time.Millisecond),
			kgo.SessionTimeout(8*time.Second), kgo.HeartbeatInterval(time.Second)); err != nil {
			return w, err
		}
	}
	return w, nil
}

// produce starts a producer with a writer for each partition, so that one that is stuck holds no other back.
func (w *workload) produce(name string, all bool, more ...kgo.Opt) error {
	c, err := kgo.NewClient(w.options(append(more, kgo.DefaultProduceTopic(w.h.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()))...)...)
	if err != nil {
		return err
	}
	w.clients = append(w.clients, c)
	for p := range w.h.partitions {
		number, writer := len(w.h.writers), &writer{name: fmt.Sprintf("%s/%d", name, p), partition: int32(p), all: all}
		w.h.writers = append(w.h.writers, writer)
		w.writing.Go(func() { w.write(c, number, writer) })
	}
	return nil
}

// write produces at the rate, with a few records on their way, until the workload stops; then it waits for those.
func (w *workload) write(c *kgo.Client, number int, to *writer) {
	pace := time.NewTicker(time.Duration(float64(time.Second) / w.rate))
	defer pace.Stop()
	room := make(chan struct{}, flights)
	defer func() {
		for range flights {
			room <- struct{}{}
		}
	}()
	for {
		select {
		case <-w.stopping:
			return
		case <-pace.C:
		}
		select {
		case <-w.stopping:
			return
		case room <- struct{}{}:
		}
		place := to.begin()
		key, value := record(number, place)
		c.Produce(context.Background(), &kgo.Record{Partition: to.partition, Key: key, Value: value}, func(r *kgo.Record, err error) {
			if err == nil {
				to.acked(place, r.Offset, time.Now())
			} else {
				w.errors.add(err.Error())
			}
			<-room
		})
	}
}

// read starts a reader.
func (w *workload) read(ctx context.Context, r *reader, more ...kgo.Opt) error {
	c, err := kgo.NewClient(w.options(append(more, kgo.FetchMaxWait(500*time.Millisecond))...)...)
	if err != nil {
		return err
	}
	r.polls = make([][]seen, w.h.partitions)
	w.h.readers, w.clients = append(w.h.readers, r), append(w.clients, c)
	w.reading.Go(func() {
		for ctx.Err() == nil {
			fetches := c.PollFetches(ctx)
			fetches.EachError(func(_ string, _ int32, err error) {
				if !errors.Is(err, context.Canceled) {
					w.errors.add("read: " + err.Error())
				}
			})
			fetches.EachRecord(func(k *kgo.Record) { r.saw(k.Partition, parse(k.Offset, k.Key, k.Value)) })
		}
	})
	return nil
}

// stopWriting has the writers end when all that is on its way is answered. It fails if that takes too long.
func (w *workload) stopWriting(limit time.Duration) error {
	close(w.stopping)
	ended := make(chan struct{})
	go func() {
		w.writing.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("records that were sent are not answered after %v", limit)
	}
}

// awaitReaders waits until the consumer and the group have been everywhere; the checker finds what is missing if they don't.
func (w *workload) awaitReaders(limit time.Duration) {
	ends := make([]int64, w.h.partitions)
	for p, list := range w.h.final {
		if len(list) > 0 {
			ends[p] = list[len(list)-1].offset
		}
	}
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		missing := false
		for p := range ends {
			whole, group := int64(-1), int64(-1)
			for _, r := range w.h.readers {
				r.mu.Lock()
				for i := len(r.polls[p]) - 1; i >= 0 && i > len(r.polls[p])-2; i-- {
					if r.inAll {
						group = max(group, r.polls[p][i].offset)
					} else {
						whole = max(whole, r.polls[p][i].offset)
					}
				}
				r.mu.Unlock()
			}
			missing = missing || len(w.h.final[p]) > 0 && (whole < ends[p] || group < ends[p])
		}
		if !missing {
			return
		}
	}
}

// close ends all clients.
func (w *workload) close() {
	w.cancel()
	w.reading.Wait()
	for _, c := range w.clients {
		c.CloseAllowingRebalance()
	}
}
