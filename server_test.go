package millrace_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"millrace"
	"millrace/config"
)

// gnet's worker pool is a global of its dependency and lives as long as the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

// open starts a server with brokers on free ports of the loopback.
func open(t testing.TB, brokers int, set ...string) *millrace.Server {
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
	for range brokers {
		if _, err := s.CreateBroker("127.0.0.1", 0); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// client is a franz-go client of the server.
func client(t testing.TB, s *millrace.Server, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(s.Bootstrap(), ",")...), kgo.AllowAutoTopicCreation()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestProduceAndConsume(t *testing.T) {
	const n = 10_000
	s := open(t, 3, "num.partitions=6")
	c := client(t, s, kgo.ConsumeTopics("t"))
	for i := range n {
		c.Produce(soon(t), &kgo.Record{Topic: "t", Key: fmt.Appendf(nil, "key %d", i%100), Value: fmt.Appendf(nil, "%d", i)},
			func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
	}
	if err := c.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for ctx := soon(t); len(seen) < n; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { seen[string(r.Value)] = true })
	}
}

func TestHTTP(t *testing.T) {
	s := open(t, 1, "http.listener=127.0.0.1:0")
	addr, err := s.OpenHTTP()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/healthz", "/readyz", "/debug/pprof/goroutine?debug=1", "/debug/pprof/heap"} {
		resp, err := client.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
}

func TestHTTPIsOfTheLoopback(t *testing.T) {
	if _, _, err := config.Load(config.Input{Overrides: []string{"http.listener=0.0.0.0:9091"}}); err == nil {
		t.Error("http.listener=0.0.0.0:9091 was accepted")
	}
}
