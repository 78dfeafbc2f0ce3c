package broker_test

import (
	"testing"

	"millrace/broker"
	"millrace/broker/brokertest"
)

// BenchmarkProduce is one batch of 1 KiB through the whole of package broker; with three replicas until all have it.
func BenchmarkProduce(b *testing.B) {
	for _, run := range []struct {
		name     string
		replicas int16
		acks     int16
	}{{"RF 1", 1, 1}, {"RF 3 acks=1", 3, 1}, {"RF 3 acks=all", 3, broker.AcksAll}} {
		b.Run(run.name, func(b *testing.B) {
			retention := "1048576"
			c := brokertest.New(b, 3, "replica.lag.time.max.ms=600000")
			c.CreateReplicated("t", 1, run.replicas, map[string]*string{"retention.bytes": &retention})
			leader, p := c.Leader("t", 0)
			data := batch(b, plain, 40)
			done := make(chan struct{}, 1)
			op := &broker.Produce{Acks: run.acks, TimeoutMs: 1000, Parts: make([]broker.AppendPart, 1),
				Done: func(op *broker.Produce) {
					if op.Parts[0].Err != nil {
						b.Error(op.Parts[0].Err)
					}
					done <- struct{}{}
				}}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				op.Parts[0] = broker.AppendPart{Partition: p, Batch: data}
				op.Start(leader)
				<-done
			}
		})
	}
}
