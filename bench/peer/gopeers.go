package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func floorPeer() *Peer {
	return &Peer{Name: "floor", Speaks: Kafka, About: "the least a server could do for the same work (bench/floor)",
		Prepare: func(_ context.Context, c *Config) (string, error) {
			if len(c.Self) == 0 {
				return "", errors.New("the floor's command isn't known")
			}
			return "", nil
		},
		start: func(_ context.Context, c *Config, n Needs) (*Target, error) {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			t, err := launch("floor", func(string) ([]string, error) {
				args := append([]string{}, c.Self...)
				args = append(args, "--addr", loopback(port), "--retain", strconv.Itoa(max(n.RetainBytes, 8<<20)), "--shelf",
					strconv.Itoa(max(n.ShelfBytes, 1<<20)), "--batch", strconv.Itoa(max(n.BatchBytes, 1<<10)), "--record",
					strconv.Itoa(max(n.RecordBytes, 100)), "--partitions", strconv.Itoa(max(n.Partitions, 64)))
				if n.Fresh {
					args = append(args, "--fresh")
				}
				return args, nil
			})
			if err != nil {
				return nil, err
			}
			t.Bootstrap = loopback(port)
			return t, nil
		}}
}

// httpSetting is Millrace's address for metrics and profiles. A server that doesn't know the name only warns.
const httpSetting = "http.listener"

func millracePeer() *Peer {
	return &Peer{Name: "millrace", Speaks: Kafka, About: "one broker of `millrace server`",
		Prepare: func(ctx context.Context, c *Config) (string, error) {
			if c.Millrace == "" {
				return "", errors.New("the binary isn't known: --millrace PATH")
			}
			out, err := exec.CommandContext(ctx, c.Millrace, "version").Output()
			if err != nil {
				return "", fmt.Errorf("%s version: %w", c.Millrace, err)
			}
			return strings.TrimSpace(string(out)), nil
		},
		start: func(_ context.Context, c *Config, n Needs) (*Target, error) {
			ports, err := freePorts(2)
			if err != nil {
				return nil, err
			}
			settings := append([]string{"log.retention.check.interval.ms=100", "group.initial.rebalance.delay.ms=0"},
				c.MillraceSettings...)
			t, err := launch("millrace", func(string) ([]string, error) {
				args := []string{c.Millrace, "server", "--brokers", "1"}
				own := []string{"listeners=PLAINTEXT://" + loopback(ports[0]), "control.listener=",
					httpSetting + "=" + loopback(ports[1])}
				for _, s := range append(own, settings...) {
					args = append(args, "--set", s)
				}
				return args, nil
			})
			if err != nil {
				return nil, err
			}
			t.Bootstrap, t.HTTP, t.Settings = loopback(ports[0]), loopback(ports[1]), settings
			return t, nil
		}}
}

func kfakePeer() *Peer {
	return &Peer{Name: "kfake", Speaks: Kafka, About: "franz-go's fake Kafka cluster, one broker",
		Prepare: func(ctx context.Context, c *Config) (string, error) {
			return buildModule(ctx, c, "kfake", ".", "github.com/twmb/franz-go/pkg/kfake")
		},
		start: func(_ context.Context, c *Config, n Needs) (*Target, error) {
			ports, err := freePorts(2)
			if err != nil {
				return nil, err
			}
			t, err := launch("kfake", func(string) ([]string, error) {
				return []string{built(c, "kfake"), "-port", strconv.Itoa(ports[0]), "-http", loopback(ports[1])}, nil
			})
			if err != nil {
				return nil, err
			}
			t.Bootstrap, t.HTTP = loopback(ports[0]), loopback(ports[1])
			return t, nil
		}}
}

func natsPeer() *Peer {
	return &Peer{Name: "nats", Speaks: NATS, About: "NATS server with JetStream, streams in memory",
		Prepare: func(ctx context.Context, c *Config) (string, error) {
			return buildModule(ctx, c, "nats", "github.com/nats-io/nats-server/v2", "github.com/nats-io/nats-server/v2")
		},
		start: func(_ context.Context, c *Config, n Needs) (*Target, error) {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			t, err := launch("nats", func(dir string) ([]string, error) {
				return []string{built(c, "nats"), "-a", "127.0.0.1", "-p", strconv.Itoa(port), "-js", "-sd", dir}, nil
			})
			if err != nil {
				return nil, err
			}
			t.Bootstrap, t.Settings = loopback(port), []string{"JetStream, storage=memory, replicas=1"}
			return t, nil
		}}
}

func redisPeer() *Peer {
	return &Peer{Name: "redis", Speaks: RESP, About: "Debian's redis-server, streams, no persistence",
		Prepare: func(ctx context.Context, _ *Config) (string, error) {
			out, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
			if err != nil {
				return "", fmt.Errorf("redis-server: %w (Debian: apt-get install redis-server)", err)
			}
			for _, f := range strings.Fields(string(out)) {
				if v, ok := strings.CutPrefix(f, "v="); ok {
					return v, nil
				}
			}
			return "", nil
		},
		start: func(_ context.Context, c *Config, n Needs) (*Target, error) {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			t, err := launch("redis", func(string) ([]string, error) {
				return []string{"redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "",
					"--appendonly", "no", "--maxclients", "15000"}, nil
			})
			if err != nil {
				return nil, err
			}
			t.Bootstrap, t.Settings = loopback(port), []string{"save=''", "appendonly=no", "maxclients=15000"}
			return t, nil
		}}
}

func built(c *Config, name string) string { return filepath.Join(c.Cache, name) }

// buildModule builds a package of a nested module and gives the version of the module that matters.
func buildModule(ctx context.Context, c *Config, name, pkg, module string) (version string, err error) {
	dir := filepath.Join(c.Modules, name)
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return "", fmt.Errorf("%w: run from the source tree, or name bench/peers with --peers", err)
	}
	if err := os.MkdirAll(c.Cache, 0o755); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", built(c, name), pkg)
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", module)
	list.Dir, list.Env = dir, build.Env
	out, err := list.Output()
	return strings.TrimSpace(string(out)), err
}
