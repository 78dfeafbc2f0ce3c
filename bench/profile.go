package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"millrace/bench/peer"
)

// profiles are what is fetched while the load runs; the names are those of net/http/pprof.
func profiles(seconds int) []struct{ name, path string } {
	return []struct{ name, path string }{
		{"cpu.pprof", "/debug/pprof/profile?seconds=" + strconv.Itoa(seconds)},
		{"heap.pprof", "/debug/pprof/heap"},
		{"allocs.pprof", "/debug/pprof/allocs"},
		{"block.pprof", "/debug/pprof/block"},
		{"mutex.pprof", "/debug/pprof/mutex"},
		{"goroutine.pprof", "/debug/pprof/goroutine"},
		{"trace.out", "/debug/pprof/trace?seconds=1"},
	}
}

// Profile runs a case against one Millrace and leaves its profiles in a folder. A server without profiles on HTTP gets
// only perf's view of it, if there is perf.
func (r *Runner) Profile(ctx context.Context, c Case, dir string, out io.Writer) error {
	w, err := FindWorkload(c.Workload)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	p, err := peer.ByName("millrace")
	if err != nil {
		return err
	}
	t, err := p.Start(ctx, r.Config, needs(&c.Params))
	if err != nil {
		return err
	}
	defer t.Stop()
	seconds := max(int(c.Params.Run.Seconds())-2, 2)
	c.Params.Run = time.Duration(seconds+6) * time.Second // the profiles come one after the other
	s := &session{Params: c.Params, config: r.Config, target: t}
	defer s.close()
	done := make(chan error, 1)
	go func() {
		_, err := w.run(ctx, s)
		done <- err
	}()
	if err := pause(ctx, c.Params.Warm+time.Second); err != nil {
		return errors.Join(err, <-done)
	}
	err = collect(ctx, t, dir, seconds, out)
	return errors.Join(err, <-done)
}

func collect(ctx context.Context, t *peer.Target, dir string, seconds int, out io.Writer) error {
	for i, f := range profiles(seconds) {
		path := filepath.Join(dir, f.name)
		if err := download(ctx, "http://"+t.HTTP+f.path, path, seconds); err != nil {
			if i == 0 {
				_, _ = fmt.Fprintf(out, "no profiles at %s (%v)\n", t.HTTP, err)
				return perfRecord(ctx, t, dir, seconds, out)
			}
			_, _ = fmt.Fprintf(out, "%s: %v\n", f.name, err)
			continue
		}
		_, _ = fmt.Fprintln(out, path)
	}
	return nil
}

func download(ctx context.Context, url, path string, seconds int) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds+10)*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, res.Body)
	return errors.Join(err, f.Close())
}

// perfRecord samples the process from outside, kernel included.
func perfRecord(ctx context.Context, t *peer.Target, dir string, seconds int, out io.Writer) error {
	path := filepath.Join(dir, "perf.data")
	record := exec.CommandContext(ctx, "perf", "record", "-q", "-g", "-F", "499", "-o", path, "-p", strconv.Itoa(t.Pids[0]), "--",
		"sleep", strconv.Itoa(seconds))
	if b, err := record.CombinedOutput(); err != nil {
		return fmt.Errorf("perf record: %w: %s", err, b)
	}
	_, err := fmt.Fprintf(out, "%s (perf report -i %s)\n", path, path)
	return err
}
