package load

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"millrace/bench/floor"
	"millrace/bench/proc"
	"millrace/bench/wire"
)

// startFloor runs a floor in this process until the test ends.
func startFloor(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- floor.Run(ctx, floor.Options{Addr: addr, RetainBytes: 16 << 20, ShelfBytes: 4 << 20, BatchBytes: 64 << 10,
			RecordBytes: 1 << 10, Partitions: 16, Ready: func() { close(ready) }})
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return addr
}

// spec is a short load on a new topic.
func spec(t *testing.T, addr string, partitions int) Spec {
	t.Helper()
	c, err := wire.Dial(addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	topic, err := c.CreateTopic(wire.TopicSpec{Name: "load", Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Bootstrap: addr, Topic: topic, Partitions: partitions, Connections: 4, Depth: 4, RecordBytes: 1 << 10,
		BatchBytes: 16 << 10, Acks: 1, FetchBytes: 128 << 10, Warm: 50 * time.Millisecond, Run: 200 * time.Millisecond,
		Usage: func() proc.Usage { return proc.Read(os.Getpid()) }}
}

func TestProduce(t *testing.T) {
	tests := []struct {
		name string
		with func(*Spec)
	}{
		{"as fast as it goes", func(*Spec) {}},
		{"single records", func(s *Spec) { s.BatchBytes = 100; s.RecordBytes = 100 }},
		{"at a rate", func(s *Spec) { s.Rate = 1000 }},
		{"filled first, then at a rate", func(s *Spec) { s.Rate = 1000; s.FillBytes = 8 << 20 }},
		{"idempotent", func(s *Spec) { s.Idempotent = true; s.Acks = -1 }},
		{"without answers", func(s *Spec) { s.Acks = 0 }},
		{"compressed", func(s *Spec) { s.Codec = "lz4" }},
		{"more connections than partitions", func(s *Spec) { s.Connections = 40 }},
		{"so many bytes", func(s *Spec) { s.BytesMax = 1 << 20; s.Run = time.Minute }},
	}
	addr := startFloor(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := spec(t, addr, 8)
			tt.with(&s)
			r, err := Produce(context.Background(), s)
			if err != nil {
				t.Fatal(err)
			}
			if r.Requests == 0 || r.Records != r.Requests*int64(s.records()) || r.Bytes == 0 || r.Server.CPU <= 0 {
				t.Errorf("%+v", r)
			}
			if r.Latency.TotalCount() == 0 || r.OpenLoop != (s.Rate > 0) || r.Unanswered > 0 {
				t.Errorf("latency: %d values, open loop %v, unanswered %d", r.Latency.TotalCount(), r.OpenLoop, r.Unanswered)
			}
			if due := s.Rate * r.Span.Seconds(); s.Rate > 0 && float64(r.Requests) > 1.5*due+100 {
				t.Errorf("%d requests where %.0f were due", r.Requests, due)
			}
		})
	}
}

func TestFetch(t *testing.T) {
	addr := startFloor(t)
	s := spec(t, addr, 8)
	r, err := Fetch(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Records == 0 || r.Records%64 != 0 || r.Bytes < r.Records<<10 {
		t.Errorf("%+v", r)
	}
}

func TestEcho(t *testing.T) {
	addr := startFloor(t)
	s := spec(t, addr, 8)
	s.Rate, s.BatchBytes = 2000, 64
	r, err := Echo(context.Background(), s, floor.KeyEcho, floor.EchoBytes)
	if err != nil {
		t.Fatal(err)
	}
	if r.Latency.TotalCount() < 100 {
		t.Errorf("%d latencies", r.Latency.TotalCount())
	}
}
