package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace/bench"
	"millrace/bench/floor"
	"millrace/bench/peer"
	"millrace/bench/report"
)

// benchFlags are the flags that all of `millrace bench` shares.
type benchFlags struct {
	targets   []string
	rounds    int
	out       string
	millrace  string
	set       []string
	bootstrap string
	pids      []int
	http      string
	peers     string
	cache     string
	calm      bool
	calls     bool
	quiet     bool
}

func newBenchCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure Millrace, or any broker, against a floor and against peers",
		Long: `Measure Millrace, or any broker, against a floor and against peers.

Each round runs each target once, in turn; medians and ratios over the rounds are told. What is compared with is built
or fetched from package registries and started here, on loopback addresses. 'millrace bench list' shows what there is.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f.register(c.PersistentFlags())
	for _, w := range bench.Workloads() {
		c.AddCommand(newWorkloadCommand(&f, w))
	}
	c.AddCommand(newBenchPresetCommand(&f), newBenchSuiteCommand(&f), newBenchGuardCommand(&f), newBenchReplicationCommand(&f), newBenchProfileCommand(&f),
		newBenchDocsCommand(), newBenchListCommand(), newBenchFloorCommand())
	return c
}

func (f *benchFlags) register(s *pflag.FlagSet) {
	s.StringSliceVar(&f.targets, "targets", []string{"floor", "millrace"}, "targets in the order of their turns; all is every one")
	s.IntVar(&f.rounds, "rounds", 5, "rounds")
	s.StringVar(&f.out, "out", "", "`folder` for results.json, results.csv, .hgrm and .svg files")
	s.StringVar(&f.millrace, "millrace", "", "Millrace `binary` to measure; without it this one")
	s.StringArrayVar(&f.set, "set", nil, "`name=value` for Millrace's server; may be given many times")
	s.StringVar(&f.bootstrap, "bootstrap", "", "`host:port` of a broker that runs already: it is the target")
	s.IntSliceVar(&f.pids, "pid", nil, "its processes, for the figures that are read from them")
	s.StringVar(&f.http, "http", "", "its `host:port` with /metrics or /debug/pprof, for the number of goroutines")
	s.StringVar(&f.peers, "peers", "", "`folder` of the peers' modules; without it bench/peers in this folder or above")
	s.StringVar(&f.cache, "cache", "", "`folder` for what is built and fetched; without it the user's cache")
	s.BoolVar(&f.calm, "calm", false, "before each run wait, three seconds at most, until nobody else uses the machine")
	s.BoolVar(&f.calls, "system-calls", false, "count system calls too, with perf or strace, in runs of their own")
	s.BoolVar(&f.quiet, "quiet", false, "no progress")
}

// runner sets up what the flags say.
func (f *benchFlags) runner(c *cobra.Command) (*bench.Runner, error) {
	cfg, err := f.config(c.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	r := &bench.Runner{Config: cfg, Targets: f.targets, Rounds: f.rounds, Calm: f.calm, Calls: f.calls, Out: c.OutOrStdout()}
	if len(f.targets) == 1 && f.targets[0] == "all" {
		r.Targets = nil
		for _, p := range peer.All() {
			r.Targets = append(r.Targets, p.Name)
		}
	}
	if f.bootstrap != "" {
		r.External = peer.External(f.bootstrap, f.pids, f.http)
		if !c.Flags().Changed("targets") {
			r.Targets = nil
		}
	}
	if !f.quiet {
		r.Progress = &bench.Progress{W: c.ErrOrStderr(), Terminal: isCharDevice(os.Stderr)}
	}
	return r, nil
}

func (f *benchFlags) config(log io.Writer) (*peer.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cfg := &peer.Config{Self: []string{self, "bench", "floor"}, Millrace: f.millrace, MillraceSettings: f.set,
		Cache: f.cache, Modules: f.peers, Log: log}
	if cfg.Millrace == "" {
		cfg.Millrace = self
	} else if cfg.Millrace, err = filepath.Abs(cfg.Millrace); err != nil {
		return nil, err
	}
	if cfg.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		cfg.Cache = filepath.Join(dir, "millrace-bench")
	}
	if cfg.Cache, err = filepath.Abs(cfg.Cache); err != nil {
		return nil, err
	}
	if cfg.Modules == "" {
		cfg.Modules = findPeers()
	}
	return cfg, nil
}

// findPeers looks for bench/peers in the working folder and above.
func findPeers() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		path := filepath.Join(dir, "bench", "peers")
		if s, err := os.Stat(path); err == nil && s.IsDir() {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func isCharDevice(f *os.File) bool {
	s, err := f.Stat()
	return err == nil && s.Mode()&os.ModeCharDevice != 0
}

// run runs cases and writes what was asked for.
func (f *benchFlags) run(c *cobra.Command, cases []bench.Case) (*report.Report, error) {
	r, err := f.runner(c)
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rep, err := r.Run(ctx, benchCommandLine(), cases)
	if rep != nil && f.out != "" && len(rep.Cases) > 0 {
		err = errors.Join(err, report.WriteAll(f.out, rep))
	}
	return rep, err
}

// benchCommandLine is the command as it was given, without the path of the binary.
func benchCommandLine() string {
	return strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " ")
}

// newWorkloadCommand makes a command of a workload, with a flag for each parameter that it looks at.
func newWorkloadCommand(f *benchFlags, w *bench.Workload) *cobra.Command {
	p := w.Defaults()
	c := &cobra.Command{
		Use:   w.Name,
		Short: w.About,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rep, err := f.run(c, []bench.Case{{Name: w.Name, Workload: w.Name, Params: p}})
			return errors.Join(err, perfLines(c.OutOrStdout(), rep))
		},
	}
	paramFlags(c.Flags(), &p)
	return c
}

func paramFlags(s *pflag.FlagSet, p *bench.Params) {
	s.Var(&p.RecordBytes, "record", "bytes of a record as encoded")
	s.Var(&p.BatchBytes, "batch", "bytes of the records of a request")
	s.IntVar(&p.Partitions, "partitions", p.Partitions, "partitions")
	s.IntVar(&p.Topics, "topics", p.Topics, "topics")
	s.IntVar(&p.Connections, "connections", p.Connections, "connections")
	s.IntVar(&p.Depth, "depth", p.Depth, "requests in flight on each connection")
	s.IntVar(&p.Acks, "acks", p.Acks, "0, 1 or -1")
	s.StringVar(&p.Codec, "codec", p.Codec, "none, gzip, snappy, lz4 or zstd")
	s.BoolVar(&p.Idempotent, "idempotent", p.Idempotent, "produce idempotently")
	s.Float64Var(&p.Rate, "rate", p.Rate, "requests a second, an open loop; 0: as fast as the answers come")
	s.Var(&p.FetchBytes, "fetch", "most bytes of a response")
	s.IntVar(&p.Groups, "groups", p.Groups, "readers of everything")
	s.IntVar(&p.Active, "active", p.Active, "connections that produce while the others are idle")
	s.Var(&p.Retain, "retain", "what a server keeps of what is produced")
	s.Var(&p.Backlog, "backlog", "what is written before it is read")
	s.BoolVar(&p.FirstTouch, "first-touch", p.FirstTouch, "measure while memory is touched for the first time")
	s.DurationVar(&p.Warm, "warm", p.Warm, "warm-up")
	s.DurationVar(&p.Run, "run", p.Run, "measured time")
	s.Var(&p.BytesMax, "bytes", "end the measured time after so many bytes; the Java client: how much is sent")
	s.StringVar(&p.Client, "client", p.Client, "raw, franz (franz-go) or java (Kafka's perf tools)")
}

// perfLines prints kafka-producer-perf-test's line for each target that was produced to.
func perfLines(w io.Writer, rep *report.Report) error {
	if rep == nil {
		return nil
	}
	for _, c := range rep.Cases {
		if c.Workload != "produce" {
			continue
		}
		for _, r := range c.Results {
			if line := bench.PerfLine(c, r); line != "" {
				if _, err := fmt.Fprintf(w, "%s: %s\n", r.Target, line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func newBenchPresetCommand(f *benchFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "preset NAME...",
		Short: "Run shapes that people measure brokers with, by name",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, names []string) error {
			var cases []bench.Case
			for _, name := range names {
				p, err := bench.FindPreset(name)
				if err != nil {
					return &usageError{err}
				}
				cases = append(cases, p)
			}
			rep, err := f.run(c, cases)
			return errors.Join(err, perfLines(c.OutOrStdout(), rep))
		},
	}
}

func newBenchFloorCommand() *cobra.Command {
	var o floor.Options
	retain, shelf, batch, record := bench.Size(256<<20), bench.Size(256<<20), bench.Size(64<<10), bench.Size(1<<10)
	c := &cobra.Command{
		Use:   "floor",
		Short: "Serve the floor: the least that a server could do for the same work",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.RetainBytes, o.ShelfBytes, o.BatchBytes, o.RecordBytes = int(retain), int(shelf), int(batch), int(record)
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return floor.Run(ctx, o)
		},
	}
	c.Flags().StringVar(&o.Addr, "addr", "127.0.0.1:9192", "where to listen")
	c.Flags().Var(&retain, "retain", "memory for what is produced")
	c.Flags().Var(&shelf, "shelf", "memory that is fetched from")
	c.Flags().Var(&batch, "batch", "bytes of the records of a fetched batch")
	c.Flags().Var(&record, "record", "bytes of a fetched record")
	c.Flags().IntVar(&o.Partitions, "partitions", 64, "partitions of a topic that wasn't created with its own number")
	c.Flags().BoolVar(&o.Fresh, "fresh", false, "leave memory untouched before the start")
	return c
}

func newBenchListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show workloads, presets, targets and the suite",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return bench.List(c.OutOrStdout()) },
	}
}

func newBenchSuiteCommand(f *benchFlags) *cobra.Command {
	var only []string
	var docs, notes string
	c := &cobra.Command{
		Use:   "suite",
		Short: "Run every case of docs/performance.md, and write it",
		Long: `Run every case of docs/performance.md. With --docs the page is written, its plots into a folder of the same name
beside it. Without --targets every peer that can be had takes part.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("targets") && f.bootstrap == "" {
				f.targets = []string{"all"}
			}
			rep, err := f.run(c, pick(bench.Suite(), only))
			if rep != nil && docs != "" && len(rep.Cases) > 0 {
				err = errors.Join(err, writeDocs(rep, docs, notes))
			}
			return err
		},
	}
	c.Flags().StringSliceVar(&only, "only", nil, "only the cases whose names begin with one of these")
	c.Flags().StringVar(&docs, "docs", "", "the page to write, docs/performance.md")
	c.Flags().StringVar(&notes, "notes", "docs/performance-notes.md", "the hand-kept end of the page")
	return c
}

func pick(cases []bench.Case, only []string) []bench.Case {
	if len(only) == 0 {
		return cases
	}
	var picked []bench.Case
	for _, c := range cases {
		for _, prefix := range only {
			if strings.HasPrefix(c.Name, prefix) {
				picked = append(picked, c)
				break
			}
		}
	}
	return picked
}

// writeDocs writes the page, and its plots into a folder that has its name.
func writeDocs(rep *report.Report, path, notesPath string) (err error) {
	notes, err := os.ReadFile(notesPath)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	plots := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if err := report.WritePlots(filepath.Join(filepath.Dir(path), plots), rep); err != nil {
		return err
	}
	page, err := os.Create(path)
	if err != nil {
		return err
	}
	err = report.Markdown(page, rep, bench.Goals(), string(notes), plots)
	return errors.Join(err, page.Close())
}

func newBenchGuardCommand(f *benchFlags) *cobra.Command {
	var reference string
	var update bool
	c := &cobra.Command{
		Use:   "guard",
		Short: "Hold Millrace's CPU ratios to the floor against the committed ones",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := f.runner(c)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return r.RunGuard(ctx, reference, update, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&reference, "reference", "bench/guard.json", "`file` with the committed ratios")
	c.Flags().BoolVar(&update, "update", false, "write the ratios instead of holding against them")
	return c
}

func newBenchReplicationCommand(f *benchFlags) *cobra.Command {
	var only []string
	var short bool
	var loose float64
	c := &cobra.Command{
		Use:   "replication",
		Short: "Measure what replicas cost, and how long the deaths of leaders are felt",
		Long: `Measure what replicas cost, and how long the deaths of leaders are felt: three processes on the loopback, and three
brokers in one process. Each figure is told with its target.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := f.config(c.ErrOrStderr())
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			r := &bench.Replication{Config: cfg, Short: short, Loose: loose, Only: only, Log: c.ErrOrStderr(), Out: c.OutOrStdout()}
			rep, err := r.Run(ctx, benchCommandLine())
			if err == nil && f.out != "" {
				err = report.WriteAll(f.out, rep)
			}
			if err != nil {
				return err
			}
			return bench.TellGoals(c.OutOrStdout(), rep, bench.ReplicationGoals(), loose)
		},
	}
	c.Flags().StringSliceVar(&only, "only", nil, "only the cases whose names begin with one of these")
	c.Flags().BoolVar(&short, "short", false, "few rounds: about a minute and a half")
	c.Flags().Float64Var(&loose, "loose", 1, "fail only if a figure is beyond so many times its target")
	return c
}

func newBenchProfileCommand(f *benchFlags) *cobra.Command {
	p := bench.Base()
	var dir string
	c := &cobra.Command{
		Use:   "profile WORKLOAD",
		Short: "Run a workload or preset against Millrace and keep CPU, heap, block and trace profiles",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := f.runner(c)
			if err != nil {
				return err
			}
			picked, err := bench.FindPreset(args[0])
			if err != nil {
				w, werr := bench.FindWorkload(args[0])
				if werr != nil {
					return &usageError{werr}
				}
				picked = bench.Case{Name: w.Name, Workload: w.Name, Params: w.Defaults()}
			}
			if c.Flags().Changed("run") {
				picked.Params.Run = p.Run
			}
			if c.Flags().Changed("batch") {
				picked.Params.BatchBytes = p.BatchBytes
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return r.Profile(ctx, picked, dir, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&dir, "dir", "profiles", "`folder` for the profiles")
	c.Flags().DurationVar(&p.Run, "run", p.Run, "how long the CPU profile takes")
	c.Flags().Var(&p.BatchBytes, "batch", "bytes of the records of a request")
	return c
}

func newBenchDocsCommand() *cobra.Command {
	var from, docs, notes string
	c := &cobra.Command{
		Use:   "docs",
		Short: "Write docs/performance.md again from a results.json",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			file, err := os.Open(from)
			if err != nil {
				return err
			}
			rep, err := report.Read(file)
			if err = errors.Join(err, file.Close()); err != nil {
				return err
			}
			return writeDocs(rep, docs, notes)
		},
	}
	c.Flags().StringVar(&from, "from", "results.json", "`file` that a run has written with --out")
	c.Flags().StringVar(&docs, "docs", "docs/performance.md", "the page to write")
	c.Flags().StringVar(&notes, "notes", "docs/performance-notes.md", "the hand-kept end of the page")
	return c
}
