package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace"
	"millrace/config"
	"millrace/protocol/console"
)

func newDemoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "A tour: brokers, a topic, keys, a group and its lag, a broker that leaves",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
			defer cancel()
			return runDemo(ctx, c.OutOrStdout())
		},
	}
}

// demo is a tour with a server of its own, on free ports, and a connection to its console.
type demo struct {
	ctx     context.Context
	out     io.Writer
	server  *millrace.Server
	control string
	line    *lineClient
}

func runDemo(ctx context.Context, out io.Writer) error {
	cfg, _, err := config.Load(config.Input{Overrides: []string{"control.listener=127.0.0.1:0", "num.partitions=6"}})
	if err != nil {
		return err
	}
	d := &demo{ctx: ctx, out: out}
	if d.server, err = millrace.Open(millrace.Options{Config: cfg}); err != nil {
		return err
	}
	defer func() { _ = d.server.Close() }()
	if d.control, err = d.server.OpenControl(); err != nil {
		return err
	}
	if d.line, err = dialLines(d.control); err != nil {
		return err
	}
	defer d.line.close()
	for _, chapter := range []func() error{d.brokers, d.records, d.group, d.watch, d.removal} {
		if err := chapter(); err != nil {
			return err
		}
	}
	d.say("That was it. 'make run' starts a server of your own.")
	return nil
}

func (d *demo) say(text string, args ...any) { fmt.Fprintf(d.out, "\n## "+text+"\n", args...) }

// do sends commands to the console and shows what comes back. One that fails ends the tour.
func (d *demo) do(commands ...string) error {
	for _, c := range commands {
		fmt.Fprintf(d.out, "> %s\n", c)
		lines, state, err := d.line.ask(c)
		if err != nil {
			return err
		}
		for _, l := range lines {
			fmt.Fprintln(d.out, l)
		}
		if state == console.Failure {
			return fmt.Errorf("%s: %s", c, lines[len(lines)-1])
		}
	}
	return nil
}

func (d *demo) brokers() error {
	d.say("A server has started; its console is on %s. It has no broker yet: we create three.", d.control)
	return d.do("CREATE_BROKER 127.0.0.1 0", "CREATE_BROKER 127.0.0.1 0", "CREATE_BROKER 127.0.0.1 0", "BROKERS")
}

func (d *demo) records() error {
	d.say("A topic with 6 partitions: leaders go round robin. Records with the same key go to the same partition.")
	return d.do("CREATE_TOPIC orders 6 retention.ms=600000", "DESCRIBE_TOPIC orders",
		"PRODUCE orders key=서울 '한글 값'", "PRODUCE orders key=서울 \"a second\\nwith two lines\"", "PRODUCE orders key=Busan third",
		"PRODUCE orders 'no key, so round robin'", "PRODUCE orders 'and the next one'", "TOPICS")
}

// group lets a Kafka client consume, so that the lag rises and falls.
func (d *demo) group() error {
	d.say("A Kafka client (franz-go) joins the group 'billing' and reads everything, but commits nothing yet.")
	seeds := strings.Split(d.server.Bootstrap(), ",")
	consumer, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer consumer.Close()
	if err := d.read(consumer, 5); err != nil {
		return err
	}
	if err := consumer.CommitUncommittedOffsets(d.ctx); err != nil {
		return err
	}
	d.say("It has committed. Then 1,000 records are produced: the lag goes up …")
	if err := d.produce(seeds, 1000); err != nil {
		return err
	}
	if err := d.do("GROUPS", "LAG billing"); err != nil {
		return err
	}
	d.say("… and back to 0 once it has read and committed them.")
	if err := d.read(consumer, 1000); err != nil {
		return err
	}
	if err := consumer.CommitUncommittedOffsets(d.ctx); err != nil {
		return err
	}
	return d.do("LAG billing")
}

func (d *demo) read(consumer *kgo.Client, n int) error {
	for n > 0 {
		fetches := consumer.PollFetches(d.ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		n -= fetches.NumRecords()
	}
	return nil
}

func (d *demo) produce(seeds []string, n int) error {
	producer, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		return err
	}
	defer producer.Close()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Key: fmt.Appendf(nil, "customer %d", i%50), Value: fmt.Appendf(nil, "order %d", i)}
	}
	return producer.ProduceSync(d.ctx, records...).FirstErr()
}

// watch shows what a second console is told while the first one makes a topic.
func (d *demo) watch() error {
	d.say("WATCH pushes the cluster's state at once on each change. Another console creates a topic meanwhile.")
	watcher, err := dialLines(d.control)
	if err != nil {
		return err
	}
	defer watcher.close()
	fmt.Fprintln(d.out, "> WATCH 60")
	if err := watcher.send("WATCH 60"); err != nil {
		return err
	}
	if err := d.showPart(watcher); err != nil {
		return err
	}
	if err := d.do("CREATE_TOPIC shipments 2"); err != nil {
		return err
	}
	return d.showPart(watcher)
}

// showPart shows one push, without its long tables of lags.
func (d *demo) showPart(l *lineClient) error {
	lines, _, err := l.answer()
	if err != nil {
		return err
	}
	for _, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "billing  orders") {
			fmt.Fprintln(d.out, line)
		}
	}
	return nil
}

func (d *demo) removal() error {
	d.say("A broker leaves: its partitions, with their records, go on at the others, in turn.")
	return d.do("REMOVE_BROKER 2", "DESCRIBE_TOPIC orders", "CONSUME orders 0 start 3", "STATUS")
}

// lineClient is a connection to the control port.
type lineClient struct {
	conn  net.Conn
	lines *bufio.Scanner
}

func dialLines(addr string) (*lineClient, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &lineClient{conn, bufio.NewScanner(conn)}, nil
}

func (l *lineClient) close() { _ = l.conn.Close() }

func (l *lineClient) send(command string) error {
	_ = l.conn.SetDeadline(time.Now().Add(time.Minute))
	_, err := fmt.Fprintln(l.conn, command)
	return err
}

// answer reads up to the line that ends an answer or a part of one.
func (l *lineClient) answer() (lines []string, end console.State, err error) {
	for l.lines.Scan() {
		lines = append(lines, l.lines.Text())
		if end = console.Classify(l.lines.Bytes()); end != console.Body {
			return lines, end, nil
		}
	}
	if err = l.lines.Err(); err == nil {
		err = io.ErrUnexpectedEOF
	}
	return lines, end, err
}

func (l *lineClient) ask(command string) ([]string, console.State, error) {
	if err := l.send(command); err != nil {
		return nil, 0, err
	}
	return l.answer()
}
