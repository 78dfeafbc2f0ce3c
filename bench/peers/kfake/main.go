// Command kfake serves franz-go's fake Kafka cluster, with one broker, as a peer to compare with. Its runtime's number
// of goroutines is told at -http.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port := flag.Int("port", 9092, "where to listen on 127.0.0.1")
	metrics := flag.String("http", "", "address of /metrics; empty: none")
	flag.Parse()
	if err := run(*port, *metrics); err != nil {
		fmt.Fprintln(os.Stderr, "kfake:", err)
		os.Exit(1)
	}
}

func run(port int, metrics string) error {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.DefaultNumPartitions(1),
		kfake.AllowAutoTopicCreation())
	if err != nil {
		return err
	}
	defer c.Close()
	if metrics != "" {
		http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "go_goroutines %d\n", runtime.NumGoroutine())
		})
		go func() { _ = http.ListenAndServe(metrics, nil) }()
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	return nil
}
