package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// cluster is where an application finds its topic.
type cluster struct {
	bootstrap []string
	topic     string
}

func (c cluster) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.bootstrap...)}, opts...)...)
}

// createTopic makes the topic and waits until it is there; one that exists already is fine.
func (c cluster) createTopic(ctx context.Context, partitions int32) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(ctx, partitions, 1, nil, c.topic)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return nil
	}
	return err
}

// codecs are the compressions that a producer can use.
var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

// produce sends all with acks=all (kgo's default, as is idempotence) and waits for all; each record then knows its partition.
// The default partitioner places a key where the Java client would.
func (c cluster) produce(ctx context.Context, codec string, records []*kgo.Record) error {
	client, err := c.client(kgo.DefaultProduceTopic(c.topic), kgo.ProducerBatchCompression(codecs[codec]),
		kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	return client.ProduceSync(ctx, records...).FirstErr()
}

// consume joins the group and reads until ctx ends, then leaves. It tells what happens, a line each: "assigned P,P,…",
// "record P OFFSET KEY VALUE" (the value up to its first space), "committed P OFFSET". Processed first and committed
// afterwards: at least once.
func (c cluster) consume(ctx context.Context, group string, out io.Writer) error {
	m := &member{out: out}
	client, err := c.client(
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(c.topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), // no rebalance while records are processed
		kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(500*time.Millisecond), kgo.FetchMaxWait(50*time.Millisecond),
		kgo.OnPartitionsAssigned(m.assigned), kgo.OnPartitionsRevoked(m.revoked), kgo.OnPartitionsLost(m.lost))
	if err != nil {
		return err
	}
	defer client.Close()
	defer client.LeaveGroup()
	defer client.AllowRebalance()
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		fetches := client.PollRecords(wait, 1000)
		cancel()
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.DeadlineExceeded) && !errors.Is(e.Err, context.Canceled) {
				return e.Err
			}
		}
		m.process(fetches.Records())
		if m.uncommitted >= 2000 || fetches.NumRecords() == 0 {
			m.commit(context.WithoutCancel(ctx), client)
		}
		client.AllowRebalance()
	}
	m.commit(context.WithoutCancel(ctx), client)
	return nil
}

// member is what one consumer owns, and has processed and not yet committed. kgo calls assigned, revoked and lost only in between
// polls (BlockRebalanceOnPoll), so no lock is needed.
type member struct {
	out         io.Writer
	owned       []int32
	processed   []*kgo.Record // the last one of each partition since the last commit
	uncommitted int
}

func (m *member) process(records []*kgo.Record) {
	var lines bytes.Buffer
	for _, r := range records {
		value, _, _ := strings.Cut(string(r.Value), " ")
		fmt.Fprintf(&lines, "record %d %d %s %s\n", r.Partition, r.Offset, r.Key, value)
		m.processed = slices.DeleteFunc(m.processed, func(old *kgo.Record) bool { return old.Partition == r.Partition })
		m.processed = append(m.processed, r)
	}
	m.uncommitted += len(records)
	m.out.Write(lines.Bytes())
}

func (m *member) commit(ctx context.Context, client *kgo.Client) {
	if len(m.processed) == 0 {
		return
	}
	if err := client.CommitRecords(ctx, m.processed...); err != nil {
		fmt.Fprintf(m.out, "commit failed: %v\n", err)
	} else {
		for _, r := range m.processed {
			fmt.Fprintf(m.out, "committed %d %d\n", r.Partition, r.Offset+1)
		}
	}
	m.processed, m.uncommitted = nil, 0
}

func (m *member) assigned(_ context.Context, _ *kgo.Client, added map[string][]int32) {
	for _, partitions := range added {
		m.owned = append(m.owned, partitions...)
	}
	m.tell()
}

func (m *member) revoked(ctx context.Context, client *kgo.Client, gone map[string][]int32) {
	m.commit(ctx, client)
	m.drop(gone)
}

func (m *member) lost(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	m.processed, m.uncommitted = nil, 0
	m.drop(gone)
}

func (m *member) drop(gone map[string][]int32) {
	for _, partitions := range gone {
		m.owned = slices.DeleteFunc(m.owned, func(p int32) bool { return slices.Contains(partitions, p) })
	}
	m.tell()
}

func (m *member) tell() {
	fmt.Fprintf(m.out, "assigned %s\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(m.owned), " ", ","), "[]"))
}

// lag is the sum over all partitions of end offset − committed offset.
func (c cluster) lag(ctx context.Context, group string) (int64, error) {
	client, err := c.client()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	lags, err := kadm.NewClient(client).Lag(ctx, group)
	if err != nil {
		return 0, err
	}
	if err := lags.Error(); err != nil {
		return 0, err
	}
	return lags[group].Lag.Total(), nil
}
