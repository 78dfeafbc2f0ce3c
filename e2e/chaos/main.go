package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == etcdName {
		if err := serveEtcd(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "chaos: etcd:", err)
			os.Exit(1)
		}
		return
	}
	if err := torture(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func torture() error {
	ch := &chaos{report: newReport(os.Stdout)}
	minutes := flag.Float64("minutes", 2, "how long it takes in all")
	flag.Uint64Var(&ch.seed, "seed", 0, "of the schedule; 0: a new one")
	flag.StringVar(&ch.millrace, "millrace", os.Getenv("MILLRACE_BIN"), "the binary")
	flag.DurationVar(&ch.ttl, "ttl", 3*time.Second, "broker.session.timeout.ms of the nodes")
	flag.Float64Var(&ch.rate, "rate", 20, "records a second of each producer to each partition")
	only := flag.String("phase", "", "only this one: embedded, temporary or external")
	flag.StringVar(&ch.faults, "faults", "", "only the kinds of faults whose names contain this")
	keep := flag.Bool("keep", false, "keep logs and data")
	flag.Parse()
	ch.total = time.Duration(*minutes * float64(time.Minute))
	for ch.seed == 0 {
		ch.seed = rand.Uint64N(1_000_000)
	}
	var err error
	if ch.millrace, err = filepath.Abs(ch.millrace); err != nil {
		return err
	}
	if ch.dir, err = os.MkdirTemp("", "millrace-chaos-"); err != nil {
		return err
	}
	fmt.Printf("chaos: SEED=%d, %v, TTL %v\n", ch.seed, ch.total, ch.ttl)
	failed := make(chan error, 1)
	go func() { failed <- ch.all(*only) }()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	select {
	case err = <-failed:
	case <-interrupted:
		sweep()
		return fmt.Errorf("interrupted; what there is of logs is in %s", ch.dir)
	}
	ch.report.sum()
	if n := len(ch.report.violations); n > 0 {
		err = fmt.Errorf("%d violations with SEED=%d", n, ch.seed)
	}
	if err != nil || *keep {
		fmt.Printf("logs are in %s\n", ch.dir)
		return err
	}
	return os.RemoveAll(ch.dir)
}

// all runs the phases.
func (ch *chaos) all(only string) error {
	for _, p := range phases {
		if only == p.name {
			p.share = 1
		} else if only != "" {
			continue
		}
		if err := ch.run(p); err != nil {
			return fmt.Errorf("phase %s: %w", p.name, err)
		}
	}
	return nil
}

// sweep takes away the networks in which the nodes are; they die with this process.
func sweep() {
	for number := 1; number <= int(networks.Load()); number++ {
		n := &network{prefix: prefix(number), hosts: map[string]int{etcdName: 0}}
		for _, b := range brokerNames {
			n.hosts[b] = 0
		}
		n.close()
	}
}
