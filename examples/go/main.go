// Command example is what an application does with franz-go: make a topic, produce keyed records, consume them in a group.
//
//	example roundtrip|consume|partition-of [-bootstrap HOST:PORT,…] [-topic T] [-group G] [-records N] [KEY …]
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: example roundtrip|consume|partition-of [flags] [KEY …]")
		os.Exit(2)
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	bootstrap := flags.String("bootstrap", cmp.Or(os.Getenv("BOOTSTRAP"), "127.0.0.1:9092"), "brokers to ask first")
	topic := flags.String("topic", fmt.Sprintf("example-go-%d", os.Getpid()), "topic")
	group := flags.String("group", "example-go", "group that consume joins")
	records := flags.Int("records", 100_000, "records of a round trip")
	flags.Parse(os.Args[2:])
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	c := cluster{bootstrap: strings.Split(*bootstrap, ","), topic: *topic}

	var err error
	switch os.Args[1] {
	case "consume":
		err = c.consume(ctx, *group, os.Stdout)
	case "partition-of":
		err = partitionOf(ctx, c, flags.Args())
	case "roundtrip":
		if err = (&roundtrip{cluster: c, plain: *records}).run(ctx); err != nil {
			fmt.Println("failed client=franz-go:", err)
			os.Exit(1)
		}
	default:
		err = fmt.Errorf("unknown command %q", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, os.Args[1]+":", err)
		os.Exit(1)
	}
}

// partitionOf produces one record for each key and prints {"KEY": PARTITION, …}.
func partitionOf(ctx context.Context, c cluster, keys []string) error {
	if err := c.createTopic(ctx, partitionCount); err != nil {
		return err
	}
	var records []*kgo.Record
	for _, key := range keys {
		records = append(records, &kgo.Record{Key: []byte(key), Value: []byte("0")})
	}
	if err := c.produce(ctx, "none", records); err != nil {
		return err
	}
	placed := map[string]int32{}
	for _, r := range records {
		placed[string(r.Key)] = r.Partition
	}
	return json.NewEncoder(os.Stdout).Encode(placed)
}
