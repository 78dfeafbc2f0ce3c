package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"millrace"
	"millrace/config"
)

// serverFlags are the flags of `millrace server`.
type serverFlags struct {
	config   string
	set      []string
	brokers  int
	commands string
	named    map[string]*string // values of flags that stand for a setting, by its name
}

// settingFlags are the flags that stand for a setting each.
var settingFlags = []struct{ flag, setting, usage string }{
	{"name", "millrace.node.name", "this `process` among those of --cluster"},
	{"cluster", "millrace.cluster", "all processes of the cluster, each with an etcd for the metadata: `name=host:port,…`"},
	{"listeners", "listeners", "where the first broker listens: `PLAINTEXT://host:port`"},
	{"data-dir", "millrace.data.dir", "`folder` of this process' etcd (metadata only); without it, a temporary one"},
	{"etcd-endpoints", "millrace.etcd.endpoints", "an etcd that runs elsewhere, instead of --cluster: `url,…`"},
}

func newServerCommand() *cobra.Command {
	var f serverFlags
	c := &cobra.Command{
		Use:   "server",
		Short: "Start brokers and the control port",
		Long: `Start a server: the central server that holds the metadata, a number of brokers, and the control port.

The first broker listens on the first of 'listeners' (127.0.0.1:9092 if there is none), each further one on the next
port. More brokers are created and removed while it runs: see 'millrace console'.

Several processes form one cluster, on one machine or on several. Each is started with the same --cluster:

  millrace server --name a --cluster a=10.0.0.1:2380,b=10.0.0.2:2380,c=10.0.0.3:2380 --listeners PLAINTEXT://10.0.0.1:9092

They wait for each other, the first time for all, later for a majority. To stop one (SIGTERM) drains it first: others take
over what it leads. A second signal stops it at once.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runServer(c, &f) },
	}
	c.Flags().StringVar(&f.config, "config", "", "`file` with Kafka-style properties")
	c.Flags().StringArrayVar(&f.set, "set", nil, "`name=value` on top of file and environment; may be given many times")
	c.Flags().StringArrayVar(&f.set, "override", nil, "the same, as kafka-server-start.sh calls it")
	f.named = map[string]*string{}
	for _, n := range settingFlags {
		f.named[n.setting] = c.Flags().String(n.flag, "", n.usage)
	}
	c.Flags().IntVar(&f.brokers, "brokers", 1, "how many brokers to create at the start")
	c.Flags().StringVar(&f.commands, "commands", "", "`file` of console commands to carry out once the brokers are there")
	return c
}

// overrides are the settings of the command line; --set stands above the flags that have a name of their own.
func (f *serverFlags) overrides(c *cobra.Command) (all []string) {
	for _, n := range settingFlags {
		if c.Flags().Changed(n.flag) {
			all = append(all, n.setting+"="+*f.named[n.setting])
		}
	}
	return append(all, f.set...)
}

func runServer(c *cobra.Command, f *serverFlags) error {
	cfg, report, err := config.Load(config.Input{File: f.config, Environ: os.Environ(), Overrides: f.overrides(c)})
	if err != nil {
		return err
	}
	log, level, err := newLogger(cfg)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }()
	tellReport(log, report)

	// Before anybody can learn that we are there, and stop us again.
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if cfg.Cluster.Several() {
		notify(log, "STATUS=waiting for the cluster's metadata")
	}
	s, err := millrace.OpenContext(ctx, millrace.Options{Config: cfg, Log: log, LogLevel: level})
	switch {
	case err != nil && ctx.Err() != nil:
		log.Info("stopped while waiting", zap.Error(err))
		return nil
	case err != nil:
		return err
	}
	closed := false
	defer func() {
		if !closed {
			_ = s.Close()
		}
	}()
	if err := serve(ctx, c, s, cfg, f, log); err != nil {
		return err
	}
	notify(log, daemon.SdNotifyStopping)
	log.Info("stopping")
	closed = true
	return shutDown(s, cfg, log)
}

// serve starts what the server consists of, and returns when it is to stop, or can't go on.
func serve(ctx context.Context, c *cobra.Command, s *millrace.Server, cfg *config.Config, f *serverFlags, log *zap.Logger) error {
	if err := startBrokers(s, cfg, f.brokers); err != nil {
		return err
	}
	control, err := s.OpenControl()
	if err != nil {
		return err
	}
	profiles, err := s.OpenHTTP()
	if err != nil {
		return err
	}
	if !s.Ready() {
		log.Info("waiting until this broker's replicas are in sync", zap.String("control", control), zap.String("http", profiles))
		notify(log, "STATUS=waiting until the replicas are in sync")
		if err := s.AwaitReady(ctx); err != nil {
			return nil // asked to stop
		}
	}
	log.Info("ready", zap.String("bootstrap.servers", s.Bootstrap()), zap.String("control", control), zap.String("http", profiles),
		zap.String("version", version))
	if err := feedCommands(ctx, s, f.commands, c.OutOrStdout()); err != nil {
		return err
	}
	defer forgetStartPages(log)()
	notify(log, daemon.SdNotifyReady+"\nSTATUS=serving "+s.Bootstrap())
	select {
	case <-ctx.Done():
		return nil
	case <-s.Failed():
		return s.Err()
	}
}

// shutDown drains the brokers, if there is a cluster to take over, and stops. A second signal ends the drain.
func shutDown(s *millrace.Server, cfg *config.Config, log *zap.Logger) error {
	again, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(again, time.Duration(cfg.DrainTimeoutMs)*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		log.Error("close", zap.Error(err))
	}
	return nil
}

// startBrokers creates the first brokers, one port after the other.
func startBrokers(s *millrace.Server, cfg *config.Config, n int) error {
	host, port := "127.0.0.1", 9092
	if len(cfg.Listeners) > 0 {
		host, port = cfg.Listeners[0].Host, int(cfg.Listeners[0].Port)
	}
	for i := range n {
		p := port
		if port != 0 {
			p += i
		}
		if _, err := s.CreateBroker(host, p); err != nil {
			return err
		}
	}
	return nil
}

func tellReport(log *zap.Logger, r *config.Report) {
	for _, w := range r.Warnings {
		log.Warn("configuration", zap.String("detail", w))
	}
	for _, i := range r.Ignored {
		log.Info("configuration has no effect", zap.String("name", i.Name), zap.String("origin", i.Origin),
			zap.String("reason", i.Reason))
	}
}

// notify tells systemd; without systemd it does nothing.
func notify(log *zap.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd notification failed", zap.String("state", state), zap.Error(err))
	}
}

// newLogger builds the log: JSON for machines, or lines for people. The level can be changed while it is written.
func newLogger(cfg *config.Config) (*zap.Logger, *zap.AtomicLevel, error) {
	level, err := zapcore.ParseLevel(strings.ToLower(cfg.LogLevel))
	if err != nil {
		return nil, nil, fmt.Errorf("millrace.log.level: %w", err)
	}
	z := zap.NewProductionConfig()
	z.Level = zap.NewAtomicLevelAt(level)
	z.Sampling = nil
	z.DisableCaller, z.DisableStacktrace = true, true
	z.OutputPaths, z.ErrorOutputPaths = []string{"stderr"}, []string{"stderr"}
	z.EncoderConfig.EncodeTime = zapcore.ISO8601TimeEncoder
	if strings.ToLower(cfg.LogFormat) != "json" {
		z.Encoding = "console"
		z.EncoderConfig.EncodeLevel = zapcore.CapitalLevelEncoder
	}
	log, err := z.Build()
	return log, &z.Level, err
}
