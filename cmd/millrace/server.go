package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

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
}

func newServerCommand() *cobra.Command {
	var f serverFlags
	c := &cobra.Command{
		Use:   "server",
		Short: "Start brokers and the control port",
		Long: `Start a server: the central server that holds the metadata, a number of brokers, and the control port.

The first broker listens on the first of 'listeners' (127.0.0.1:9092 if there is none), each further one on the next
port. More brokers are created and removed while it runs: see 'millrace console'.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runServer(c, &f) },
	}
	c.Flags().StringVar(&f.config, "config", "", "`file` with Kafka-style properties")
	c.Flags().StringArrayVar(&f.set, "set", nil, "`name=value` on top of file and environment; may be given many times")
	c.Flags().StringArrayVar(&f.set, "override", nil, "the same, as kafka-server-start.sh calls it")
	c.Flags().IntVar(&f.brokers, "brokers", 1, "how many brokers to create at the start")
	c.Flags().StringVar(&f.commands, "commands", "", "`file` of console commands to carry out once the brokers are there")
	return c
}

func runServer(c *cobra.Command, f *serverFlags) error {
	cfg, report, err := config.Load(config.Input{File: f.config, Environ: os.Environ(), Overrides: f.set})
	if err != nil {
		return err
	}
	log, err := newLogger(cfg)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }()
	tellReport(log, report)

	// Before anybody can learn that we are there, and stop us again.
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := millrace.Open(millrace.Options{Config: cfg, Log: log})
	if err != nil {
		return err
	}
	defer func() {
		if err := s.Close(); err != nil {
			log.Error("close", zap.Error(err))
		}
	}()
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
	log.Info("ready", zap.String("bootstrap.servers", s.Bootstrap()), zap.String("control", control), zap.String("http", profiles),
		zap.String("version", version))
	if err := feedCommands(ctx, s, f.commands, c.OutOrStdout()); err != nil {
		return err
	}
	notify(log, daemon.SdNotifyReady)
	<-ctx.Done()
	notify(log, daemon.SdNotifyStopping)
	log.Info("stopping")
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

// newLogger builds the log: JSON for machines, or lines for people.
func newLogger(cfg *config.Config) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(strings.ToLower(cfg.LogLevel))
	if err != nil {
		return nil, fmt.Errorf("millrace.log.level: %w", err)
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
	return z.Build()
}
