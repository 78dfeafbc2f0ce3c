package e2e

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// From process start to the first acknowledged produce: the process is started, the address is polled, and one record
// is produced to a topic that does not exist yet. The figure is printed; it may take a second on a loaded machine.
func TestFirstProduce(t *testing.T) {
	if External() {
		t.Skip("needs a process of its own")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	var took []time.Duration
	for range 5 {
		took = append(took, firstProduce(t, addr))
	}
	best := took[0]
	for _, d := range took {
		best = min(best, d)
	}
	t.Logf("process start to first acknowledged produce: best of %d %v (all: %v)", len(took), best, took)
	if best > time.Second {
		t.Errorf("%v is more than a second", best)
	}
}

func firstProduce(t *testing.T, addr string) time.Duration {
	t.Helper()
	began := time.Now()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	server := Launch(t, Program{Args: []string{path, "server", "--set", "listeners=PLAINTEXT://" + addr,
		"--set", "control.listener="}, Env: []string{"MILLRACE_LOG_LEVEL=error"}})
	defer server.Wait(t, 10*time.Second)
	defer server.Signal(15)
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "first", Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// 10,000 connections that have asked for the versions cost memory, and no goroutines; then 1,000 of them produce.
func TestTenThousandConnections(t *testing.T) {
	if External() {
		t.Skip("reads the process's figures")
	}
	const open, producing = 9_000, 1_000 // together with the clients' ends they stay below 20,000 files
	s := Start(t, Options{Brokers: 1, Set: map[string]string{"num.partitions": "8"}})
	s.Command(t, "CREATE_TOPIC many 8")
	idle, before := goroutines(t, s), s.RSS(t)
	var conns []*Conn
	for range open + producing {
		c := Dial(t, s.Bootstrap[0])
		conns = append(conns, c)
		c.Versions()
	}
	after, now := s.RSS(t), goroutines(t, s)
	t.Logf("%d connections that have sent ApiVersions: %.2f KiB each; %d goroutines, %d without them", len(conns),
		float64(after-before)/float64(len(conns))/1024, now, idle)
	if now > idle+20 {
		t.Errorf("%d goroutines, %d with no connection", now, idle)
	}
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			for _, c := range conns[i*producing/20 : (i+1)*producing/20] {
				for partition := range int32(8) {
					batch := NewBatch(Record{Key: []byte("k"), Value: []byte("v")}).Encode(t)
					if p := Produce(c, 9, "many", partition, batch); p.ErrorCode != 0 {
						t.Errorf("produce: error %d", p.ErrorCode)
					}
				}
			}
		})
	}
	wait.Wait()
	if row := s.Command(t, "TOPICS"); !strings.Contains(row, fmt.Sprint(8*producing)) {
		t.Errorf("%d records were produced: %s", 8*producing, row)
	}
}

// goroutines reads the figure from STATUS.
func goroutines(t *testing.T, s *Server) (n int) {
	t.Helper()
	_, rest, _ := strings.Cut(s.Command(t, "STATUS"), "goroutines")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
