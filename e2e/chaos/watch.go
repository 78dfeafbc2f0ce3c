package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// watch looks at the cluster from outside, one broker at a time.
type watch struct {
	clients []*kgo.Client // by seed: each asks that broker
	seeds   []string
	h       *history
}

func openWatch(seeds []string) (*watch, error) {
	w := &watch{seeds: seeds}
	for _, s := range seeds {
		c, err := kgo.NewClient(kgo.SeedBrokers(s), kgo.DialTimeout(time.Second), kgo.RequestTimeoutOverhead(2*time.Second),
			kgo.RequestRetries(0))
		if err != nil {
			return nil, err
		}
		w.clients = append(w.clients, c)
	}
	return w, nil
}

// createTopic makes the history's topic, with three replicas, and retries until the brokers are there.
func (w *watch) createTopic(h *history, replicas int16, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.seeds...))
	if err != nil {
		return err
	}
	defer c.Close()
	two, ever := "2", "-1"
	for {
		r, err := kadm.NewClient(c).CreateTopic(ctx, int32(h.partitions), replicas,
			map[string]*string{"min.insync.replicas": &two, "retention.ms": &ever}, h.topic)
		if err == nil && r.Err == nil {
			w.h = h
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("create topic: %w", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// view is what one broker says of the cluster.
type view struct {
	cluster string
	problem string // why not all is well; "" if it is
}

// look asks the broker at an address.
func (w *watch) look(i int) view {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = nil // all
	res, err := w.clients[i].SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return view{problem: fmt.Sprintf("%s: %v", w.seeds[i], err)}
	}
	m := res.(*kmsg.MetadataResponse)
	v := view{}
	if m.ClusterID != nil {
		v.cluster = *m.ClusterID
	}
	if len(m.Brokers) < len(w.seeds) {
		v.problem = fmt.Sprintf("%s knows %d brokers", w.seeds[i], len(m.Brokers))
	}
	found := w.h == nil
	for _, t := range m.Topics {
		for _, p := range t.Partitions {
			if p.Leader < 0 || len(p.ISR) < len(p.Replicas) {
				v.problem = fmt.Sprintf("%s: %s-%d has leader %d and ISR %v", w.seeds[i], *t.Topic, p.Partition, p.Leader, p.ISR)
			}
		}
		found = found || *t.Topic == w.h.topic
	}
	if !found {
		v.problem = fmt.Sprintf("%s doesn't know the topic", w.seeds[i])
	}
	return v
}

// settled asks every broker, and gives why not all replicas are in sync; "" if they are.
func (w *watch) settled() (problem string) {
	for i := range w.seeds {
		if v := w.look(i); v.problem != "" {
			return v.problem
		}
	}
	return ""
}

// awaitSettled waits until every broker has said twice that all is well.
func (w *watch) awaitSettled(limit time.Duration) (problem string) {
	good := 0
	for end := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		if problem = w.settled(); problem == "" {
			if good++; good == 2 {
				return ""
			}
			continue
		}
		if good = 0; time.Now().After(end) {
			return problem
		}
	}
}

// clusterID is the id as any broker tells it.
func (w *watch) clusterID() string {
	for i := range w.seeds {
		if v := w.look(i); v.cluster != "" {
			return v.cluster
		}
	}
	return ""
}

func (w *watch) close() {
	for _, c := range w.clients {
		c.Close()
	}
}

// readAll reads everything that is there, by partition.
func readAll(seeds []string, h *history, limit time.Duration) (there [][]seen, err error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(seeds...))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	defer c.Close()
	ends, err := offsets(ctx, h.topic, kadm.NewClient(c).ListEndOffsets)
	if err != nil {
		return nil, err
	}
	starts, err := offsets(ctx, h.topic, kadm.NewClient(c).ListStartOffsets)
	if err != nil {
		return nil, err
	}
	there = make([][]seen, h.partitions)
	for p := range h.partitions {
		start, _ := starts.Lookup(h.topic, int32(p))
		end, _ := ends.Lookup(h.topic, int32(p))
		if there[p], err = readPartition(ctx, seeds, h.topic, int32(p), start.Offset, end.Offset); err != nil {
			return nil, fmt.Errorf("partition %d: %w", p, err)
		}
	}
	return there, nil
}

// offsets asks for an offset of each partition until all are told: while leaders change, some can't be.
func offsets(ctx context.Context, topic string, list func(context.Context, ...string) (kadm.ListedOffsets, error)) (kadm.ListedOffsets, error) {
	for {
		found, err := list(ctx, topic)
		if err == nil {
			err = found.Error()
		}
		if err == nil || ctx.Err() != nil {
			return found, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// readPartition reads a partition from its start up to an offset.
func readPartition(ctx context.Context, seeds []string, topic string, partition int32, start, end int64) (all []seen, err error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		topic: {partition: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for next := start; next < end; {
		fetches := c.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("offset %d of %d: %w", next, end, ctx.Err())
		}
		fetches.EachRecord(func(k *kgo.Record) {
			all, next = append(all, parse(k.Offset, k.Key, k.Value)), k.Offset+1
		})
	}
	return slices.DeleteFunc(all, func(s seen) bool { return s.offset >= end }), nil
}
