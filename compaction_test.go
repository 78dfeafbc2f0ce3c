package millrace_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// table reads a topic of one partition from its start to its last record, as those do who keep a table of it.
func table(t *testing.T, c *kgo.Client, topic string, end int64) (records int, values map[string]string) {
	t.Helper()
	values = map[string]string{}
	c.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}})
	defer c.PurgeTopicsFromConsuming(topic)
	at := int64(0)
	for ctx := soon(t); at < end; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			records++
			if values[string(r.Key)] = string(r.Value); r.Value == nil {
				delete(values, string(r.Key))
			}
			at = r.Offset + 1
		})
	}
	return records, values
}

// Many versions of few keys, in every codec: the latest of each is what is left, under the offsets they had; then keys
// are deleted, and nothing of them is left.
func TestCompaction(t *testing.T) {
	s := open(t, 3)
	t.Run("codecs", func(t *testing.T) {
		for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
			"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := client(t, s, kgo.ProducerBatchCompression(codec))
				_, err := kadm.NewClient(c).CreateTopic(soon(t), 1, 3, map[string]*string{"cleanup.policy": new("compact"), "segment.ms": new("200"),
					"min.cleanable.dirty.ratio": new("0.01"), "delete.retention.ms": new("500")}, name)
				if err != nil {
					t.Fatal(err)
				}
				compactionOf(t, c, name)
			})
		}
	})
	if n := s.RecordBytes(); n > 3<<20 { // of 5 MB written to three replicas, five times
		t.Errorf("%d bytes of memory are in use", n)
	}
}

func compactionOf(t *testing.T, c *kgo.Client, topic string) {
	const keys, versions = 40, 500
	want, written := map[string]string{}, int64(0)
	write := func(key, value string) {
		r := &kgo.Record{Topic: topic, Key: []byte(key)}
		if delete(want, key); value != "" {
			r.Value, want[key] = []byte(value), value
		}
		written++
		c.Produce(soon(t), r, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	flush := func() {
		t.Helper()
		if err := c.Flush(soon(t)); err != nil {
			t.Fatal(err)
		}
	}
	for v := range versions {
		for k := range keys {
			write(fmt.Sprint("key ", k), fmt.Sprintf("version %d of %d, %s", v, k, strings.Repeat("x", 200)))
		}
	}
	flush()
	awaitTable(t, c, topic, written, keys, want)
	for k := range keys - 1 {
		write(fmt.Sprint("key ", k), "")
	}
	write(fmt.Sprint("key ", keys-1), "what table waits for")
	flush()
	awaitTable(t, c, topic, written, 1, want)
	err := c.ProduceSync(soon(t), &kgo.Record{Topic: topic, Value: []byte("without a key")}).FirstErr()
	if !errors.Is(err, kerr.InvalidRecord) {
		t.Errorf("a record without a key: %v", err)
	}
}

// awaitTable waits until so many records are left; what they say is right at all times.
func awaitTable(t *testing.T, c *kgo.Client, topic string, end int64, records int, want map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(soon(t), 20*time.Second)
	defer cancel()
	for {
		n, got := table(t, c, topic, end)
		if !maps.Equal(got, want) {
			t.Fatalf("keys %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
		if n == records {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%d records are left, want %d", n, records)
		}
	}
}

// Of transactions what was committed last is left, for who reads committed records only and for who reads all: the records
// of aborted ones are gone.
func TestCompactionOfTransactions(t *testing.T) {
	const keys = 10
	s := open(t, 3)
	c := client(t, s, kgo.TransactionalID("compacted"), kgo.FetchIsolationLevel(kgo.ReadUncommitted()))
	_, err := kadm.NewClient(c).CreateTopic(soon(t), 1, 3, map[string]*string{"cleanup.policy": new("compact"), "segment.ms": new("200"),
		"min.cleanable.dirty.ratio": new("0.01"), "delete.retention.ms": new("200")}, "t")
	if err != nil {
		t.Fatal(err)
	}
	want, end := map[string]string{}, int64(0)
	transaction := func(value string, commit kgo.TransactionEndTry) {
		t.Helper()
		if err := c.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for k := range keys {
			key := fmt.Sprint("key ", k)
			r, err := c.ProduceSync(soon(t), &kgo.Record{Topic: "t", Key: []byte(key), Value: []byte(value)}).First()
			if err != nil {
				t.Fatal(err)
			}
			if commit {
				want[key], end = value, r.Offset+1
			}
		}
		if err := c.EndTransaction(soon(t), commit); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		transaction(fmt.Sprint("committed ", i), kgo.TryCommit)
		transaction(fmt.Sprint("aborted ", i), kgo.TryAbort)
	}
	transaction("last", kgo.TryCommit)
	committed := client(t, s, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	awaitTable(t, committed, "t", end, keys, want)
	awaitTable(t, c, "t", end, keys, want)
	for id := range int32(3) { // whoever leads, nothing is left open
		transaction(fmt.Sprint("once more ", id), kgo.TryCommit)
	}
	awaitTable(t, committed, "t", end, keys, want)
}
