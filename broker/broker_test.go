package broker_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace/broker"
	"millrace/broker/brokertest"
	"millrace/protocol/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster adds to a brokertest.Cluster what the tests of this package ask of it.
type cluster struct{ *brokertest.Cluster }

func newCluster(t *testing.T, brokers int, set ...string) *cluster {
	t.Helper()
	return &cluster{brokertest.New(t, brokers, set...)}
}

// batch builds a batch of n records.
func batch(t testing.TB, o record.Options, n int) record.Batch {
	t.Helper()
	var b record.Builder
	b.Reset(o)
	for i := range n {
		b.Append(record.Record{Timestamp: time.Now().UnixMilli(), Value: fmt.Appendf(nil, "value %d", i)})
	}
	return slices.Clone(b.Bytes())
}

// produce appends one batch and returns its part.
func (c *cluster) produce(topic string, index int32, b record.Batch) broker.AppendPart {
	c.Helper()
	leader, p := c.Leader(topic, index)
	done := make(chan broker.AppendPart, 1)
	op := &broker.Produce{Acks: 1, Parts: []broker.AppendPart{{Partition: p, Batch: b}},
		Done: func(op *broker.Produce) { done <- op.Parts[0] }}
	op.Start(leader)
	return <-done
}

// fetched is what a fetch of one partition found.
type fetched struct {
	err    error
	high   int64
	bytes  int
	values []string
}

func (c *cluster) fetch(topic string, index int32, from int64, minBytes int, maxWait time.Duration) fetched {
	c.Helper()
	leader, p := c.Leader(topic, index)
	done := make(chan fetched, 1)
	startFetch(leader, p, from, minBytes, maxWait, done)
	return <-done
}

func startFetch(b *broker.Broker, p *broker.Partition, from int64, minBytes int, maxWait time.Duration,
	done chan fetched) *broker.Fetch {
	op := &broker.Fetch{MaxWait: maxWait, BytesMin: minBytes, BytesMax: 1 << 20,
		Parts: []broker.FetchPart{{Partition: p, LeaderEpoch: -1, Offset: from, BytesMax: 1 << 20}}}
	op.Done = func(op *broker.Fetch) {
		part := &op.Parts[0]
		f := fetched{err: part.Err, high: part.HighWatermark, bytes: op.Bytes}
		for _, v := range op.Views {
			f.values = append(f.values, values(v.Bytes)...)
			v.Slab.Release()
		}
		op.Views = nil
		done <- f
	}
	op.Start(b)
	return op
}

func values(b []byte) (all []string) {
	for len(b) > 0 {
		var one record.Batch
		var err error
		if one, b, err = record.Next(b); err != nil {
			return append(all, err.Error())
		}
		var s record.Scratch
		_ = one.Each(&s, func(r record.Record) error {
			all = append(all, string(r.Value))
			return nil
		})
	}
	return all
}
