package link_test

import (
	"context"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace"
	"millrace/broker/link"
	"millrace/config"
)

// gnet's worker pool is a global of its dependency and lives as long as the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

// open starts a server with one broker on a free port of the loopback.
func open(t testing.TB, set ...string) (*millrace.Server, millrace.BrokerInfo) {
	t.Helper()
	cfg, _, err := config.Load(config.Input{Overrides: append([]string{"millrace.memory.max=256m"}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := millrace.Open(millrace.Options{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b, err := s.CreateBroker("127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	return s, b
}

// watch gives what a watcher tells, in order.
func watch(t *testing.T, address string, dial link.Dial) <-chan string {
	told := make(chan string, 100)
	w := link.Watch(link.WatchOptions{Address: address, Dial: dial,
		Up: func() { told <- "up" }, Refused: func() { told <- "refused" }})
	t.Cleanup(w.Close)
	return told
}

func hear(t *testing.T, told <-chan string, want string) {
	t.Helper()
	select {
	case got := <-told:
		if got != want {
			t.Fatalf("told %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%q was not told", want)
	}
}

// A broker that goes is refused once, one that comes back at its address is up.
func TestWatch(t *testing.T) {
	s, b := open(t)
	told := watch(t, b.Addr, nil)
	hear(t, told, "up")
	host, port, _ := net.SplitHostPort(b.Addr)
	number, _ := strconv.Atoi(port)
	for range 2 {
		began := time.Now()
		if err := s.RemoveBroker(b.ID); err != nil {
			t.Fatal(err)
		}
		hear(t, told, "refused")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("noticed after %v", took)
		}
		var err error
		if b, err = s.CreateBroker(host, number); err != nil {
			t.Fatal(err)
		}
		hear(t, told, "up")
	}
}

// An idle connection that the broker closes is dialled again, and nothing is refused.
func TestWatchIdle(t *testing.T) {
	_, b := open(t, "connections.max.idle.ms=200")
	told := watch(t, b.Addr, nil)
	for range 3 {
		hear(t, told, "up")
	}
}

// What never answered isn't refused, nor is what can't be reached; an address that accepts and says nothing isn't up.
func TestWatchSilence(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	s, b := open(t)
	var attempts atomic.Int32
	told := watch(t, b.Addr, func(ctx context.Context, address string) (net.Conn, error) {
		var d net.Dialer
		switch n := attempts.Add(1); {
		case n <= 2: // refused, but it was never there
			return d.DialContext(ctx, "tcp", "127.0.0.1:1")
		case n == 3: // nobody answers
			return d.DialContext(ctx, "tcp", free.Addr().String())
		case n == 4:
			return d.DialContext(ctx, "tcp", address)
		default: // out of reach
			return nil, os.ErrDeadlineExceeded
		}
	})
	go func() {
		if conn, err := free.Accept(); err == nil {
			conn.Close()
		}
	}()
	hear(t, told, "up")
	if err := s.RemoveBroker(b.ID); err != nil {
		t.Fatal(err)
	}
	for attempts.Load() < 7 {
		time.Sleep(time.Millisecond)
	}
	select {
	case got := <-told:
		t.Fatalf("told %q", got)
	default:
	}
}

// Close ends a watcher whatever it is doing.
func TestWatchClose(t *testing.T) {
	_, b := open(t)
	dialling := make(chan struct{}, 1)
	for name, dial := range map[string]link.Dial{
		"connected": nil,
		"dialling": func(ctx context.Context, _ string) (net.Conn, error) {
			dialling <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		up := make(chan struct{}, 1)
		w := link.Watch(link.WatchOptions{Address: b.Addr, Dial: dial, Up: func() { up <- struct{}{} }, Refused: func() {}})
		select {
		case <-up:
		case <-dialling:
		case <-time.After(20 * time.Second):
			t.Fatal(name)
		}
		began := time.Now()
		w.Close()
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s: closed in %v", name, took)
		}
	}
}

// TestWatchKnownListener: where somebody is known to have listened, the first refusal tells.
func TestWatchKnownListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	told := make(chan string, 100)
	w := link.Watch(link.WatchOptions{Address: l.Addr().String(), Listens: true,
		Up: func() { told <- "up" }, Refused: func() { told <- "refused" }})
	t.Cleanup(w.Close)
	hear(t, told, "refused")
}
