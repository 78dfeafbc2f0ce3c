package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/wire"
)

// ledger produces numbered records with acks=all and idempotence to every partition of a topic, and keeps what was acknowledged.
type ledger struct {
	topic      string
	partitions int
	client     *kgo.Client
	cancel     context.CancelFunc
	ending     chan struct{}
	wait       sync.WaitGroup

	acked, errors atomic.Int64
	mu            sync.Mutex
	numbers       []map[int64]bool // guarded by mu: the acknowledged ones, by partition
	last          []time.Time      // guarded by mu: acknowledgements
	longest       time.Duration    // guarded by mu
}

// A ledger's load: small, so that the machine has room for what is measured.
const (
	ledgerGap     = 2 * time.Millisecond // between two records of a partition
	ledgerFlights = 64                   // records of a partition on their way
)

func startLedger(ctx context.Context, bootstrap []string, topic string, partitions int) (*ledger, error) {
	client, err := kgo.NewClient(append(pulseOptions(bootstrap, topic), kgo.RequiredAcks(kgo.AllISRAcks()))...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &ledger{topic: topic, partitions: partitions, client: client, cancel: cancel, ending: make(chan struct{}),
		last: make([]time.Time, partitions)}
	for p := range partitions {
		l.numbers = append(l.numbers, map[int64]bool{})
		l.wait.Go(func() { l.write(ctx, int32(p)) })
	}
	return l, nil
}

func (l *ledger) write(ctx context.Context, partition int32) {
	room := make(chan struct{}, ledgerFlights)
	defer func() {
		for range ledgerFlights {
			room <- struct{}{}
		}
	}()
	tick := time.NewTicker(ledgerGap)
	defer tick.Stop()
	for number := int64(0); ; number++ {
		select {
		case <-l.ending:
			return
		case <-tick.C:
		}
		select {
		case <-l.ending:
			return
		case room <- struct{}{}:
		}
		l.client.Produce(ctx, &kgo.Record{Partition: partition, Value: numbered(number)}, func(_ *kgo.Record, err error) {
			l.done(partition, number, err)
			<-room
		})
	}
}

func (l *ledger) done(partition int32, number int64, err error) {
	if err != nil {
		l.errors.Add(1)
		return
	}
	l.acked.Add(1)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.numbers[partition][number] = true
	if last := l.last[partition]; !last.IsZero() {
		l.longest = max(l.longest, now.Sub(last))
	}
	l.last[partition] = now
}

// pauseMax is the longest time in which nothing was acknowledged to a partition.
func (l *ledger) pauseMax() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest
}

// stop ends the producing when everything is answered.
func (l *ledger) stop(limit time.Duration) error {
	close(l.ending)
	ended := make(chan struct{})
	go func() {
		l.wait.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("what was sent is not answered after %v", limit)
	}
}

// audit reads all partitions and counts acknowledged records that are not there, and records that are there more than once.
func (l *ledger) audit(ctx context.Context, bootstrap []string) (lost, doubled int, err error) {
	conn, err := wire.Dial(bootstrap[0], adminTimeout)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = conn.Close() }()
	topic, err := conn.AwaitTopic(l.topic, l.partitions)
	if err != nil {
		return 0, 0, err
	}
	for p := range l.partitions {
		leader, err := wire.Dial(topic.Leaders[p], adminTimeout)
		if err != nil {
			return 0, 0, err
		}
		ends, err := leader.Offsets(l.topic, wire.Latest, []int32{int32(p)})
		_ = leader.Close()
		if err != nil {
			return 0, 0, err
		}
		times, err := l.read(ctx, bootstrap, int32(p), ends[int32(p)])
		if err != nil {
			return 0, 0, err
		}
		for number := range l.numbers[p] {
			if times[number] == 0 {
				lost++
			}
		}
		for _, n := range times {
			doubled += n - 1
		}
	}
	return lost, doubled, nil
}

// read counts how often each number is in a partition below an offset.
func (l *ledger) read(ctx context.Context, bootstrap []string, partition int32, end int64) (times map[int64]int, err error) {
	times = map[int64]int{}
	c, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		l.topic: {partition: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, wholeLimit)
	defer cancel()
	for next := int64(0); next < end; {
		fetches := c.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("partition %d: read up to %d of %d", partition, next, end)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if len(r.Value) == 8 {
				times[int64(binary.BigEndian.Uint64(r.Value))]++
			}
			next = r.Offset + 1
		})
	}
	return times, nil
}

func (l *ledger) close() {
	l.cancel()
	l.client.Close()
}
