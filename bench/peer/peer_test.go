package peer

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLaunch(t *testing.T) {
	target, err := launch("test", func(dir string) ([]string, error) {
		return []string{"sh", "-c", "echo hello; sleep 60"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !target.Alive() || len(target.Pids) != 1 {
		t.Errorf("%+v", target)
	}
	dir := target.dir
	target.Stop()
	if target.Alive() {
		t.Error("alive after Stop")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
}

func TestAProcessThatDiesSaysWhy(t *testing.T) {
	target, err := launch("test", func(dir string) ([]string, error) {
		return []string{"sh", "-c", "echo no such port >&2; exit 3"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Stop()
	target.Speaks, target.Bootstrap = RESP, "127.0.0.1:1"
	if err := target.AwaitReady(context.Background()); err == nil || !strings.Contains(err.Error(), "no such port") {
		t.Errorf("error: %v", err)
	}
}

func TestACommandThatIsNotThere(t *testing.T) {
	if target, err := launch("test", func(string) ([]string, error) { return []string{"/no/such/binary"}, nil }); err == nil {
		target.Stop()
		t.Error("no error")
	}
}

func TestGoroutines(t *testing.T) {
	pages := map[string]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(page))
	}))
	defer s.Close()
	defer http.DefaultClient.CloseIdleConnections()
	target := External("127.0.0.1:1", nil, strings.TrimPrefix(s.URL, "http://"))
	if n, ok := target.Goroutines(); ok {
		t.Errorf("%d goroutines out of nowhere", n)
	}
	pages["/debug/pprof/goroutine"] = "goroutine profile: total 17\n1 @ 0x1\n"
	if n, ok := target.Goroutines(); n != 17 || !ok {
		t.Errorf("%d, %v", n, ok)
	}
	pages["/metrics"] = "# HELP go_goroutines x\n# TYPE go_goroutines gauge\ngo_goroutines 23\n"
	if n, ok := target.Goroutines(); n != 23 || !ok {
		t.Errorf("%d, %v", n, ok)
	}
	if _, ok := External("127.0.0.1:1", nil, "").Goroutines(); ok {
		t.Error("goroutines without an endpoint")
	}
}

func TestNames(t *testing.T) {
	for _, p := range All() {
		if got, err := ByName(p.Name); err != nil || got.Speaks != p.Speaks || p.About == "" {
			t.Errorf("%s: %+v, %v", p.Name, got, err)
		}
	}
	if _, err := ByName("pulsar"); err == nil || !strings.Contains(err.Error(), "redis") {
		t.Errorf("error: %v", err)
	}
	if v := kafkaVersion(); !strings.HasPrefix(v, "4.") {
		t.Errorf("Apache Kafka %q", v)
	}
	if ports, err := freePorts(3); err != nil || ports[0] == ports[1] || ports[1] == ports[2] {
		t.Errorf("%v, %v", ports, err)
	}
}
